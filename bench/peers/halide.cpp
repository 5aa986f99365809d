// peer_halide [ID...]: the dense rows as Halide pipelines, scheduled by its autoscheduler (Adams 2019), compiled in
// this process. The search for a schedule of W7 takes minutes, so it comes last.
#include <Halide.h>

#include <peer.hpp>
#include <workloads/gather.hpp>
#include <workloads/matrices.hpp>
#include <workloads/rows.hpp>
#include <workloads/windows.hpp>

namespace sheaf::bench {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

// Halide counts dimensions from the innermost.
template <class T, int Rank>
Halide::Buffer<T> wrapped(const array<T, Rank>& a) {
  std::vector<int> sizes;
  for (int k = Rank; k-- > 0;) sizes.push_back(static_cast<int>(a.extent(k)));
  return Halide::Buffer<T>(const_cast<T*>(a.data()), sizes);
}

// The pipeline of these results, each to fill a buffer; scheduled for its extents.
class pipeline {
 public:
  pipeline(std::vector<Func> results, std::vector<Halide::Buffer<>> into) : run_(results), into_(std::move(into)) {
    for (std::size_t k = 0; k < results.size(); ++k) {
      Halide::Region region;
      for (int d = 0; d < into_[k].dimensions(); ++d) region.push_back({0, into_[k].dim(d).extent()});
      if (!region.empty()) results[k].set_estimates(region);
    }
    const auto target = Halide::get_jit_target_from_environment();
    const std::string threads = std::to_string(current_parallel_hook().threads);
    run_.apply_autoscheduler(
        target, {"Adams2019", {{"parallelism", threads}, {"random_dropout_seed", "1"}, {"beam_size", "8"}}});
    run_.compile_jit(target);
  }
  void operator()() {
    Halide::Realization all(into_);
    run_.realize(all);
  }

 private:
  Halide::Pipeline run_;
  std::vector<Halide::Buffer<>> into_;
};

Var i("i"), j("j"), b("b"), c("c");

template <class Error, class Both>
void measure(session& s, const char* id, const std::string& name, const traffic& forward, const traffic& both,
             std::vector<Func> values, std::vector<Func> gradients, std::vector<Halide::Buffer<>> into, Error error,
             Both gradient_error, const std::function<std::vector<Func>()>& again) {
  try {
    s.progress(id, name.c_str(), "schedule");
    pipeline value(values, {into.begin(), into.begin() + static_cast<std::ptrdiff_t>(values.size())});
    s.row(id, (name + "forward").c_str(), forward, [&] { value(); }, error);
    if (gradients.empty() && !again) return;
    pipeline all(again(), into);
    s.row(
        id, (name + "forward+backward").c_str(), both, [&] { all(); },
        [&] { return std::max(error(), gradient_error()); });
  } catch (const Halide::Error& e) {
    s.progress(nullptr, nullptr, nullptr);
    std::printf("note Halide %s %s: %s\n", id, name.c_str(), e.what());
  }
}

// build(back): the results, and the gradients after them; schedules belong to functions, so each pipeline has its own.
using build = std::function<std::vector<Func>(bool)>;
template <class Error, class Both>
void measure(session& s, const char* id, const std::string& name, const traffic& forward, const traffic& both,
             const build& f, const std::vector<Halide::Buffer<>>& into, Error error, Both gradient_error) {
  measure(s, id, name, forward, both, f(false), {}, into, error, gradient_error, [&] { return f(true); });
}

constexpr int n = 8192;

void measure_axis(session& s, const char* id, const char* name, matrix& m, int axis, const expected& want,
                  const build& f) {
  measure(
      s, id, name, reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx), f, {wrapped(m.y), wrapped(m.dx)},
      [&] { return error_of(m.y, want.values); }, [&] { return m.gradient_error(axis, want.gradient); });
}

// Reductions of a row (axis 1) or a column (axis 0): at(r, k) is element r of the reduced axis for result k.
struct along {
  Halide::Buffer<float> x, dy;
  int axis;
  Expr at(const Expr& r, const Expr& k) const { return axis == 1 ? x(r, k) : x(k, r); }
  Func gradient(const std::function<Expr(Expr, Var)>& of) const {  // of(x, k): by an element of result k
    Func dx("dx");
    const Var k = axis == 1 ? i : j;
    dx(j, i) = dy(k) * of(x(j, i), k);
    return dx;
  }
};
Func named(const char* name, const Var& over, const Expr& value) {
  Func f(name);
  f(over) = value;
  return f;
}

void averaged(session& s) {
  if (!s.wants("W5") && !s.wants("W6")) return;
  matrix m(0, 1);
  for (const int axis : {0, 1}) {
    if (!s.wants("W5")) break;
    const along a{wrapped(m.x), wrapped(m.dy), axis};
    measure_axis(s, "W5", axis == 0 ? "axis0:" : "axis1:", m, axis, means(m, axis), [=](bool back) {
      const RDom r(0, n);
      std::vector<Func> out = {named("y", i, Halide::sum(a.at(r, i)) / n)};
      if (back) out.push_back(a.gradient([](Expr, Var) { return Expr(1.0f / n); }));
      return out;
    });
  }
  if (!s.wants("W6")) return;
  array<float, 1> row_sums(std::int64_t{n});
  array<float, 0> loss;
  const auto x = wrapped(m.x);
  measure(
      s, "W6", "", reads(m.x) + writes(loss), reads(m.x) + writes(loss, m.dx),
      [=](bool back) {
        const RDom r(0, n), q(0, n);
        Func line("line"), total("loss"), dx("dx");
        line(i) = Halide::sum((x(r, i) - 1) * (x(r, i) - 1));
        total() = Halide::sum(line(q)) / (static_cast<float>(n) * n);
        dx(j, i) = (x(j, i) - 1) * static_cast<float>(2.0 / (matrix::count * matrix::count));
        return back ? std::vector<Func>{total, dx} : std::vector<Func>{total};
      },
      {Halide::Buffer<float>::make_scalar(loss.data()), wrapped(m.dx)}, [&] { return m.square_error(loss); },
      [&] { return m.square_gradient_error(); });
}

void reduced(session& s) {
  if (!s.wants("W12")) return;
  matrix m(-4, 4);
  for (const int axis : {0, 1}) {
    const along a{wrapped(m.x), wrapped(m.dy), axis};
    const std::string k = std::to_string(axis) + ":";
    measure_axis(s, "W12", ("logsumexp" + k).c_str(), m, axis, logs(m, axis), [=](bool back) {
      const RDom r(0, n), q(0, n);
      const Func most = named("most", i, Halide::maximum(a.at(r, i)));
      const Func y = named("y", i, most(i) + Halide::log(Halide::sum(Halide::exp(a.at(q, i) - most(i)))));
      std::vector<Func> out = {y};
      if (back) out.push_back(a.gradient([=](Expr v, Var of) { return Halide::exp(v - y(of)); }));
      return out;
    });
    measure_axis(s, "W12", ("var" + k).c_str(), m, axis, variances(m, axis), [=](bool back) {
      const RDom r(0, n), q(0, n);
      const Func centre = named("centre", i, Halide::sum(a.at(r, i)) / n);
      const Expr apart = a.at(q, i) - centre(i);
      std::vector<Func> out = {named("y", i, Halide::sum(apart * apart) / (n - 1))};
      if (back) out.push_back(a.gradient([=](Expr v, Var of) { return (v - centre(of)) * (2.0f / (n - 1)); }));
      return out;
    });
    measure_axis(s, "W12", ("norm" + k).c_str(), m, axis, norms(m, axis), [=](bool back) {
      const RDom r(0, n);
      const Func y = named("y", i, Halide::sqrt(Halide::sum(a.at(r, i) * a.at(r, i))));
      std::vector<Func> out = {y};
      if (back) out.push_back(a.gradient([=](Expr v, Var of) { return v / y(of); }));
      return out;
    });
  }
}

void pooled(session& s) {
  if (!s.wants("W7")) return;
  images m;
  const auto x = wrapped(m.x), dy = wrapped(m.dy);
  const build average = [=](bool back) {
    const RDom r(0, 3, 0, 3);
    const Func padded = Halide::BoundaryConditions::constant_exterior(x, 0.0f, {{0, 224}, {0, 224}, {}, {}});
    Func y("y"), dx("dx");
    y(j, i, c, b) = Halide::sum(padded(2 * j - 1 + r.x, 2 * i - 1 + r.y, c, b)) / 9;
    const Func outside = Halide::BoundaryConditions::constant_exterior(dy, 0.0f, {{0, 112}, {0, 112}, {}, {}});
    const Expr u = (i + 1) / 2, v = (j + 1) / 2;  // with i / 2 and j / 2 the windows that have the element
    const Expr two_rows = i % 2 == 1, two_columns = j % 2 == 1;
    dx(j, i, c, b) = (outside(j / 2, i / 2, c, b) + Halide::select(two_columns, outside(v, i / 2, c, b), 0.0f) +
                      Halide::select(two_rows, outside(j / 2, u, c, b), 0.0f) +
                      Halide::select(two_rows && two_columns, outside(v, u, c, b), 0.0f)) /
                     9;
    return back ? std::vector<Func>{y, dx} : std::vector<Func>{y};
  };
  measure(
      s, "W7", "avg:", reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx), average,
      {wrapped(m.y), wrapped(m.dx)}, [&] { return m.error(false); }, [&] { return m.gradient_error(false); });
  const auto maximum = [=] {
    const RDom r(0, 3, 0, 3);
    const Func padded = Halide::BoundaryConditions::constant_exterior(x, x.type().min(), {{0, 224}, {0, 224}, {}, {}});
    Func y("y");
    y(j, i, c, b) = Halide::maximum(padded(2 * j - 1 + r.x, 2 * i - 1 + r.y, c, b));
    return std::vector<Func>{y};
  };
  measure(
      s, "W7", "max:", reads(m.x) + writes(m.y), {}, maximum(), {}, {wrapped(m.y)}, [&] { return m.error(true); },
      [] { return 0.0; }, nullptr);
}

void normed(session& s) {
  if (!s.wants("W8")) return;
  norm_data d;
  constexpr int R = norm_data::rows, W = norm_data::width;
  const auto x = wrapped(d.x), dy = wrapped(d.dy), w = wrapped(d.w), shift = wrapped(d.b);
  measure(
      s, "W8", "", reads(d.x, d.w, d.b) + writes(d.y), reads(d.x, d.w, d.b, d.dy) + writes(d.y, d.dx, d.dw, d.db),
      [=](bool back) {
        const RDom r(0, W), q(0, W), o(0, W), p(0, W), t(0, R), u(0, R);
        const Func centre = named("centre", i, Halide::sum(x(r, i)) / W);
        const Func squares = named("squares", i, Halide::sum((x(q, i) - centre(i)) * (x(q, i) - centre(i))) / W);
        const Func scale = named("scale", i, 1 / Halide::sqrt(squares(i) + 1e-5f));
        Func y("y"), dx("dx");
        const auto form = [&](const Expr& k, const Expr& of) { return (x(k, of) - centre(of)) * scale(of); };
        y(j, i) = form(j, i) * w(j) + shift(j);
        if (!back) return std::vector<Func>{y};
        const Func total = named("total", i, Halide::sum(dy(o, i) * w(o)) / W);
        const Func inner = named("inner", i, Halide::sum(dy(p, i) * w(p) * form(p, i)) / W);
        dx(j, i) = (dy(j, i) * w(j) - total(i) - form(j, i) * inner(i)) * scale(i);
        return std::vector<Func>{y, dx, named("dw", j, Halide::sum(dy(j, t) * form(j, t))),
                                 named("db", j, Halide::sum(dy(j, u)))};
      },
      {wrapped(d.y), wrapped(d.dx), wrapped(d.dw), wrapped(d.db)}, [&] { return d.forward_error(); },
      [&] { return std::max(d.input_error(), d.parameter_error()); });
}

void softened(session& s) {
  if (!s.wants("W9")) return;
  soft_data d;
  constexpr int W = soft_data::width;
  const auto x = wrapped(d.x), dy = wrapped(d.dy);
  measure(
      s, "W9", "softmax:", reads(d.x) + writes(d.y), reads(d.x, d.dy) + writes(d.y, d.dx),
      [=](bool back) {
        const RDom r(0, W), q(0, W), o(0, W);
        const Func most = named("most", i, Halide::maximum(x(r, i)));
        Func e("e"), y("y"), dx("dx");
        e(j, i) = Halide::exp(x(j, i) - most(i));
        const Func total = named("total", i, Halide::sum(e(q, i)));
        y(j, i) = e(j, i) / total(i);
        if (!back) return std::vector<Func>{y};
        const Func inner = named("inner", i, Halide::sum(y(o, i) * dy(o, i)));
        dx(j, i) = y(j, i) * (dy(j, i) - inner(i));
        return std::vector<Func>{y, dx};
      },
      {wrapped(d.y), wrapped(d.dx)}, [&] { return d.softmax_error(); }, [&] { return d.softmax_gradient_error(); });
}

void gathered(session& s) {
  if (!s.wants("W1")) return;
  gathered_rows m;
  constexpr int K = gathered_rows::K, T = gathered_rows::T;
  const auto x = wrapped(m.x);
  const auto ids = wrapped(m.ids);
  const auto mean = [=] {
    const RDom k(0, K);
    Func y("y");
    y(j, b) = Halide::sum(x(j, Halide::clamp(Halide::cast<int>(ids(k, b)), 0, T - 1), b)) / K;
    return std::vector<Func>{y};
  };
  measure(
      s, "W1", "", m.forward(m.ids), {}, mean(), {}, {wrapped(m.y)}, [&] { return m.error(m.times); },
      [] { return 0.0; }, nullptr);
}

}  // namespace

void wake_threads() {
  static Func much;
  static Halide::Buffer<float> into(64);
  if (!much.defined()) {
    const RDom r(0, 4096);
    much(i) = Halide::sum(Halide::sqrt(Halide::cast<float>(i + r)));
    much.parallel(i);
    much.compile_jit();
  }
  much.realize(into);
}

}  // namespace sheaf::bench

int main(int count, char** words) {
  using namespace sheaf::bench;
  Halide::load_plugin(HALIDE_PLUGINS "/libautoschedule_adams2019.so");
  return run_peer(count, words, {gathered, averaged, normed, softened, reduced, pooled});
}
