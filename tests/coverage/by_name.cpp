// See by_name.hpp.
#include <coverage/by_name.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <coverage/instead.hpp>
#include <support/both.hpp>
#include <support/reparsed.hpp>

namespace sheaf::test {

namespace {

template <class T>
void put(std::vector<char>& to, double v) {
  const T x = value_of<T>(v);
  const char* bytes = reinterpret_cast<const char*>(&x);
  to.insert(to.end(), bytes, bytes + sizeof x);
}
template <class T>
double get(const char* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return number_of(x);
}
// f(T{}) for the type that an element is stored as.
template <class F>
auto with_type(element e, F f) {
  switch (e) {
    case element::boolean:
      return f(bool{});
    case element::i8:
      return f(std::int8_t{});
    case element::u8:
      return f(std::uint8_t{});
    case element::i16:
      return f(std::int16_t{});
    case element::u16:
      return f(std::uint16_t{});
    case element::u32:
      return f(std::uint32_t{});
    case element::u64:
      return f(std::uint64_t{});
    case element::i32:
      return f(std::int32_t{});
    case element::i64:
      return f(std::int64_t{});
    case element::f16:
      return f(float16{});
    case element::bf16:
      return f(bfloat16{});
    case element::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

std::size_t product_of(const std::vector<std::int64_t>& extents) {
  std::size_t n = 1;
  for (const std::int64_t e : extents) n *= static_cast<std::size_t>(e);
  return n;
}

// One argument of a call: its bytes, extents and strides, row by row.
struct storage {
  std::vector<char> bytes;
  std::vector<std::int64_t> extents, strides;
  sheaf_tensor tensor() { return {bytes.data(), extents.data(), strides.data()}; }
  void lay_out(std::vector<std::int64_t> shape) {
    extents = std::move(shape);
    strides.assign(extents.size() + 1, 1);
    for (std::size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
    extents.push_back(0);  // data() of a rank of 0 is a pointer too
  }
};

// What the reference wrote, by program and data: where run_instead is set, tests ask it for the same again.
using output_bytes = std::vector<std::vector<char>>;
output_bytes& known_outputs(const std::vector<std::int32_t>& words, const std::vector<storage>& arguments,
                            std::size_t inputs) {
  static std::map<std::pair<std::string, std::size_t>, output_bytes> all;
  std::string what(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::int32_t));
  std::size_t hash = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    for (const std::int64_t e : arguments[i].extents) what += std::to_string(e) + ' ';
    hash = hash * 0x9e3779b97f4a7c15u +
           std::hash<std::string_view>()({arguments[i].bytes.data(), arguments[i].bytes.size()});
  }
  return all[{std::move(what), hash}];
}

// Programs where run_instead is set: those for the chosen backend it runs.
struct other {
  std::vector<std::int32_t> words;
  bool is_run;
};
std::map<const jit::program*, other>& others() {
  static std::map<const jit::program*, other> all;
  return all;
}

}  // namespace

// The slow evaluator runs what the program's text reads back as, so each comparison with it is one of the text
// language too.
by_name::by_name(const std::vector<std::int32_t>& words, jit::backend runs_on, const options& how)
    : program_(jit::make_program(
          run_instead || runs_on == jit::backend::reference ? reparsed(words).data() : words.data(),
          run_instead ? jit::backend::reference : runs_on, how)) {
  if (run_instead) others()[program_] = {words, runs_on == jit::backend::chosen};
  constexpr int most = 32;
  const auto count = static_cast<std::size_t>(words[1] + words[3]);
  if (count > most) throw std::length_error("by_name: more than 32 arguments");
  const signature<most> s = signature_of<most>(words.data());
  inputs_ = static_cast<std::size_t>(s.inputs);
  for (std::size_t i = 0; i < count; ++i) {
    slots_.push_back({{}, s.rows[i].type, s.rows[i].rank});
    for (int k = 0; k < s.rows[i].name_size; ++k) slots_.back().name.push_back(static_cast<char>(s.rows[i].name[k]));
  }
}
by_name::~by_name() {
  others().erase(program_);
  jit::free_program(program_);
}
const char* by_name::text() const { return jit::expression_text(program_); }

std::vector<values> by_name::operator()(const table& given, std::string* plan) const {
  std::vector<storage> arguments(slots_.size());
  std::vector<sheaf_tensor> tensors(slots_.size());
  for (std::size_t i = 0; i < inputs_; ++i) {
    const auto found = given.find(slots_[i].name);
    if (found == given.end()) throw std::invalid_argument("by_name: no data for " + slots_[i].name);
    const values& v = found->second;
    if (static_cast<int>(v.extents.size()) != slots_[i].rank)
      throw std::invalid_argument("by_name: rank of " + slots_[i].name);
    for (const double x : v.numbers)
      with_type(slots_[i].type, [&](auto t) { put<decltype(t)>(arguments[i].bytes, x); });
    arguments[i].lay_out(v.extents);
    tensors[i] = arguments[i].tensor();
  }
  std::vector<values> results(slots_.size() - inputs_);
  const jit::kernel* kernel = jit::prepare(program_, tensors.data());
  for (std::size_t i = inputs_; i < slots_.size(); ++i) {
    const std::int64_t* extents = jit::output_extents(kernel, static_cast<int>(i - inputs_));
    values& v = results[i - inputs_];
    v.type = slots_[i].type;
    v.extents.assign(extents, extents + slots_[i].rank);
    v.numbers.resize(product_of(v.extents));
    arguments[i].lay_out(v.extents);
    arguments[i].bytes.assign(v.numbers.size() * static_cast<std::size_t>(row(v.type).bytes) + 8, 0x5a);
    tensors[i] = arguments[i].tensor();
  }
  const auto other = others().find(program_);
  if (other == others().end()) jit::run(kernel, tensors.data());
  else if (!other->second.is_run || !run_instead(other->second.words, tensors.data())) {
    output_bytes& known = known_outputs(other->second.words, arguments, inputs_);
    if (known.empty()) {
      jit::run(kernel, tensors.data());
      for (std::size_t i = inputs_; i < slots_.size(); ++i) known.push_back(arguments[i].bytes);
    }
    for (std::size_t i = inputs_; i < slots_.size(); ++i) arguments[i].bytes = known[i - inputs_];
  }
  for (std::size_t i = inputs_; i < slots_.size(); ++i) {
    values& v = results[i - inputs_];
    for (std::size_t k = 0; k < v.numbers.size(); ++k)
      v.numbers[k] =
          with_type(v.type, [&](auto t) { return get<decltype(t)>(arguments[i].bytes.data() + k * sizeof t); });
  }
  if (plan != nullptr) *plan = jit::plan_text(kernel);
  return results;
}

// ---- data

std::vector<double> numbers(std::uint64_t seed, std::size_t count, double low, double high) {
  return noise(count, low, high, seed);
}
values floats(std::uint64_t seed, std::vector<std::int64_t> extents, double low, double high) {
  const std::size_t n = product_of(extents);
  return {element::f64, std::move(extents), numbers(seed, n, low, high)};
}
values integers(std::vector<std::int64_t> extents, std::vector<double> v) {
  return {element::i64, std::move(extents), std::move(v)};
}
values rounded(values v, element type) {
  v.type = type;
  for (double& x : v.numbers) x = with_type(type, [&](auto t) { return number_of(value_of<decltype(t)>(x)); });
  return v;
}

namespace {

struct dice {
  std::uint64_t state;
  std::int64_t operator()(std::int64_t n) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return static_cast<std::int64_t>((z ^ z >> 31) % static_cast<std::uint64_t>(n));
  }
  values below(std::int64_t n, std::vector<std::int64_t> extents) {
    std::vector<double> out(product_of(extents));
    for (double& x : out) x = static_cast<double>((*this)(n));
    return integers(std::move(extents), std::move(out));
  }
};

// Of 4 slices: overlapping bounds, and offsets.
values bounds_of(dice& d, std::int64_t rows, bool gaps) {
  std::vector<double> out;
  for (int m = 0; m < 4; ++m) {
    const std::int64_t begin = d(rows - 1), most = rows - begin;
    const std::int64_t length = gaps && m % 2 == 1 ? -d(2) : 1 + d(most);
    out.insert(out.end(), {static_cast<double>(begin), static_cast<double>(begin + length)});
  }
  return integers({4, 2}, out);
}
values offsets_of(dice& d, std::int64_t rows, bool gaps) {
  const std::int64_t middle = 2 + d(rows - 3);  // 2 to rows - 2
  std::vector<std::int64_t> ends{0, gaps ? 0 : 1, middle, gaps ? middle : middle + 1, rows};
  return integers({5}, std::vector<double>(ends.begin(), ends.end()));
}

}  // namespace

// x, w [T, F] and weight [T] to be folded; keep [T] a mask; ids [T] the segment of each row, of 4; order [T] and
// places [T, F] rows of x; cut [4, 2] and off [5] slices of the rows; picks, share [4, 3] rows for each of 4 bags and
// their weights; small [4] rows of a result; a [F, F] a matrix; v3 [2, 3, 9] and v4 [1, 2, 7, 6] for what asks for
// more dimensions, batches [2, 9, 2], channel and channel_shift [3]; target [T] a column, target3 [2, 9] a class;
// features and bias [F], column [T].
table some_data(std::uint64_t seed, shape how) {
  dice d{seed * 7919 + static_cast<std::uint64_t>(how)};
  const bool gaps = how == shape::gaps;
  const std::int64_t T = how == shape::wide ? 37 : 9, F = how == shape::wide ? 19 : gaps ? 5 : 4;
  table out;
  out["x"] = floats(seed + 1, {T, F}, -1, 1);
  out["w"] = floats(seed + 2, {T, F}, 0.5, 1.5);
  out["weight"] = floats(seed + 3, {T}, 0.5, 2);
  out["features"] = floats(seed + 9, {F}, 0.5, 2);
  out["keep"] = d.below(2, {T});
  out["keep"].numbers[1] = 1;
  out["ids"] = d.below(gaps ? 3 : 4, {T});
  if (gaps)
    for (double& id : out["ids"].numbers) id += id == 1 ? 1 : 0;  // nothing in segments 1 and 3
  else
    for (int m = 0; m < 4; ++m) out["ids"].numbers[static_cast<std::size_t>(2 * m)] = m;
  out["order"] = d.below(gaps ? 3 : T, {T});
  out["places"] = d.below(T, {T, F});
  out["cut"] = bounds_of(d, T, gaps);
  out["off"] = offsets_of(d, T, gaps);
  out["picks"] = d.below(T, {4, 3});
  out["share"] = floats(seed + 4, {4, 3}, 0.5, 2);
  out["small"] = d.below(4, {4});
  out["a"] = floats(seed + 5, {F, F}, -1, 1);
  out["target"] = d.below(F, {T});
  out["bias"] = floats(seed + 10, {F}, -1, 1);
  out["column"] = floats(seed + 11, {T}, -1, 1);
  out["channel"] = floats(seed + 12, {3}, 0.5, 2);
  out["channel_shift"] = floats(seed + 13, {3}, -1, 1);
  out["batches"] = floats(seed + 14, {2, 9, 2}, -1, 1);
  out["target3"] = d.below(3, {2, 9});
  out["v3"] = floats(seed + 6, {2, 3, 9}, -1, 1);
  out["v4"] = floats(seed + 7, {1, 2, 7, 6}, -1, 1);
  return out;
}

std::vector<std::string> by_name::inputs() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < inputs_; ++i) out.push_back(slots_[i].name);
  return out;
}

void add_directions(const subject& s, const values& y, table& data) {
  data["tangent_" + s.by] = floats(101, data.at(s.by).extents, -1, 1);
  const by_name first(s.first, jit::backend::reference);
  const values c = floats(103, y.extents, 0.5, 1.5);
  // cotangent_y has y's name, which may be an automatic one.
  for (const std::string& name : first.inputs())
    if (name.rfind("cotangent_", 0) == 0) data[name] = c;
  data["cotangent"] = c;
}

void check_on_wide_and_gaps(const subject& s, std::uint64_t seed) {
  subject first = s;
  first.second.clear();
  check_backends(first, some_data(seed, shape::wide));
  if (!testing::Test::HasFailure()) check_backends(s, some_data(seed, shape::gaps));
}

}  // namespace sheaf::test
