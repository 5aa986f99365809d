// Trains a classifier of handwritten digits. The loss, its gradients and the optimiser's update are expressions; one
// training step is one compiled program. A mini-batch is a list of ids, and each image is moved by up to a pixel: both
// are data that the expressions subscript with. Usage: digits [EPOCHS]. Writes digits.svg; fails where held-out
// accuracy stays below 96 %.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <support/chart.hpp>
#include <support/csv.hpp>
#include <support/progress.hpp>

namespace {
using namespace sheaf;

constexpr int hidden_size = 64;

constexpr auto b = axis<"b">;     // an image of the batch
constexpr auto r = axis<"r", 8>;  // its rows
constexpr auto c = axis<"c", 8>;  // and columns
constexpr auto p = axis<"p", 4>;  // rows of the pooled image
constexpr auto q = axis<"q", 4>;  // and columns
constexpr auto u = axis<"u", 2>;  // within a window of it
constexpr auto v = axis<"v", 2>;
constexpr auto h = axis<"h">;  // hidden units
constexpr auto d = axis<"d">;  // digits

constexpr auto images = tensor<"images", float, 3, dynamic, 8, 8>;
constexpr auto labels = tensor<"labels", std::int64_t, 1>;
constexpr auto batch = tensor<"batch", std::int64_t, 1>;  // ids of images
constexpr auto shift = tensor<"shift", std::int64_t, 2>;  // rows and columns that each image of the batch is moved by
constexpr auto rate = scalar<"rate", float>;

constexpr auto w_pixel = tensor<"w_pixel", float, 3, 8, 8, hidden_size>;
constexpr auto w_pool = tensor<"w_pool", float, 3, 4, 4, hidden_size>;
constexpr auto b_hidden = tensor<"b_hidden", float, 1, hidden_size>;
constexpr auto w_out = tensor<"w_out", float, 2, hidden_size, 10>;
constexpr auto b_out = tensor<"b_out", float, 1, 10>;

// The model: raw pixels and 2x2 averages, one hidden layer, cross-entropy with the class ids.
constexpr auto image = define<"image">(b, r, c) = images.padded(0_c)(batch(b), r + shift(b, 0_c), c + shift(b, 1_c));
constexpr auto pooled = define<"pooled">(b, p, q) = mean(over(u, v), image(b, 2_c * p + u, 2_c * q + v));
constexpr auto hidden = define<"hidden">(b, h) = tanh(sum(over(r, c), image(b, r, c) * w_pixel(r, c, h)) +
                                                      sum(over(p, q), pooled(b, p, q) * w_pool(p, q, h)) + b_hidden(h));
constexpr auto score = define<"score">(b, d) = sum(h, hidden(b, h) * w_out(h, d)) + b_out(d);
constexpr auto loss = define<"loss">() = mean(b, logsumexp(d, score(b, d)) - score(b, labels(batch(b))));

constexpr auto guess = define<"guess">(b) = argmax(d, score(b, d));
constexpr auto hits = define<"hits">() = count(b, guess(b) == labels(batch(b)));

// Gradient descent with momentum: velocity and new value of each parameter.
constexpr auto m_pixel = tensor<"m_pixel", float, 3, 8, 8, hidden_size>;
constexpr auto m_pool = tensor<"m_pool", float, 3, 4, 4, hidden_size>;
constexpr auto m_hidden = tensor<"m_hidden", float, 1, hidden_size>;
constexpr auto m_out = tensor<"m_out", float, 2, hidden_size, 10>;
constexpr auto m_bias = tensor<"m_bias", float, 1, 10>;

constexpr auto m_pixel_next = define<"m_pixel_next">(r, c, h) = 0.9_c * m_pixel(r, c, h) + grad(loss, w_pixel)(r, c, h);
constexpr auto m_pool_next = define<"m_pool_next">(p, q, h) = 0.9_c * m_pool(p, q, h) + grad(loss, w_pool)(p, q, h);
constexpr auto m_hidden_next = define<"m_hidden_next">(h) = 0.9_c * m_hidden(h) + grad(loss, b_hidden)(h);
constexpr auto m_out_next = define<"m_out_next">(h, d) = 0.9_c * m_out(h, d) + grad(loss, w_out)(h, d);
constexpr auto m_bias_next = define<"m_bias_next">(d) = 0.9_c * m_bias(d) + grad(loss, b_out)(d);

constexpr auto w_pixel_next = define<"w_pixel_next">(r, c, h) = w_pixel(r, c, h) - rate * m_pixel_next(r, c, h);
constexpr auto w_pool_next = define<"w_pool_next">(p, q, h) = w_pool(p, q, h) - rate * m_pool_next(p, q, h);
constexpr auto b_hidden_next = define<"b_hidden_next">(h) = b_hidden(h) - rate * m_hidden_next(h);
constexpr auto w_out_next = define<"w_out_next">(h, d) = w_out(h, d) - rate * m_out_next(h, d);
constexpr auto b_out_next = define<"b_out_next">(d) = b_out(d) - rate * m_bias_next(d);

auto training_step() {
  return compile(loss, m_pixel_next, m_pool_next, m_hidden_next, m_out_next, m_bias_next, w_pixel_next, w_pool_next,
                 b_hidden_next, w_out_next, b_out_next);
}

// What a training step reads and replaces.
struct state {
  array<float, 3> pixel{8, 8, hidden_size}, m_pixel{8, 8, hidden_size};
  array<float, 3> pool{4, 4, hidden_size}, m_pool{4, 4, hidden_size};
  array<float, 1> hidden{hidden_size}, m_hidden{hidden_size};
  array<float, 2> out{hidden_size, 10}, m_out{hidden_size, 10};
  array<float, 1> bias{10}, m_bias{10};
};

// The same numbers with every standard library, which its distributions and shuffles don't promise.
class dice {
 public:
  std::size_t below(std::size_t n) { return engine_() % n; }
  float within(double reach) { return static_cast<float>((engine_() / 4294967295.0 * 2 - 1) * reach); }

 private:
  std::mt19937 engine_{20};
};

void shuffle(std::vector<std::int64_t>& ids, dice& roll) {
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[roll.below(i)]);
}

state random_start(dice& roll) {
  state s;
  for (float& w : s.pixel) w = roll.within(std::sqrt(3.0 / 80));
  for (float& w : s.pool) w = roll.within(std::sqrt(3.0 / 80));
  for (float& w : s.out) w = roll.within(std::sqrt(3.0 / hidden_size));
  return s;
}

class training {
 public:
  explicit training(support::digits data) : labels_(std::move(data.labels)), pixels_(std::move(data.pixels)) {
    for (float& pixel : pixels_) pixel /= 16;
    for (std::int64_t i = 0; i < count(); ++i) (i % 5 == 4 ? held_out_ : train_).push_back(i);
    still_ = array<std::int64_t, 2>(held_out_.size(), 2);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(labels_.size()); }
  std::size_t held_out() const { return held_out_.size(); }
  std::size_t train() const { return train_.size(); }

  // One pass over the training images in a new order; the mean loss of its batches.
  double epoch(float learning_rate) {
    shuffle(train_, roll_);
    double total = 0;
    int batches = 0;
    for (std::size_t first = 0; first + batch_size <= train_.size(); first += batch_size, ++batches)
      total += static_cast<double>(one_step(view_of(train_.data() + first, batch_size), learning_rate));
    return total / batches;
  }

  double accuracy() const {
    const std::int64_t right =
        test_(images = pictures(), labels = labels_, batch = held_out_, shift = still_, w_pixel = now_.pixel,
              w_pool = now_.pool, b_hidden = now_.hidden, w_out = now_.out, b_out = now_.bias);
    return static_cast<double>(right) / static_cast<double>(held_out_.size());
  }

 private:
  using ids = view<std::int64_t, 1>;
  static constexpr std::size_t batch_size = 32;

  view<const float, 3> pictures() const { return view_of(pixels_.data(), count(), 8, 8); }

  float one_step(ids chosen, float learning_rate) {
    for (std::int64_t& by : moved_) by = static_cast<std::int64_t>(roll_.below(3)) - 1;
    const float value = step_(
        images = pictures(), labels = labels_, batch = chosen, shift = moved_, rate = learning_rate,  //
        w_pixel = now_.pixel, m_pixel = now_.m_pixel, w_pixel_next = next_.pixel, m_pixel_next = next_.m_pixel,
        w_pool = now_.pool, m_pool = now_.m_pool, w_pool_next = next_.pool, m_pool_next = next_.m_pool,
        b_hidden = now_.hidden, m_hidden = now_.m_hidden, b_hidden_next = next_.hidden, m_hidden_next = next_.m_hidden,
        w_out = now_.out, m_out = now_.m_out, w_out_next = next_.out, m_out_next = next_.m_out, b_out = now_.bias,
        m_bias = now_.m_bias, b_out_next = next_.bias, m_bias_next = next_.m_bias);
    std::swap(now_, next_);
    return value;
  }

  std::vector<std::int64_t> labels_, train_, held_out_;
  std::vector<float> pixels_;
  array<std::int64_t, 2> moved_{batch_size, 2}, still_;
  dice roll_;
  state now_ = random_start(roll_), next_;
  decltype(training_step()) step_ = training_step();
  decltype(compile(hits)) test_ = compile(hits);
};

std::string note(double loss_now, double accuracy) {
  char text[80];
  std::snprintf(text, sizeof text, "loss %.4f, held-out accuracy %.2f %%", loss_now, accuracy * 100);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 200;
  const auto start = std::chrono::steady_clock::now();
  training model(support::read_digits(SHEAF_DATA_DIR "/digits.csv"));
  std::printf("%zu digits to learn from, %zu held out (every fifth).\n", model.train(), model.held_out());

  support::series losses{.name = "training loss", .x = {}, .y = {}};
  support::series accuracies{.name = "held-out accuracy", .x = {}, .y = {}};
  support::progress shown("training", epochs);
  double accuracy = 0;
  for (int e = 0; e < epochs; ++e) {
    const double loss_now = model.epoch(0.1f * (1 - static_cast<float>(e) / static_cast<float>(epochs)));
    losses.x.push_back(e + 1);
    losses.y.push_back(loss_now);
    accuracy = model.accuracy();
    accuracies.x.push_back(e + 1);
    accuracies.y.push_back(accuracy);
    shown.step(note(loss_now, accuracy));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("Held-out accuracy %.2f %% after %d epochs, %.1f s; digits.svg shows the way there.\n", accuracy * 100,
              epochs, elapsed.count());
  support::write_svg({.title = "Learning to read handwritten digits",
                      .subtitle = "64 pixels and 16 averages, 64 hidden units; loss in nats, accuracy as a share of 1",
                      .x_label = "passes over the training digits",
                      .curves = {losses, accuracies},
                      .y_from_zero = true},
                     "digits.svg");
  return accuracy >= 0.96 ? 0 : 1;
}
