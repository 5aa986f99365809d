#include <sheaf/jit/shapes/open_decisions.hpp>

#include <limits>

namespace sheaf::inline v0_1::shapes {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// All values that a formula may have. Rounding is monotone, so ends that are computed like values enclose them.
struct interval {
  double low = -infinite, high = infinite;
  bool is_point() const { return low == high; }
};

interval whole_or(double low, double high) {
  return low <= high ? interval{low, high} : interval{};  // NaN: nothing is known
}

// Of four ends, where the operation is monotone in each operand.
interval hull(rule how, const interval& a, const interval& b) {
  const double ends[] = {result(how, a.low, b.low), result(how, a.low, b.high), result(how, a.high, b.low),
                         result(how, a.high, b.high)};
  double low = infinite, high = -infinite;
  for (const double e : ends) {
    if (e != e) return {};
    low = std::min(low, e), high = std::max(high, e);
  }
  return {low, high};
}

interval enclosed(rule how, const interval& a, const interval& b) {
  switch (how) {
    case rule::sub:
      return whole_or(a.low - b.high, a.high - b.low);
    case rule::div:
      return b.low <= 0 && b.high >= 0 && !(a.is_point() && b.is_point()) ? interval{} : hull(how, a, b);
    case rule::log2: {
      // The library's function need not be monotone in its last bit.
      constexpr double about = 1e-12;
      if (a.is_point()) return whole_or(std::log2(a.low), std::log2(a.low));
      return a.low <= 0 ? interval{} : interval{std::log2(a.low) - about, std::log2(a.high) + about};
    }
    case rule::floor:
      return whole_or(std::floor(a.low), std::floor(a.high));
    default:
      return hull(how, a, b);  // add, mul, min, max
  }
}

}  // namespace

formulas::formulas(std::span<const step> steps, std::span<const integer_function> functions,
                   std::span<const formula_id> roots)
    : functions_(functions.begin(), functions.end()) {
  std::vector<bool> wanted(steps.size(), false);
  for (const formula_id r : roots) wanted[static_cast<std::size_t>(r)] = true;
  for (std::size_t k = steps.size(); k-- > 0;)
    for (const formula_id a : {steps[k].a, steps[k].b, steps[k].c})
      if (wanted[k] && a != no_formula) wanted[static_cast<std::size_t>(a)] = true;
  std::vector<formula_id> moved(steps.size(), no_formula);
  const auto at = [&](formula_id f) { return f == no_formula ? f : moved[static_cast<std::size_t>(f)]; };
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (!wanted[k]) continue;
    moved[k] = static_cast<formula_id>(steps_.size());
    step s = steps[k];
    s.a = at(s.a), s.b = at(s.b), s.c = at(s.c);
    steps_.push_back(s);
  }
  steps_.shrink_to_fit();
  for (const formula_id r : roots) roots_.push_back(at(r));
}

const double* formulas::values(std::span<const std::int64_t> extents) const {
  static thread_local std::vector<double> memory;
  if (memory.size() < steps_.size()) memory.resize(steps_.size());
  double* const v = memory.data();
  for (std::size_t k = 0; k < steps_.size(); ++k) v[k] = evaluated(steps_[k], functions_, v, extents);
  return v;
}

bool open_decisions::hold(std::span<const std::int64_t> extents) const {
  if (never_ || questions_.empty()) return !never_;
  const double* const v = formulas_.values(extents);
  for (const asked& q : questions_)
    if ((q.less ? v[q.a] < v[q.b] : v[q.a] == v[q.b]) != q.answer) return false;
  return true;
}

open_decisions decisions::open_in(std::span<const std::int64_t> low, std::span<const std::int64_t> high) const {
  std::vector<interval> v(steps_.size());
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const step& s = steps_[k];
    const auto of = [&](formula_id f) { return f == no_formula ? interval{0, 0} : v[static_cast<std::size_t>(f)]; };
    const interval a = of(s.a), b = of(s.b), c = of(s.c);
    if (s.how == rule::number) {
      v[k] = whole_or(s.number, s.number);
    } else if (s.how == rule::extent) {
      const auto place = static_cast<std::size_t>(s.number);
      v[k] = {static_cast<double>(low[place]), static_cast<double>(high[place])};
    } else if (s.how == rule::integer) {
      const double ends[] = {a.low, b.low, c.low};
      step of_ends = s;
      of_ends.a = 0, of_ends.b = 1, of_ends.c = 2;
      const bool point = a.is_point() && b.is_point() && c.is_point();
      const double value = point ? evaluated(of_ends, functions_, ends, {}) : 0;
      v[k] = point ? interval{value, value} : interval{};
    } else {
      v[k] = enclosed(s.how, a, b);
    }
  }
  open_decisions open;
  std::vector<formula_id> roots;
  for (const decision& d : decisions_) {
    const interval a = v[static_cast<std::size_t>(d.asked.a)], b = v[static_cast<std::size_t>(d.asked.b)];
    const bool apart = a.high < b.low || b.high < a.low;
    const bool always = d.asked.less ? a.high < b.low : a.is_point() && b.is_point() && a.low == b.low;
    const bool never = d.asked.less ? a.low >= b.high : apart;
    if (always || never) {
      if (always == d.answer) continue;
      open = {};
      open.never_ = true;
      return open;
    }
    open.questions_.push_back({d.asked.less, d.answer, 0, 0});
    roots.push_back(d.asked.a);
    roots.push_back(d.asked.b);
  }
  open.evaluate_by(formulas(steps_, functions_, roots));
  return open;
}

open_decisions decisions::only(std::span<const std::size_t> places) const {
  open_decisions open;
  std::vector<formula_id> roots;
  for (const std::size_t k : places) {
    const question& q = decisions_[k].asked;
    open.questions_.push_back({q.less, decisions_[k].answer, 0, 0});
    roots.insert(roots.end(), {q.a, q.b});
  }
  open.evaluate_by(formulas(steps_, functions_, roots));
  return open;
}

// The roots are the two sides of each question.
void open_decisions::evaluate_by(formulas of) {
  formulas_ = std::move(of);
  for (std::size_t k = 0; k < questions_.size(); ++k) {
    questions_[k].a = formulas_.place(2 * k);
    questions_[k].b = formulas_.place(2 * k + 1);
  }
  questions_.shrink_to_fit();
}

formulas decisions::formulas_of(std::span<const amount> list) const {
  std::vector<formula_id> roots;
  for (const amount& a : list)
    if (a.record() == this) roots.push_back(a.formula());
  return formulas(steps_, functions_, roots);
}

}  // namespace sheaf::inline v0_1::shapes
