// peer_eigen [ID...]: the rows that are natural for Eigen's arrays. Its expressions run on one core; blocks of rows or
// columns are given to the others by OpenMP, as its manual advises.
#include <Eigen/Dense>
#include <peer.hpp>
#include <workloads/matrices.hpp>
#include <workloads/rows.hpp>
#include <workloads/slices.hpp>

namespace sheaf::bench {
namespace {

using block = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using line = Eigen::Array<float, 1, Eigen::Dynamic>;
using table = Eigen::Map<const block>;
using output = Eigen::Map<block>;

constexpr Eigen::Index strip = 64;

// body(first, count) for parts of [0, n).
template <class Body>
void parts(Eigen::Index n, Eigen::Index size, Body body) {
#pragma omp parallel for
  for (Eigen::Index at = 0; at < n; at += size) body(at, std::min(size, n - at));
}

template <class Run, class Error, class Both>
void measure(session& s, const char* id, const std::string& name, const traffic& forward, const traffic& both, Run run,
             Error error, Both gradient_error) {
  s.row(id, (name + "forward").c_str(), forward, [&] { run(false); }, error);
  s.row(
      id, (name + "forward+backward").c_str(), both, [&] { run(true); },
      [&] { return std::max(error(), gradient_error()); });
}

struct square {
  table x;
  output dx;
  Eigen::Map<line> y;
  Eigen::Map<const line> dy;
  explicit square(matrix& m)
      : x(m.x.data(), matrix::side, matrix::side),
        dx(m.dx.data(), matrix::side, matrix::side),
        y(m.y.data(), matrix::side),
        dy(m.dy.data(), matrix::side) {}
};

template <class Run>
void measure_axis(session& s, const char* id, const char* name, matrix& m, int axis, const expected& want, Run run) {
  measure(
      s, id, name, reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx), run,
      [&] { return error_of(m.y, want.values); }, [&] { return m.gradient_error(axis, want.gradient); });
}

void averaged(session& s) {
  if (!s.wants("W5") && !s.wants("W6")) return;
  matrix m(0, 1);
  square a(m);
  const Eigen::Index n = matrix::side;
  if (s.wants("W5")) {
    measure_axis(s, "W5", "axis0:", m, 0, means(m, 0), [&](bool back) {
      parts(n, 1024, [&](auto c, auto w) { a.y.segment(c, w) = a.x.middleCols(c, w).colwise().mean(); });
      if (back)
        parts(n, strip, [&](auto r, auto h) { a.dx.middleRows(r, h).rowwise() = a.dy / static_cast<float>(n); });
    });
    measure_axis(s, "W5", "axis1:", m, 1, means(m, 1), [&](bool back) {
      parts(n, strip, [&](auto r, auto h) {
        a.y.segment(r, h) = a.x.middleRows(r, h).rowwise().mean().transpose();
        if (back) a.dx.middleRows(r, h).colwise() = a.dy.segment(r, h).transpose() / static_cast<float>(n);
      });
    });
  }
  if (!s.wants("W6")) return;
  array<float, 0> loss;
  measure(
      s, "W6", "", reads(m.x) + writes(loss), reads(m.x) + writes(loss, m.dx),
      [&](bool back) {
        double total = 0;
#pragma omp parallel for reduction(+ : total)
        for (Eigen::Index r = 0; r < n; r += 8) {
          if (back) {
            a.dx.middleRows(r, 8) =
                (a.x.middleRows(r, 8) - 1) * static_cast<float>(2.0 / (matrix::count * matrix::count));
          }
          total += static_cast<double>((a.x.middleRows(r, 8) - 1).square().sum());
        }
        *loss.data() = static_cast<float>(total / (matrix::count * matrix::count));
      },
      [&] { return m.square_error(loss); }, [&] { return m.square_gradient_error(); });
}

void reduced(session& s) {
  if (!s.wants("W12")) return;
  matrix m(-4, 4);
  square a(m);
  const Eigen::Index n = matrix::side;
  measure_axis(s, "W12", "logsumexp1:", m, 1, logs(m, 1), [&](bool back) {
    parts(n, 1, [&](auto r, auto) {
      const float most = a.x.row(r).maxCoeff();
      a.y(r) = most + std::log((a.x.row(r) - most).exp().sum());
      if (back) a.dx.row(r) = (a.x.row(r) - a.y(r)).exp() * a.dy(r);
    });
  });
  measure_axis(s, "W12", "var1:", m, 1, variances(m, 1), [&](bool back) {
    parts(n, 1, [&](auto r, auto) {
      const float centre = a.x.row(r).mean();
      a.y(r) = (a.x.row(r) - centre).square().sum() / static_cast<float>(n - 1);
      if (back) a.dx.row(r) = (a.x.row(r) - centre) * (2 * a.dy(r) / static_cast<float>(n - 1));
    });
  });
  measure_axis(s, "W12", "norm0:", m, 0, norms(m, 0), [&](bool back) {
    parts(n, 1024, [&](auto c, auto w) { a.y.segment(c, w) = a.x.middleCols(c, w).square().colwise().sum().sqrt(); });
    if (back) parts(n, 1, [&](auto r, auto) { a.dx.row(r) = a.x.row(r) * a.dy / a.y; });
  });
  measure_axis(s, "W12", "norm1:", m, 1, norms(m, 1), [&](bool back) {
    parts(n, 1, [&](auto r, auto) {
      a.y(r) = a.x.row(r).matrix().norm();
      if (back) a.dx.row(r) = a.x.row(r) * (a.dy(r) / a.y(r));
    });
  });
  array<std::int64_t, 1> found(matrix::side);
  s.row(
      "W12", "argmax1:forward", reads(m.x) + writes(found),
      [&] { parts(n, 1, [&](auto r, auto) { a.x.row(r).maxCoeff(found.data() + r); }); },
      [&] { return error_of(found, positions_of_largest(m, 1)); });
}

void normed(session& s) {
  if (!s.wants("W8")) return;
  norm_data d;
  const Eigen::Index R = norm_data::rows, W = norm_data::width;
  const table x(d.x.data(), R, W), dy(d.dy.data(), R, W);
  output y(d.y.data(), R, W), dx(d.dx.data(), R, W);
  const Eigen::Map<const line> w(d.w.data(), W), b(d.b.data(), W);
  measure(
      s, "W8", "", reads(d.x, d.w, d.b) + writes(d.y), reads(d.x, d.w, d.b, d.dy) + writes(d.y, d.dx, d.dw, d.db),
      [&](bool back) {
        line dw = line::Zero(W), db = line::Zero(W);
#pragma omp parallel
        {
          line form(W), scaled(W), my_dw = line::Zero(W), my_db = line::Zero(W);
#pragma omp for
          for (Eigen::Index r = 0; r < R; ++r) {
            form = x.row(r) - x.row(r).mean();
            const float scale = 1 / std::sqrt(form.square().mean() + 1e-5f);
            form *= scale;
            y.row(r) = form * w + b;
            if (!back) continue;
            scaled = dy.row(r) * w;
            my_dw += dy.row(r) * form;
            my_db += dy.row(r);
            dx.row(r) = (scaled - scaled.mean() - form * (scaled * form).mean()) * scale;
          }
#pragma omp critical
          dw += my_dw, db += my_db;
        }
        if (back) Eigen::Map<line>(d.dw.data(), W) = dw, Eigen::Map<line>(d.db.data(), W) = db;
      },
      [&] { return d.forward_error(); }, [&] { return std::max(d.input_error(), d.parameter_error()); });
}

void softened(session& s) {
  if (!s.wants("W9")) return;
  soft_data d;
  const Eigen::Index R = soft_data::rows, W = soft_data::width;
  const table x(d.x.data(), R, W), dy(d.dy.data(), R, W);
  output y(d.y.data(), R, W), dx(d.dx.data(), R, W);
  measure(
      s, "W9", "softmax:", reads(d.x) + writes(d.y), reads(d.x, d.dy) + writes(d.y, d.dx),
      [&](bool back) {
        parts(R, 1, [&](auto r, auto) {
          y.row(r) = (x.row(r) - x.row(r).maxCoeff()).exp();
          y.row(r) /= y.row(r).sum();
          if (back) dx.row(r) = y.row(r) * (dy.row(r) - (y.row(r) * dy.row(r)).sum());
        });
      },
      [&] { return d.softmax_error(); }, [&] { return d.softmax_gradient_error(); });
  measure(
      s, "W9", "cross_entropy:", reads(d.x, d.target) + writes(d.loss), reads(d.x, d.target) + writes(d.loss, d.dx),
      [&](bool back) {
        double total = 0;
        const float share = 1.0f / static_cast<float>(R);
#pragma omp parallel for reduction(+ : total)
        for (Eigen::Index r = 0; r < R; ++r) {
          const float most = x.row(r).maxCoeff(), all = most + std::log((x.row(r) - most).exp().sum());
          total += static_cast<double>(all - x(r, d.target(r)));
          if (!back) continue;
          dx.row(r) = (x.row(r) - all).exp() * share;
          dx(r, d.target(r)) -= share;
        }
        *d.loss.data() = static_cast<float>(total / static_cast<double>(R));
      },
      [&] { return d.loss_error(); }, [&] { return d.loss_gradient_error(); });
}

void sliced(session& s) {
  if (!s.wants("W3")) return;
  slices d(4096);
  d.side_by_side(64);
  const table x(d.x.data(), slices::T, slices::F);
  output y(d.y.data(), 4096, slices::F);
  s.row(
      "W3", "forward", d.forward(),
      [&] {
        parts(4096, 16, [&](auto m, auto count) {
          for (auto k = m; k < m + count; ++k)
            y.row(k) = x.middleRows(d.cut(k, 0), d.cut(k, 1) - d.cut(k, 0)).colwise().mean();
        });
      },
      [&] { return d.error(); });
}

}  // namespace
}  // namespace sheaf::bench

int main(int count, char** words) {
  using namespace sheaf::bench;
  return run_peer(count, words, {sliced, averaged, normed, softened, reduced});
}
