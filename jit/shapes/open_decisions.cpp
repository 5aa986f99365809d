#include <sheaf/jit/shapes/open_decisions.hpp>

#include <sheaf/jit/shapes/interval.hpp>

namespace sheaf::inline v0_1::shapes {

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

namespace {

// By formula, where all extents are in [low, high].
std::vector<interval> intervals_of(std::span<const step> steps, std::span<const integer_function> functions,
                                   std::span<const std::int64_t> low, std::span<const std::int64_t> high) {
  std::vector<interval> v(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const step& s = steps[k];
    const auto of = [&](formula_id f) { return f == no_formula ? interval{0, 0} : v[static_cast<std::size_t>(f)]; };
    const auto place = static_cast<std::size_t>(s.number);
    if (s.how == rule::number)
      v[k] = s.number == s.number ? interval{s.number, s.number} : interval{};
    else if (s.how == rule::extent)
      v[k] = {static_cast<double>(low[place]), static_cast<double>(high[place])};
    else if (s.how == rule::integer)
      v[k] = enclosed(functions[static_cast<std::size_t>(s.function)], of(s.a), of(s.b), of(s.c));
    else
      v[k] = enclosed(s.how, of(s.a), of(s.b));
  }
  return v;
}

in_box outcome(const decision& d, const std::vector<interval>& v) {
  const interval a = v[static_cast<std::size_t>(d.asked.a)], b = v[static_cast<std::size_t>(d.asked.b)];
  const bool apart = a.high < b.low || b.high < a.low;
  const bool holds = d.asked.less ? a.high < b.low : a.is_point() && b.is_point() && a.low == b.low;
  const bool fails = d.asked.less ? a.low >= b.high : apart;
  if (!holds && !fails) return in_box::some;
  return holds == d.answer ? in_box::all : in_box::none;
}

}  // namespace

std::vector<interval> decisions::enclosed(std::span<const amount> list, std::span<const std::int64_t> low,
                                          std::span<const std::int64_t> high) const {
  const std::vector<interval> v = intervals_of(steps_, functions_, low, high);
  std::vector<interval> found;
  for (const amount& a : list)
    found.push_back(a.record() == this ? v[static_cast<std::size_t>(a.formula())]
                                       : interval{a.estimate(), a.estimate()});
  return found;
}

open_decisions decisions::open_in(std::span<const std::int64_t> low, std::span<const std::int64_t> high) const {
  const std::vector<interval> v = intervals_of(steps_, functions_, low, high);
  open_decisions open;
  std::vector<formula_id> roots;
  for (const decision& d : decisions_) {
    const in_box as_recorded = outcome(d, v);
    if (as_recorded == in_box::all) continue;
    if (as_recorded == in_box::none) {
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

in_box decisions::first_other_in(std::size_t place, std::span<const std::int64_t> low,
                                 std::span<const std::int64_t> high, std::size_t& open) const {
  const std::vector<interval> v =
      intervals_of(std::span(steps_).first(decisions_[place].known), functions_, low, high);
  bool all = true;
  for (std::size_t k = 0; k <= place; ++k) {
    const in_box as_recorded = outcome(decisions_[k], v);
    if (as_recorded == (k == place ? in_box::all : in_box::none)) return in_box::none;
    if (all && as_recorded == in_box::some) all = false, open = k;
  }
  return all ? in_box::all : in_box::some;
}

std::vector<std::size_t> decisions::extents_of(std::size_t place) const {
  const question& asked = decisions_[place].asked;
  std::vector<bool> wanted(decisions_[place].known, false);
  wanted[static_cast<std::size_t>(asked.a)] = wanted[static_cast<std::size_t>(asked.b)] = true;
  std::vector<std::size_t> list;
  for (std::size_t k = wanted.size(); k-- > 0;) {
    if (!wanted[k]) continue;
    if (steps_[k].how == rule::extent) list.push_back(static_cast<std::size_t>(steps_[k].number));
    for (const formula_id f : {steps_[k].a, steps_[k].b, steps_[k].c})
      if (f != no_formula) wanted[static_cast<std::size_t>(f)] = true;
  }
  return list;
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
