// W1: the mean of gathered rows. W2: the same as a mean under a mask that is given, under one made of the indices in
// the expression, and as a one-hot contraction.
#include "gather.hpp"
#include "gather_programs.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

using namespace gathers_of;

// name: what the row is called before its colon; empty for the only form.
template <class Y, class... Named>
void measure(session& s, const char* id, const std::string& name, Y y, gathered_rows& m,
             const std::vector<double>& share, const traffic& bytes, const Named&... names) {
  const auto forward = compile(y);
  s.row(
      id, (name + "forward").c_str(), bytes, [&] { forward(data = m.x, y = m.y, names...); },
      [&] { return m.error(share); });
  const auto dx = vjp(y, data);
  const auto both = compile(y, dx);
  s.row(
      id, (name + "forward+backward").c_str(), bytes + reads(m.dy) + writes(m.dx),
      [&] { both(data = m.x, cotangent(y) = m.dy, y = m.y, dx = m.dx, names...); },
      [&] { return std::max(m.error(share), m.gradient_error(share)); });
}

}  // namespace

void gather_means(session& s) {
  if (!s.wants("W1") && !s.wants("W2")) return;
  gathered_rows m;
  const auto by_ids = picks = m.ids;
  const auto by_mask = keep = m.mask;
  if (s.wants("W1")) measure(s, "W1", "", gathered, m, m.times, m.forward(m.ids), by_ids);
  if (!s.wants("W2")) return;
  measure(s, "W2", "given:", given, m, m.once, m.forward(m.mask), by_mask);
  measure(s, "W2", "mask:", masked, m, m.once, m.forward(m.ids), by_ids);
  measure(s, "W2", "onehot:", contracted, m, m.once, m.forward(m.ids), by_ids);
}

}  // namespace sheaf::bench
