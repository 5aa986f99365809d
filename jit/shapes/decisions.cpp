#include <sheaf/jit/shapes/decisions.hpp>

#include <cstdio>

namespace sheaf::inline v0_1::shapes {

std::size_t decisions::hashed::operator()(const step& s) const {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(s.number) ^ static_cast<std::uint64_t>(s.how);
  for (const std::int32_t n : {s.a, s.b, s.c, s.function})
    hash = (hash ^ static_cast<std::uint32_t>(n)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
  return static_cast<std::size_t>(hash);
}
std::size_t decisions::hashed::operator()(const question& q) const {
  return operator()(step{.how = q.less ? rule::min : rule::max, .a = q.a, .b = q.b});
}

double amount::fixed() const {
  if (record_ != nullptr) record_->decided(false, *this, value_, true);
  return value_;
}
bool amount::is_of_class() const { return record_ != nullptr && !record_->exact(); }
bool amount::is_open() const { return record_ != nullptr && record_->irregular(); }
bool amount::may_be_fixed() const { return record_ == nullptr || !record_->is_bounded(); }
bool amount::may_be_known() const { return may_be_fixed() && (record_ == nullptr || !record_->serves_all()); }
bool amount::is_at_most(double limit) const {
  return may_be_fixed() ? certain() <= limit : record_->most(*this) <= limit;
}
std::int64_t amount::typical() const {
  return is_of_class() ? static_cast<std::int64_t>(usual_) : whole();
}
amount amount::recorded(rule how, double value, double usual, const amount& a, const amount& b) {
  return (a.record_ != nullptr ? a : b).record_->combined(how, value, usual, a, b);
}
amount applied(integer_function f, const amount& a, const amount& b, const amount& c) {
  for (const amount* x : {&a, &b, &c})
    if (x->record() != nullptr) return x->record()->of_integers(f, a, b, c);
  return f(whole_of(a.estimate()), whole_of(b.estimate()), whole_of(c.estimate()));
}
// Null: the comparison is of what stands for a class, or of numbers that are the same for all calls.
decisions* amount::recorder(const amount& a, const amount& b) {
  decisions* const record = a.record_ != nullptr ? a.record_ : b.record_;
  return record != nullptr && (a.certain_ || b.certain_ || record->exact()) ? record : nullptr;
}
bool amount::is_less(const amount& a, const amount& b) {
  decisions* const record = recorder(a, b);
  if (record == nullptr) return a.usual_ < b.usual_;
  const bool outcome = a.value_ < b.value_;
  record->decided(true, a, b, outcome);
  return outcome;
}
bool amount::is_equal(const amount& a, const amount& b) {
  decisions* const record = recorder(a, b);
  if (record == nullptr) return a.usual_ == b.usual_;
  const bool outcome = a.value_ == b.value_;
  record->decided(false, a, b, outcome);
  return outcome;
}

formula_id decisions::add(const step& s) {
  const auto [at, fresh] = known_.try_emplace(s, static_cast<formula_id>(steps_.size()));
  if (fresh) steps_.push_back(s);
  return at->second;
}

amount decisions::extent(int place, std::int64_t value, std::int64_t usual) {
  const step s{.how = rule::extent, .number = static_cast<double>(place)};
  return {static_cast<double>(value), static_cast<double>(usual), add(s), this};
}
amount decisions::of_integers(integer_function f, const amount& a, const amount& b, const amount& c) {
  const std::int64_t value = f(whole_of(a.estimate()), whole_of(b.estimate()), whole_of(c.estimate()));
  const std::int64_t usual = f(whole_of(a.usual()), whole_of(b.usual()), whole_of(c.usual()));
  const auto at = std::ranges::find(functions_, f);
  const auto place = static_cast<std::int32_t>(at - functions_.begin());
  if (at == functions_.end()) functions_.push_back(f);
  const step s{.how = rule::integer, .a = of(a), .b = of(b), .c = of(c), .function = place};
  return {static_cast<double>(value), static_cast<double>(usual), add(s), this};
}
amount decisions::combined(rule how, double value, double usual, const amount& a, const amount& b) {
  const step s{.how = how, .a = of(a), .b = of(b)};
  return {value, usual, add(s), this};
}
void decisions::decided(bool less, const amount& a, const amount& b, bool outcome) {
  const question asked{less, of(a), of(b)};
  if (asked.a != asked.b && asked_.insert(asked).second) decisions_.push_back({asked, outcome, steps_.size()});
}

std::size_t decisions::first_other(std::span<const std::int64_t> extents) const {
  static thread_local std::vector<double> values;
  if (values.size() < steps_.size()) values.resize(steps_.size());
  std::size_t done = 0, k = 0;
  for (; k < decisions_.size(); ++k) {
    const decision& d = decisions_[k];
    for (; done < d.known; ++done) values[done] = evaluated(steps_[done], functions_, values.data(), extents);
    const double a = values[static_cast<std::size_t>(d.asked.a)], b = values[static_cast<std::size_t>(d.asked.b)];
    if ((d.asked.less ? a < b : a == b) != d.answer) break;
  }
  return k;
}

bool decisions::hold(std::span<const std::int64_t> extents) const { return first_other(extents) == decisions_.size(); }

std::string decisions::difference(std::span<const std::int64_t> extents, std::span<const std::string> names) const {
  const std::size_t k = first_other(extents);
  return k == decisions_.size() ? std::string() : words(k, names);
}

std::string decisions::words(std::size_t place, std::span<const std::string> names) const {
  const decision& d = decisions_[place];
  const char* const relation = d.asked.less ? (d.answer ? " < " : " >= ") : (d.answer ? " == " : " != ");
  return text(d.asked.a, names) + relation + text(d.asked.b, names);
}

std::string decisions::text(formula_id f, std::span<const std::string> names) const {
  const step& s = steps_[static_cast<std::size_t>(f)];
  const auto both = [&](const char* between, const char* before) {
    return before + ("(" + text(s.a, names)) + between + text(s.b, names) + ")";
  };
  switch (s.how) {
    case rule::number: {
      char number[32];
      std::snprintf(number, sizeof number, "%.10g", s.number);
      return number;
    }
    case rule::extent:
      return names[static_cast<std::size_t>(s.number)];
    case rule::add:
      return both(" + ", "");
    case rule::sub:
      return both(" - ", "");
    case rule::mul:
      return both(" * ", "");
    case rule::div:
      return both(" / ", "");
    case rule::min:
      return both(", ", "min");
    case rule::max:
      return both(", ", "max");
    case rule::log2:
      return "log2(" + text(s.a, names) + ")";
    case rule::floor:
      return "floor(" + text(s.a, names) + ")";
    case rule::integer:
      break;
  }
  std::string list = "f" + std::to_string(s.function) + "(";
  for (const formula_id a : {s.a, s.b, s.c})
    if (a != no_formula) list += (list.back() == '(' ? "" : ", ") + text(a, names);
  return list + ")";
}

std::vector<double> decisions::values(std::span<const amount> list, std::span<const std::int64_t> extents) const {
  formula_id last = no_formula;
  for (const amount& a : list)
    if (a.record() == this) last = std::max(last, a.formula());
  std::vector<double> all(static_cast<std::size_t>(last + 1)), found;
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = evaluated(steps_[k], functions_, all.data(), extents);
  for (const amount& a : list)
    found.push_back(a.record() == this ? all[static_cast<std::size_t>(a.formula())] : a.estimate());
  return found;
}

}  // namespace sheaf::inline v0_1::shapes
