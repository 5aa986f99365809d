// See loops.hpp: definitions, expressions and scopes.
#include "loops.hpp"

#include <sheaf/dsl/graph/reached.hpp>
#include <sheaf/dsl/graph/substitute.hpp>

#include "loops_scope.hpp"

namespace sheaf::bench {

const char* const loops_prelude = R"(
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>
namespace {
struct counts {
  double arithmetic, divisions, functions[64], updates, lines;
  std::vector<std::vector<bool>>* seen;
  void touch(int input, long byte) {
    auto& v = (*seen)[static_cast<std::size_t>(input)];
    const auto at = static_cast<std::size_t>(byte / 64);
    if (at < v.size() && !v[at]) v[at] = true, lines += 1;
  }
};
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  bf16(float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, 4);
    bits = static_cast<std::uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
  }
  operator float() const {
    const std::uint32_t u = std::uint32_t{bits} << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
  }
};
struct memory {
  char* data = nullptr;
  std::size_t size = 0;
  void* of(std::size_t bytes) {
    if (bytes <= size) return data;
    std::free(data);
    size = (bytes + 4095) / 4096 * 4096;
    return data = static_cast<char*>(std::aligned_alloc(4096, size));
  }
};
template <class T> T largest(T a, T b) { return a > b ? a : b; }
template <class T> T least(T a, T b) { return a < b ? a : b; }
template <class T> T floor_div(T a, T b) {
  if (b == 0) return 0;
  const T q = a / b;
  return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
}
template <class T> T floor_mod(T a, T b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
template <class T> T real_mod(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class T> T sigmoid(T a) { return 1 / (1 + std::exp(-a)); }
template <class T> T sign(T a) { return static_cast<T>((a > 0) - (a < 0)); }
}
)";

loop_printer::loop_printer(const graph& g) : g_(g) {}
loop_printer::~loop_printer() = default;

// ---- scopes

void loop_printer::open(const std::string& header, bool conditional) {
  auto s = std::make_unique<scope>();
  if (!scopes_.empty()) s->bound = scopes_.back()->bound;
  s->header = header;
  s->conditional = conditional;
  scopes_.push_back(std::move(s));
}
void loop_printer::close() {
  const scope& s = *scopes_.back();
  std::string counted;
  const auto add = [&](const std::string& field, double n) {
    if (n != 0) counted += "n->" + field + " += " + std::to_string(n) + "; ";
  };
  add("arithmetic", s.counts.arithmetic);
  add("divisions", s.counts.divisions);
  add("updates", s.counts.updates);
  for (int k = 0; k < 64; ++k) add("functions[" + std::to_string(k) + "]", s.counts.functions[k]);
  std::string text = s.header + " {\n";
  if (!counted.empty()) text += "if constexpr (C) { " + counted + "}\n";
  text += s.code + "}\n";
  scopes_.pop_back();
  if (scopes_.empty())
    open(text);  // the function as a whole
  else
    scopes_.back()->code += text;
}
void loop_printer::say(const std::string& statement) { scopes_.back()->code += statement + "\n"; }

// Where everything that n depends on is known; not before a condition that may guard it.
std::size_t loop_printer::outermost_for(node_id n) const {
  std::size_t depth = 0;
  while (depth + 1 < scopes_.size() && !g_.free[n].within(scopes_[depth]->bound)) ++depth;
  if (g_.fallible[n] != 0)
    for (std::size_t d = depth + 1; d < scopes_.size(); ++d)
      if (scopes_[d]->conditional) depth = d;
  return depth;
}

// ---- expressions

std::string loop_printer::leaf(node_id n) {
  const node& v = g_[n];
  if (v.kind == op::index) return "i" + std::to_string(v.ordinal);
  if (v.kind == op::extent)
    return "extents[" + std::to_string(dimension_place(g_, g_.arg(n, 0), static_cast<int>(v.attribute))) + "]";
  if (!is_floating(v.type)) {
    if (v.attribute == INT64_MIN) return "std::numeric_limits<long>::min()";
    return "(" + type_in_c(v.type) + "(" + std::to_string(v.attribute) + "))";
  }
  const double real = real_value(g_, n);
  if (real != real) return "NAN";
  if (real > 1e300 || real < -1e300) return real > 0 ? "(1e38f * 10)" : "(-1e38f * 10)";
  char digits[64];
  std::snprintf(digits, sizeof digits, "(%s(%.17g))", type_in_c(v.type).c_str(), real);
  return digits;
}

std::string loop_printer::value(node_id n) {
  const op kind = g_.kind(n);
  if (kind == op::constant || kind == op::index || kind == op::extent) return leaf(n);
  for (std::size_t d = scopes_.size(); d-- > 0;)
    if (const auto at = scopes_[d]->names.find(n); at != scopes_[d]->names.end()) return at->second;
  if (kind == op::stop_gradient) return value(g_.arg(n, 0));
  if (kind == op::load && is_inlined(g_.arg(n, 0))) {
    flat<node_id> from, to;
    const node_id d = g_.arg(n, 0);
    for (int k = 1; k < g_[n].count; ++k) {
      from.push(g_.arg(d, k));
      to.push(g_.arg(n, k));
    }
    return value(substitution(g_, from.data(), to.data(), from.size())(g_.arg(d, 0)));
  }
  may_fail(g_, n);
  std::string name;
  outside(outermost_for(n), [&] {
    name = "v" + std::to_string(names_++);
    if (kind == op::reduce && tables_.count(n) == 0) {
      scopes_.back()->names[n] = name;
      fold(n);
      return;
    }
    if (kind == op::select && (g_.fallible[g_.arg(n, 1)] != 0 || g_.fallible[g_.arg(n, 2)] != 0)) {
      scopes_.back()->names[n] = name;
      return choice(n, name);
    }
    const std::string e = computed(n);
    say("const " + type_in_c(g_.type(n)) + " " + name + " = " + e + ";");
    count(n);
    scopes_.back()->names[n] = name;
  });
  return name;
}

// What reads where it may not is evaluated only where it is chosen.
void loop_printer::choice(node_id n, const std::string& name) {
  const std::string c = value(g_.arg(n, 0));
  say(type_in_c(g_.type(n)) + " " + name + ";");
  for (const int k : {1, 2}) {
    open("if (" + (k == 1 ? c : "!(" + c + ")") + ")", true);
    say(name + " = " + value(g_.arg(n, k)) + ";");
    close();
  }
}

void loop_printer::count(node_id n) {
  const op kind = g_.kind(n);
  if (!is_elementwise(kind) || !is_floating(g_.type(g_.arg(n, g_[n].count - 1)))) return;
  if (kind == op::cast || kind == op::neg) return;
  const double wide = g_.type(n) == element::f64 ? 2 : 1;
  work_counts& c = scopes_.back()->counts;
  const op_cost cost = row(kind).cost;
  const int at = static_cast<int>(kind) - static_cast<int>(op::neg);
  if (cost == op_cost::function && at < 64)
    c.functions[at] += wide;
  else if (cost == op_cost::division || kind == op::div)
    c.divisions += wide;
  else
    c.arithmetic += wide;
  if (kind == op::add || kind == op::sub)
    for (int k = 0; k < 2; ++k)
      if (g_.kind(g_.arg(n, k)) == op::mul) {
        c.arithmetic -= wide;  // a product that is added
        return;
      }
}

std::string loop_printer::computed(node_id n) {
  const op kind = g_.kind(n);
  if (kind == op::reduce) return table_place(tables_[n].first, tables_[n].second);
  if (kind == op::load) return element(n);
  const bool real = is_floating(g_.type(g_.arg(n, g_[n].count - 1)));
  std::string a[3];
  for (int k = 0; k < g_[n].count; ++k) a[k] = value(g_.arg(n, k));
  const std::string type = type_in_c(g_.type(n)), both = a[0] + ", " + a[1];
  switch (kind) {
    case op::cast:
      return "static_cast<" + type + ">(" + a[0] + ")";
    case op::select:
      return a[0] + " ? " + a[1] + " : " + a[2];
    case op::minimum:
      return "least<" + type + ">(" + both + ")";
    case op::maximum:
      return "largest<" + type + ">(" + both + ")";
    case op::quotient:
      return real ? "std::floor(" + a[0] + " / " + a[1] + ")" : "floor_div<" + type + ">(" + both + ")";
    case op::remainder:
      return (real ? "real_mod<" : "floor_mod<") + type + ">(" + both + ")";
    case op::pow:
      return "std::pow(" + both + ")";
    case op::bit_and:
      return a[0] + " & " + a[1];
    case op::bit_or:
      return a[0] + " | " + a[1];
    case op::bit_xor:
      return a[0] + " ^ " + a[1];
    case op::shift_left:
      return a[0] + " << " + a[1];
    case op::shift_right:
      return a[0] + " >> " + a[1];
    case op::logical_not:
      return "!" + a[0];
    case op::bit_not:
      return "~" + a[0];
    case op::sigmoid:
      return "sigmoid<" + type + ">(" + a[0] + ")";
    case op::sign:
      return "sign<" + type + ">(" + a[0] + ")";
    case op::round:
      return "std::rint(" + a[0] + ")";
    default:
      break;
  }
  if (row(kind).infix != nullptr && g_[n].count == 2) return a[0] + " " + row(kind).infix + " " + a[1];
  if (kind == op::neg) return "-" + a[0];
  return std::string("std::") + row(kind).name + "(" + a[0] + ")";
}

std::string loop_printer::tensor_name(node_id tensor) const {
  if (g_.kind(tensor) == op::input) return "x" + std::to_string(g_[tensor].attribute);
  return "d" + std::to_string(tensor);
}

std::string loop_printer::place(const std::string& tensor, const std::vector<std::string>& subscripts,
                                const std::vector<std::string>& lows, const std::vector<std::string>& extents) const {
  std::string at = "0";
  for (std::size_t k = 0; k < subscripts.size(); ++k) {
    const std::string one = lows[k] == "(long(0))" ? subscripts[k] : "(" + subscripts[k] + " - " + lows[k] + ")";
    at = k == 0 ? one : "(" + at + ") * " + extents[k] + " + " + one;
  }
  return tensor + "[" + at + "]";
}

std::string loop_printer::element(node_id load) {
  const node_id tensor = g_.arg(load, 0);
  std::vector<std::string> subscripts, lows, extents;
  for (int k = 1; k < g_[load].count; ++k) {
    subscripts.push_back(value(g_.arg(load, k)));
    lows.push_back(g_.kind(tensor) == op::define ? value(g_.arg(g_.arg(tensor, k), 0)) : "(long(0))");
    extents.push_back("(" + value(extent(g_, tensor, k - 1)) + ")");
  }
  const std::string at = place(tensor_name(tensor), subscripts, lows, extents);
  if (g_.kind(tensor) == op::input) {
    const std::string number = std::to_string(g_[tensor].attribute);
    say("if constexpr (C) n->touch(" + number + ", reinterpret_cast<const char*>(&" + at +
        ") - reinterpret_cast<const char*>(x" + number + "));");
  }
  return at;
}

// ---- definitions

bool loop_printer::printable() const {
  const reached_nodes reached(g_);
  for (node_id n = 0; n < g_.size(); ++n)
    if (reached[n] && (g_.kind(n) == op::tuple || (g_.kind(n) == op::reduce && is_own(monoid_of(g_, n))))) return false;
  return true;
}

void loop_printer::list_definitions() {
  std::vector<bool> needed(static_cast<std::size_t>(g_.size()), false);
  for (const node_id y : g_.outputs) needed[static_cast<std::size_t>(y)] = true;
  for (node_id n = g_.size(); n-- > 0;)
    if (needed[static_cast<std::size_t>(n)])
      for (int k = 0; k < g_[n].count; ++k) needed[static_cast<std::size_t>(g_.arg(n, k))] = true;
  for (node_id n = 0; n < g_.size(); ++n)
    if (needed[static_cast<std::size_t>(n)] && g_.kind(n) == op::define && !is_inlined(n)) definitions_.push_back(n);
}

// What is cheap is computed where it is used: no sums, no functions.
bool loop_printer::is_inlined(node_id d) const {
  if (g_.kind(d) != op::define || g_.outputs.contains(d)) return false;
  std::vector<node_id> open{g_.arg(d, 0)};
  for (int loads = 0, seen = 0; !open.empty(); ++seen) {
    const node_id n = open.back();
    open.pop_back();
    const op kind = g_.kind(n);
    if (kind == op::reduce || seen > 24) return false;
    if (is_elementwise(kind) && row(kind).cost != op_cost::few) return false;
    if (kind == op::load && ++loads > 3) return false;
    for (int k = kind == op::load ? 1 : 0; k < g_[n].count && kind != op::index && kind != op::extent; ++k)
      open.push_back(g_.arg(n, k));
  }
  return true;
}

loop_printer::range loop_printer::range_of(node_id index) { return {value(g_.arg(index, 0)), value(g_.arg(index, 1))}; }
std::string loop_printer::loop_of(node_id index, const range& r) {
  const std::string i = leaf(index);
  return "for (long " + i + " = " + r.low + "; " + i + " < " + r.high + "; ++" + i + ")";
}

void loop_printer::definition(node_id d) {
  std::string size = "1";
  const int rank = tensor_rank(g_, d);
  for (int k = 0; k < rank; ++k) size += " * std::max(0l, long(" + value(extent(g_, d, k)) + "))";
  const std::string name = tensor_name(d), type = stored_type(g_.type(d));
  if (g_.outputs.contains(d)) {
    int number = g_.inputs.size();
    while (g_.outputs[number - g_.inputs.size()] != d) ++number;
    say(type + "* __restrict " + name + " = static_cast<" + type + "*>(data[" + std::to_string(number) + "]);");
    say("if constexpr (C) n->lines += sizeof(" + type + ") * (" + size + ") / 64.0;");
  } else {
    say("static memory m" + name + "; " + type + "* __restrict " + name + " = static_cast<" + type + "*>(m" + name +
        ".of(sizeof(" + type + ") * (" + size + ")));");
  }
  const node_id body = g_.arg(d, 0);
  tables_in(body, d);
  if (const auto at = tables_.find(body); at != tables_.end() && at->second.first == name) return;
  std::vector<std::string> subscripts, lows, extents;
  for (int k = 0; k < rank; ++k) {
    const node_id index = g_.arg(d, 1 + k);
    const range r = range_of(index);
    extents.push_back("(" + value(extent(g_, d, k)) + ")");
    open((k == 0 ? "#pragma omp parallel for\n" : "") + loop_of(index, r));
    scopes_.back()->bound.insert(g_.ordinal(index));
    subscripts.push_back(leaf(index));
    lows.push_back(r.low);
  }
  say(place(name, subscripts, lows, extents) + " = " + value(body) + ";");
  for (int k = 0; k < rank; ++k) close();
}

std::string loop_printer::function(const std::string& name) {
  if (!printable()) return {};
  list_definitions();
  open("template <bool C> void run_" + name + "(void** data, const long* extents, counts* n)");
  say("(void)extents; (void)n;");
  for (int i = 0; i < g_.inputs.size(); ++i) {
    const std::string type = stored_type(g_.inputs[i].type), k = std::to_string(i);
    say("[[maybe_unused]] const " + type + "* __restrict x" + k + " = static_cast<const " + type + "*>(data[" + k +
        "]);");
  }
  for (const node_id d : definitions_) definition(d);
  close();
  if (failed_) return {};
  std::string text = "namespace {\n" + scopes_.back()->header + "}\n";
  text += "extern \"C\" void fast_" + name + "(void** d, const long* e) { run_" + name + "<false>(d, e, nullptr); }\n";
  text += "extern \"C\" void counted_" + name + "(void** d, const long* e, void* n) { run_" + name +
          "<true>(d, e, static_cast<counts*>(n)); }\n";
  return text;
}

}  // namespace sheaf::bench
