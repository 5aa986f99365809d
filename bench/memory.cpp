// Sums and means of 256 MB along each axis, with their gradients, against a plain vector loop in the same run.
// bench_memory [ID...]: rows sum_axis0, sum_axis1, mean_axis0, mean_axis1.
#include <cstring>

#include <sheaf/sheaf.hpp>
#include <support/bandwidth.hpp>
#include <support/pairs.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::bench;

constexpr std::int64_t side = 8192;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;

struct matrices {
  array<float, 2> x{side, side}, dx{side, side};
  array<float, 1> y{side}, dy{side};
  matrices() {
    for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(k % 1000) * 0.001f;
    dx.fill(1);  // touches every page
    dy.fill(1);
  }
};

void show(const char* id, const char* what, const timing& t) { report(id, what, t.kernel, "ms", t.bound, t.percent); }

template <class Y>
void measure(const char* id, Y y, matrices& m) {
  const auto forward = compile(y);
  show(id, "forward", in_pairs([&] { forward(x = m.x, y = m.y); }, [&] { return read_pass(m.x.data(), m.x.size()); }));
  // x is read once and dx written once: no faster than either, nor than a copy.
  const auto dx = vjp(y, x);
  const auto both = compile(y, dx);
  const auto bound = [&] {
    return std::max({read_pass(m.x.data(), m.x.size()), write_pass(m.dx.data(), m.dx.size()),
                     copy_pass(m.x.data(), m.dx.data(), m.x.size())});
  };
  show(id, "forward+backward", in_pairs([&] { both(x = m.x, cotangent(y) = m.dy, y = m.y, dx = m.dx); }, bound));
}

}  // namespace

int main(int count, char** words) {
  const auto wanted = [&](const char* id) {
    for (int k = 1; k < count; ++k)
      if (std::strcmp(words[k], id) == 0) return true;
    return count == 1;
  };
  matrices m;
  std::vector<double> passes[3];
  for (int k = 0; k < 5; ++k) {
    passes[0].push_back(read_pass(m.x.data(), m.x.size()));
    passes[1].push_back(write_pass(m.dx.data(), m.dx.size()));
    passes[2].push_back(copy_pass(m.x.data(), m.dx.data(), m.x.size()));
  }
  const double gigabytes = static_cast<double>(m.x.size()) * 4e-9;
  std::printf("note plain %s loops: read %.1f, write %.1f, copy %.1f GB/s (read and written bytes counted)\n",
              vector_width(), gigabytes / median(passes[0]), gigabytes / median(passes[1]),
              2 * gigabytes / median(passes[2]));
  if (wanted("sum_axis0")) measure("sum_axis0", define<"y">(j) = sum(i, x(i, j)), m);
  if (wanted("sum_axis1")) measure("sum_axis1", define<"y">(i) = sum(j, x(i, j)), m);
  if (wanted("mean_axis0")) measure("mean_axis0", define<"y">(j) = mean(i, x(i, j)), m);
  if (wanted("mean_axis1")) measure("mean_axis1", define<"y">(i) = mean(j, x(i, j)), m);
}
