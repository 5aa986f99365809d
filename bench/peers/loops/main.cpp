// peer_loops [ID...]: the hand-written loops, on the data of bench/workloads and against its bounds.
#include <peer.hpp>
#include <workloads/bags.hpp>
#include <workloads/gather.hpp>
#include <workloads/matrices.hpp>
#include <workloads/rows.hpp>
#include <workloads/segments.hpp>
#include <workloads/slices.hpp>
#include <workloads/windows.hpp>

#include "kernels.hpp"

namespace sheaf::bench {
namespace {

// run(back): back says whether gradients are wanted. name ends in a colon or is empty.
template <class Run, class Error, class Both>
void measure(session& s, const char* id, const std::string& name, const traffic& forward, const traffic& both, Run run,
             Error error, Both gradient_error) {
  s.row(id, (name + "forward").c_str(), forward, [&] { run(false); }, error);
  s.row(
      id, (name + "forward+backward").c_str(), both, [&] { run(true); },
      [&] { return std::max(error(), gradient_error()); });
}

template <class T, int Rank>
T* where(bool wanted, array<T, Rank>& a) {
  return wanted ? a.data() : nullptr;
}

void gathered(session& s) {
  if (!s.wants("W1") && !s.wants("W2")) return;
  gathered_rows m;
  using g = gathered_rows;
  const auto form = [&](const char* id, const char* name, const std::vector<double>& share, const traffic& t,
                        auto run) {
    measure(
        s, id, name, t, t + reads(m.dy) + writes(m.dx), run, [&] { return m.error(share); },
        [&] { return m.gradient_error(share); });
  };
  const auto masked = [&](bool back) {
    loops::mask_mean(m.x.data(), m.ids.data(), m.dy.data(), m.y.data(), where(back, m.dx), g::B, g::T, g::F, g::K);
  };
  if (s.wants("W1"))
    form("W1", "", m.times, m.forward(m.ids), [&](bool back) {
      loops::gather_mean(m.x.data(), m.ids.data(), m.dy.data(), m.y.data(), where(back, m.dx), g::B, g::T, g::F, g::K);
    });
  if (!s.wants("W2")) return;
  form("W2", "given:", m.once, m.forward(m.mask), [&](bool back) {
    loops::given_mean(m.x.data(), m.mask.data(), m.dy.data(), m.y.data(), where(back, m.dx), g::B, g::T, g::F);
  });
  form("W2", "mask:", m.once, m.forward(m.ids), masked);
  form("W2", "onehot:", m.once, m.forward(m.ids), masked);
}

void sliced(session& s) {
  const auto of = [&](const char* id, slices& d, auto run) {
    measure(s, id, "", d.forward(), d.both(), run, [&] { return d.error(); }, [&] { return d.gradient_error(); });
  };
  if (s.wants("W3")) {
    slices d(4096);
    d.side_by_side(64);
    of("W3", d, [&](bool back) {
      loops::slice_mean(d.x.data(), d.cut.data(), d.dy.data(), d.y.data(), where(back, d.dx), 4096, slices::T,
                        slices::F);
    });
  }
  if (!s.wants("W4")) return;
  slices d(65536);
  d.anywhere(1024);
  std::vector<double> before(static_cast<std::size_t>((slices::T + 1) * slices::F));
  of("W4", d, [&](bool back) {
    loops::overlap_mean(d.x.data(), d.cut.data(), d.dy.data(), d.y.data(), where(back, d.dx), before.data(), 65536,
                        slices::T, slices::F);
  });
}

using along_axis = void(loops::in, loops::in, loops::out, loops::out, std::int64_t);
void measure_axis(session& s, const char* id, const char* name, matrix& m, int axis, const expected& want,
                  along_axis* f) {
  measure(
      s, id, name, reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx),
      [&](bool back) { f(m.x.data(), m.dy.data(), m.y.data(), where(back, m.dx), matrix::side); },
      [&] { return error_of(m.y, want.values); }, [&] { return m.gradient_error(axis, want.gradient); });
}
void averaged(session& s) {
  if (!s.wants("W5") && !s.wants("W6")) return;
  matrix m(0, 1);
  if (s.wants("W5")) {
    measure_axis(s, "W5", "axis0:", m, 0, means(m, 0), loops::mean0);
    measure_axis(s, "W5", "axis1:", m, 1, means(m, 1), loops::mean1);
  }
  if (!s.wants("W6")) return;
  array<float, 0> loss;
  measure(
      s, "W6", "", reads(m.x) + writes(loss), reads(m.x) + writes(loss, m.dx),
      [&](bool back) { *loss.data() = loops::mean_square(m.x.data(), where(back, m.dx), matrix::side); },
      [&] { return m.square_error(loss); }, [&] { return m.square_gradient_error(); });
}
void reduced(session& s) {
  if (!s.wants("W12")) return;
  matrix m(-4, 4);
  measure_axis(s, "W12", "logsumexp0:", m, 0, logs(m, 0), loops::logsumexp0);
  measure_axis(s, "W12", "logsumexp1:", m, 1, logs(m, 1), loops::logsumexp1);
  measure_axis(s, "W12", "var0:", m, 0, variances(m, 0), loops::var0);
  measure_axis(s, "W12", "var1:", m, 1, variances(m, 1), loops::var1);
  measure_axis(s, "W12", "norm0:", m, 0, norms(m, 0), loops::norm0);
  measure_axis(s, "W12", "norm1:", m, 1, norms(m, 1), loops::norm1);
  array<std::int64_t, 1> found(matrix::side);
  s.row(
      "W12", "argmax0:forward", reads(m.x) + writes(found),
      [&] { loops::argmax0(m.x.data(), found.data(), matrix::side); },
      [&] { return error_of(found, positions_of_largest(m, 0)); });
  s.row(
      "W12", "argmax1:forward", reads(m.x) + writes(found),
      [&] { loops::argmax1(m.x.data(), found.data(), matrix::side); },
      [&] { return error_of(found, positions_of_largest(m, 1)); });
}

void pooled(session& s) {
  if (!s.wants("W7")) return;
  images m;
  for (const bool most : {false, true}) {
    const auto f = most ? loops::maximum_pool : loops::average_pool;
    measure(
        s, "W7", most ? "max:" : "avg:", reads(m.x) + writes(m.y), reads(m.x, m.dy) + writes(m.y, m.dx),
        [&](bool back) { f(m.x.data(), m.dy.data(), m.y.data(), where(back, m.dx), 8 * 64, images::out); },
        [&] { return m.error(most); }, [&] { return m.gradient_error(most); });
  }
}
void windowed(session& s) {
  if (!s.wants("W13")) return;
  signal d(1024);
  measure(
      s, "W13", "", reads(d.x) + writes(d.y), reads(d.x, d.dy) + writes(d.y, d.dx),
      [&](bool back) {
        loops::window_mean(d.x.data(), d.dy.data(), d.y.data(), where(back, d.dx), signal::length, 1024);
      },
      [&] { return d.error(1024); }, [&] { return d.gradient_error(1024); });
}

void normed(session& s) {
  if (!s.wants("W8")) return;
  norm_data d;
  measure(
      s, "W8", "", reads(d.x, d.w, d.b) + writes(d.y), reads(d.x, d.w, d.b, d.dy) + writes(d.y, d.dx, d.dw, d.db),
      [&](bool back) {
        loops::layer_norm(d.x.data(), d.w.data(), d.b.data(), d.dy.data(), d.y.data(), where(back, d.dx), d.dw.data(),
                          d.db.data(), norm_data::rows, norm_data::width);
      },
      [&] { return d.forward_error(); }, [&] { return std::max(d.input_error(), d.parameter_error()); });
}
void softened(session& s) {
  if (!s.wants("W9")) return;
  soft_data d;
  measure(
      s, "W9", "softmax:", reads(d.x) + writes(d.y), reads(d.x, d.dy) + writes(d.y, d.dx),
      [&](bool back) {
        loops::softmax(d.x.data(), d.dy.data(), d.y.data(), where(back, d.dx), soft_data::rows, soft_data::width);
      },
      [&] { return d.softmax_error(); }, [&] { return d.softmax_gradient_error(); });
  measure(
      s, "W9", "cross_entropy:", reads(d.x, d.target) + writes(d.loss), reads(d.x, d.target) + writes(d.loss, d.dx),
      [&](bool back) {
        *d.loss.data() =
            loops::cross_entropy(d.x.data(), d.target.data(), where(back, d.dx), soft_data::rows, soft_data::width);
      },
      [&] { return d.loss_error(); }, [&] { return d.loss_gradient_error(); });
}

void bagged(session& s) {
  if (!s.wants("W10")) return;
  bag_data d;
  const auto plain = [](std::int64_t) { return 1.0; };
  const auto mean = [&](std::int64_t n) {
    const std::int64_t k = d.bag_of[bag_data::at(n)];
    return 1.0 / static_cast<double>(d.off(k + 1) - d.off(k));
  };
  const auto weighted = [&](std::int64_t n) { return static_cast<double>(d.weight(n)); };
  loops::bags b{d.table.data(), d.ids.data(),        d.off.data(),       nullptr,
                false,          bag_data::bag_count, bag_data::features, bag_data::words};
  const auto sum = [&](const char* name, const traffic& more, const traffic& most, auto share) {
    measure(
        s, "W10", name, d.forward() + more, d.both() + most,
        [&](bool back) {
          loops::bag_sum(b, d.dy.data(), d.y.data(), where(back, d.dtable),
                         where(back && b.weight != nullptr, d.dweight));
        },
        [&] { return d.sum_error(share); },
        [&] { return std::max(d.table_error(share), b.weight == nullptr ? 0.0 : d.weight_error()); });
  };
  sum("sum:", {}, {}, plain);
  b.mean = true;
  sum("mean:", {}, {}, mean);
  b.mean = false, b.weight = d.weight.data();
  sum("weighted:", reads(d.weight), reads(d.weight) + writes(d.dweight), weighted);
  b.weight = nullptr;
  std::vector<std::int32_t> first(bag_data::at(bag_data::bag_count * bag_data::features));
  measure(
      s, "W10", "max:", d.forward(), d.both(),
      [&](bool back) { loops::bag_max(b, d.dy.data(), d.y.data(), where(back, d.dtable), first.data()); },
      [&] { return d.max_error(); }, [&] { return d.max_table_error(); });
}

void segmented(session& s) {
  if (!s.wants("W11")) return;
  segmented_list d;
  const std::int64_t count = d.off.size() - 1;
  measure(
      s, "W11", "mean:", reads(d.x, d.off) + writes(d.means), reads(d.x, d.off, d.dmeans) + writes(d.means, d.dx),
      [&](bool back) {
        loops::segment_mean(d.x.data(), d.off.data(), d.dmeans.data(), d.means.data(), where(back, d.dx), count);
      },
      [&] { return d.mean_error(); }, [&] { return d.mean_gradient_error(); });
  measure(
      s, "W11", "softmax:", reads(d.x, d.off) + writes(d.y), reads(d.x, d.off, d.dy) + writes(d.y, d.dx),
      [&](bool back) {
        loops::segment_softmax(d.x.data(), d.off.data(), d.dy.data(), d.y.data(), where(back, d.dx), count);
      },
      [&] { return d.soft_error(); }, [&] { return d.soft_gradient_error(); });
}

}  // namespace
}  // namespace sheaf::bench

int main(int count, char** words) {
  using namespace sheaf::bench;
  return run_peer(count, words,
                  {gathered, sliced, averaged, pooled, normed, softened, bagged, segmented, reduced, windowed});
}
