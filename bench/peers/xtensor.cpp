// peer_xtensor [ID...]: the rows that are natural for xtensor: reductions along an axis, with xsimd for lanes and
// OpenMP for its assignments. Its reducers run on one core.
#include <omp.h>

#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xview.hpp>

#include <peer.hpp>
#include <workloads/matrices.hpp>
#include <workloads/rows.hpp>

namespace sheaf::bench {
namespace {

template <class T, int Rank, std::size_t... K>
auto adapted(const array<T, Rank>& a, std::index_sequence<K...>) {
  const std::array<std::size_t, Rank> shape = {static_cast<std::size_t>(a.extent(K))...};
  return xt::adapt(const_cast<T*>(a.data()), static_cast<std::size_t>(a.size()), xt::no_ownership(), shape);
}
template <class T, int Rank>
auto adapted(const array<T, Rank>& a) {
  return adapted(a, std::make_index_sequence<Rank>());
}

template <class Run, class Error, class Both>
void measure(session& s, const char* id, const std::string& name, const traffic& forward, const traffic& both, Run run,
             Error error, Both gradient_error) {
  s.row(id, (name + "forward").c_str(), forward, [&] { run(false); }, error);
  s.row(
      id, (name + "forward+backward").c_str(), both, [&] { run(true); },
      [&] { return std::max(error(), gradient_error()); });
}
template <class Run>
void measure_axis(session& s, const char* id, const char* name, matrix& m, int axis, const expected& want, Run run) {
  measure(
      s, id, name, reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx), run,
      [&] { return error_of(m.y, want.values); }, [&] { return m.gradient_error(axis, want.gradient); });
}

// body(rows of x, results, their cotangents, rows of dx) for blocks of rows on all cores.
template <class Body>
void in_blocks(matrix& m, Body body) {
  const auto x = adapted(m.x);
  const auto dy = adapted(m.dy);
  auto y = adapted(m.y);
  auto dx = adapted(m.dx);
  constexpr int height = 64;
#pragma omp parallel for
  for (int r = 0; r < static_cast<int>(matrix::side); r += height) {
    auto some = xt::range(r, r + height);
    auto to = xt::view(y, some);
    auto back = xt::view(dx, some, xt::all());
    body(xt::view(x, some, xt::all()), to, xt::view(dy, some, xt::newaxis()), back);
  }
}

void averaged(session& s) {
  if (!s.wants("W5") && !s.wants("W6")) return;
  matrix m(0, 1);
  const auto x = adapted(m.x);
  const auto dy1 = adapted(m.dy);
  auto y = adapted(m.y);
  auto dx = adapted(m.dx);
  const auto n = static_cast<float>(matrix::side);
  if (s.wants("W5")) {
    measure_axis(s, "W5", "axis0:", m, 0, means(m, 0), [&](bool back) {
      xt::noalias(y) = xt::mean(x, {0}, xt::evaluation_strategy::immediate);
      if (back) xt::noalias(dx) = xt::broadcast(dy1 / n, {matrix::side, matrix::side});
    });
    measure_axis(s, "W5", "axis1:", m, 1, means(m, 1), [&](bool back) {
      in_blocks(m, [&](const auto& rows, auto& to, const auto& d, auto& grad) {
        to = xt::mean(rows, {1}, xt::evaluation_strategy::immediate);
        if (back) grad = d / n + xt::zeros<float>({64, 8192});
      });
    });
  }
  if (!s.wants("W6")) return;
  array<float, 0> loss;
  measure(
      s, "W6", "", reads(m.x) + writes(loss), reads(m.x) + writes(loss, m.dx),
      [&](bool back) {
        if (back) xt::noalias(dx) = (x - 1.0f) * static_cast<float>(2.0 / (matrix::count * matrix::count));
        *loss.data() = static_cast<float>(xt::mean<double>(xt::square(x - 1.0f), xt::evaluation_strategy::immediate)());
      },
      [&] { return m.square_error(loss); }, [&] { return m.square_gradient_error(); });
}

void reduced(session& s) {
  if (!s.wants("W12")) return;
  matrix m(-4, 4);
  const auto x = adapted(m.x);
  array<std::int64_t, 1> found(matrix::side);
  auto where = adapted(found);
  for (const int k : {0, 1})
    s.row(
        "W12", k == 0 ? "argmax0:forward" : "argmax1:forward", reads(m.x) + writes(found),
        [&] { where = xt::argmax(x, k); }, [&] { return error_of(found, positions_of_largest(m, k)); });
  measure_axis(s, "W12", "norm1:", m, 1, norms(m, 1), [&](bool back) {
    in_blocks(m, [&](const auto& rows, auto& to, const auto& d, auto& grad) {
      to = xt::sqrt(xt::sum(xt::square(rows), {1}, xt::evaluation_strategy::immediate));
      if (back) grad = rows * (d / xt::view(to, xt::all(), xt::newaxis()));
    });
  });
  measure_axis(s, "W12", "logsumexp1:", m, 1, logs(m, 1), [&](bool back) {
    in_blocks(m, [&](const auto& rows, auto& to, const auto& d, auto& grad) {
      const auto most = xt::eval(xt::amax(rows, {1}, xt::evaluation_strategy::immediate));
      to = most + xt::log(xt::sum(xt::exp(rows - xt::view(most, xt::all(), xt::newaxis())), {1},
                                  xt::evaluation_strategy::immediate));
      if (back) grad = xt::exp(rows - xt::view(to, xt::all(), xt::newaxis())) * d;
    });
  });
}

void softened(session& s) {
  if (!s.wants("W9")) return;
  soft_data d;
  const auto x = adapted(d.x), dy = adapted(d.dy);
  auto y = adapted(d.y), dx = adapted(d.dx);
  const auto run = [&](bool back) {
    constexpr int height = 64;
#pragma omp parallel for
    for (int r = 0; r < static_cast<int>(soft_data::rows); r += height) {
      auto some = xt::range(r, r + height);
      const auto rows = xt::view(x, some, xt::all());
      auto to = xt::view(y, some, xt::all());
      const auto most = xt::eval(xt::amax(rows, {1}, xt::keep_dims | xt::evaluation_strategy::immediate));
      to = xt::exp(rows - most);
      const auto total = xt::eval(xt::sum(to, {1}, xt::keep_dims | xt::evaluation_strategy::immediate));
      to /= total;
      if (!back) continue;
      const auto d = xt::view(dy, some, xt::all());
      const auto along = xt::eval(xt::sum(to * d, {1}, xt::keep_dims | xt::evaluation_strategy::immediate));
      xt::view(dx, some, xt::all()) = to * (d - along);
    }
  };
  measure(
      s, "W9", "softmax:", reads(d.x) + writes(d.y), reads(d.x, d.dy) + writes(d.y, d.dx), run,
      [&] { return d.softmax_error(); }, [&] { return d.softmax_gradient_error(); });
}

}  // namespace
}  // namespace sheaf::bench

int main(int count, char** words) {
  using namespace sheaf::bench;
  return run_peer(count, words, {averaged, softened, reduced});
}
