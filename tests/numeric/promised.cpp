// Index data that is kept from call to call: the same bits, no list made twice, and nothing touched outside whatever
// the caller does to data that it promised not to change.
#include <support/both.hpp>

#include <cstring>
#include <thread>
#include <vector>

#include <sheaf/runtime/settings.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto b = axis<"b">;
constexpr auto k = axis<"k">;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto bags = define<"bags">(b, f) = sum(k, x(ids(b, k), f));
constexpr auto bag_loss = define<"bag_loss">() = sum(over(b, f), bags(b, f) * bags(b, f));
constexpr auto bag_total = define<"bag_total">() = sum(over(b, f), bags(b, f));
constexpr auto means = define<"means">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto mean_loss = define<"mean_loss">() = sum(over(m, f), means(m, f) * means(m, f));

// As large as lists begin to pay.
constexpr int rows = 8192, columns = 32, many = 512, each = 8;

bool native() { return runtime::current_settings().backend != "reference"; }

template <class T, int Rank>
bool same_bits(const array<T, Rank>& a, const array<T, Rank>& c) {
  return a.size() == c.size() && std::memcmp(a.data(), c.data(), static_cast<std::size_t>(a.size()) * sizeof(T)) == 0;
}
int times(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
// Steele, Lea, Flood 2014: splitmix64.
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  std::uint64_t state_;
};
array<std::int64_t, 2> some_ids(std::uint64_t seed) {
  random draw(seed);
  array<std::int64_t, 2> made(many, each);
  for (std::int64_t n = 0; n < made.size(); ++n) made.data()[n] = static_cast<std::int64_t>(draw.below(rows));
  return made;
}
// Slices of up to `longest` rows.
array<std::int64_t, 2> some_slices(int count, int all, int longest, std::uint64_t seed) {
  random draw(seed);
  array<std::int64_t, 2> made(count, 2);
  for (int n = 0; n < count; ++n) {
    made(n, 0) = static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(all - longest)));
    made(n, 1) = made(n, 0) + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(longest) + 1));
  }
  return made;
}

TEST(promised, scatters_have_the_same_bits_and_sort_once) {
  const auto step = compile(bag_loss, grad(bag_loss, x));
  const auto pick = some_ids(1);
  const auto fixed = step.keep(ids = pick);
  for (int call = 0; call < 3; ++call) {
    const auto data = noise_array<float>(-1, 1 + call, rows, columns);
    const auto [l, dx] = step(x = data, ids = pick);
    const auto [l2, dx2] = step(x = data, fixed);
    EXPECT_TRUE(same_bits(l, l2));
    EXPECT_TRUE(same_bits(dx, dx2));
  }
  if (!native()) return;
  EXPECT_GT(fixed.bytes(), many * each * 8u);
  const auto data = noise_array<float>(-1, 1, rows, columns);
  EXPECT_EQ(times(step.explain(x = data, fixed), "in the first call only"), 1) << step.explain(x = data, fixed);
  EXPECT_EQ(times(step.explain(x = data, ids = pick), "in the first call only"), 0);
}

TEST(promised, sweeps_have_the_same_bits_and_sort_once) {
  const auto step = compile(mean_loss, grad(mean_loss, x));
  const auto slices = some_slices(8192, 4096, 256, 2);
  const auto fixed = step.keep(cut = slices);
  for (int call = 0; call < 2; ++call) {
    const auto data = noise_array<float>(-1, 1 + call, 4096, 64);
    const auto [l, dx] = step(x = data, cut = slices);
    const auto [l2, dx2] = step(x = data, fixed);
    EXPECT_TRUE(same_bits(l, l2));
    EXPECT_TRUE(same_bits(dx, dx2));
  }
  if (!native()) return;
  const auto data = noise_array<float>(-1, 1, 4096, 64);
  const std::string plan = step.explain(x = data, fixed);
  EXPECT_NE(plan.find("slice endpoints"), std::string::npos) << plan;
  EXPECT_GE(times(plan, "in the first call only"), 1) << plan;
}

TEST(promised, lists_of_slices_have_the_same_bits) {
  const auto step = compile(mean_loss, grad(mean_loss, x));
  const auto slices = some_slices(4096, 1 << 16, 16, 3);
  const auto fixed = step.keep(cut = slices);
  for (int call = 0; call < 2; ++call) {
    const auto data = noise_array<float>(-1, 1 + call, 1 << 16, 8);
    const auto [l, dx] = step(x = data, cut = slices);
    const auto [l2, dx2] = step(x = data, fixed);
    EXPECT_TRUE(same_bits(l, l2));
    EXPECT_TRUE(same_bits(dx, dx2));
  }
  if (!native()) return;
  const auto data = noise_array<float>(-1, 1, 1 << 16, 8);
  EXPECT_GE(times(step.explain(x = data, fixed), "in the first call only"), 1) << step.explain(x = data, fixed);
}

// dx counts how often a row is picked: by the ids of the first call, whatever they are now.
TEST(promised, what_was_learned_is_used_until_changed) {
  if (!native()) return;
  const auto step = compile(bag_total, grad(bag_total, x));
  auto pick = some_ids(4);
  auto fixed = step.keep(ids = pick);
  const auto data = noise_array<float>(-1, 1, rows, columns);
  const auto [l, dx] = step(x = data, fixed);
  const auto other = some_ids(5);
  std::memcpy(pick.data(), other.data(), static_cast<std::size_t>(pick.size()) * 8);
  const auto [l2, dx2] = step(x = data, fixed);
  EXPECT_TRUE(same_bits(dx, dx2));
  fixed.changed();
  EXPECT_EQ(fixed.bytes(), 0u);
  const auto [l3, dx3] = step(x = data, fixed);
  const auto [l4, dx4] = step(x = data, ids = pick);
  EXPECT_TRUE(same_bits(l3, l4));
  EXPECT_TRUE(same_bits(dx3, dx4));
}

// An array between walls of a number that nothing writes.
struct walled {
  std::vector<float> memory;
  std::int64_t extents[2];
  static constexpr float wall = 12345;
  walled(std::int64_t high, std::int64_t wide)
      : memory(static_cast<std::size_t>((high + 128) * wide), wall), extents{high, wide} {}
  view<float, 2> inside() {
    const std::int64_t strides[] = {extents[1], 1};
    return {memory.data() + 64 * extents[1], extents, strides};
  }
  void expect_walls() const {
    const auto thick = static_cast<std::size_t>(64 * extents[1]);
    for (std::size_t n = 0; n < thick; ++n) {
      ASSERT_EQ(memory[n], wall);
      ASSERT_EQ(memory[memory.size() - 1 - n], wall);
    }
  }
};

TEST(promised, a_broken_promise_touches_nothing_outside) {
  if (!native()) return;
  const auto data = noise_array<float>(-1, 1, 4096, 64);
  const auto first = some_slices(8192, 4096, 256, 7);
  auto slices = some_slices(8192, 4096, 256, 7);
  const auto step = compile(mean_loss, grad(mean_loss, x));
  const auto fixed = step.keep(cut = slices);
  walled dx(4096, 64);
  array<float, 0> l;
  const auto again = [&] {
    step(x = data, fixed, mean_loss = l, grad(mean_loss, x) = dx.inside());
    dx.expect_walls();
  };
  again();
  // Other slices; slices without rows, whose bounds are anything; and all of them the same.
  const auto other = some_slices(8192, 4096, 256, 8);
  std::memcpy(slices.data(), other.data(), static_cast<std::size_t>(slices.size()) * 8);
  again();
  constexpr std::int64_t far = std::int64_t{1} << 40;
  for (const std::int64_t low : {far, -far / 2, std::int64_t{100}, std::int64_t{1} << 62})
    for (const std::int64_t high : {far / 2, -far, std::int64_t{50}, -(std::int64_t{1} << 62)}) {
      if (low < high) continue;
      for (int n = 0; n < 8192; ++n) {
        slices(n, 0) = n % 3 == 0 ? first(n, 0) : low;
        slices(n, 1) = n % 3 == 0 ? first(n, 1) : high;
      }
      again();
    }
  for (int n = 0; n < 8192; ++n) slices(n, 0) = 0, slices(n, 1) = n % 4096;
  again();
}

TEST(promised, a_bad_index_is_found_in_every_call) {
  const auto step = compile(bag_loss, grad(bag_loss, x));
  auto pick = some_ids(8);
  const auto fixed = step.keep(ids = pick);
  const auto data = noise_array<float>(-1, 1, rows, columns);
  const std::string sentence =
      "index_out_of_range: tensor x, dimension 0: expected a subscript from 0 to 8191, found 8192 for "
      "ids(b, k) at b = 3, k = 2";
  pick(3, 2) = rows;
  EXPECT_EQ(sentence_of([&] { step(x = data, fixed); }), sentence);
  pick(3, 2) = 0;
  step(x = data, fixed);
  pick(3, 2) = rows;
  EXPECT_EQ(sentence_of([&] { step(x = data, fixed); }), sentence);
}

TEST(promised, other_extents_and_other_programs_are_errors) {
  const auto step = compile(bag_loss, grad(bag_loss, x)), another = compile(bag_loss, grad(bag_loss, x));
  const auto pick = some_ids(9);
  auto fixed = step.keep(ids = pick);
  const auto data = noise_array<float>(-1, 1, rows, columns), more = noise_array<float>(-1, 1, rows + 1, columns);
  step(x = data, fixed);
  EXPECT_EQ(sentence_of([&] { step(x = more, fixed); }),
            "extent_mismatch: call with kept indices, argument x, dimension 0: expected extent 8192 as in their first "
            "call, or "
            "changed() before, found 8193");
  fixed.changed();
  const auto [l, dx] = step(x = more, fixed);
  const auto [l2, dx2] = step(x = more, ids = pick);
  EXPECT_TRUE(same_bits(dx, dx2));
  EXPECT_EQ(sentence_of([&] { another(x = data, fixed); }),
            "bad_argument: call with kept indices: expected those that this program keeps, found another program's");
}

TEST(promised, by_several_threads_and_into_views) {
  const auto step = compile(bag_loss, grad(bag_loss, x));
  const auto pick = some_ids(10);
  const auto data = noise_array<float>(-1, 1, rows, columns);
  const auto [l, dx] = step(x = data, ids = pick);
  const auto fixed = step.keep(ids = pick);
  std::vector<std::thread> callers;
  std::vector<int> right(4);
  for (std::size_t n = 0; n < right.size(); ++n)
    callers.emplace_back([&, n] {
      array<float, 0> own_l;
      array<float, 2> own(rows, columns);
      for (int call = 0; call < 3; ++call) {
        if (n % 2 == 0)
          step(x = data, bag_loss = own_l, grad(bag_loss, x) = own, fixed);
        else
          own = std::get<1>(step(x = data, fixed));
        right[n] += same_bits(own, dx);
      }
    });
  for (std::thread& c : callers) c.join();
  for (const int r : right) EXPECT_EQ(r, 3);
}

}  // namespace
