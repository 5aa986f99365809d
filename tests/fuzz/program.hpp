// A generated program as a value: what the generator makes, the printers write and the shrinker cuts. Trees are shared
// and never change. Input, output: none, this is data. Shown by tests/fuzz/main.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::fuzz {

struct expression;
using term = std::shared_ptr<const expression>;

// index; index.in(low, high, step); each followed by .where(condition). Null: not written.
struct domain {
  std::string index;
  term low, high, step, condition;
};

enum class form : std::uint8_t {
  number,  // value; a literal without a type
  truth,   // value: true or false
  index,   // name
  load,    // name: a tensor; args: its subscripts; access; of padded, extra is what stands outside
  extent,  // name: a tensor; value: the dimension
  call,    // name: a function or an operator; args
  cast,    // type; args[0]
  reduce,  // name: sum, ...; policies; domains; args[0]
  fold,    // name: a monoid; value: which of its values; policies; domains; args: the element's values
};

struct expression {
  form kind = form::number;
  std::string name;
  element type = element::i64;
  bool weak = false;  // a literal, which takes the type of what it meets
  double value = 0;
  std::vector<term> args{};
  std::string access{};  // padded, clamped, ...; empty: x(i)
  term extra{};
  std::vector<domain> domains{};
  std::vector<std::string> policies{};
};

// What the values of an input mean, so that most subscripts are inside.
enum class role : std::uint8_t {
  values,     // any
  positions,  // of a dimension of the size `target`
  ranges,     // rows [begin, end) of it; the last dimension has two
  offsets,    // rows [o(m), o(m + 1)) of it
};

struct rule {  // custom NAME by `by`(indices) = body; `cotangent` is a load of the tensor "cotangent"
  std::string by;
  std::vector<std::string> indices;
  term body;
};

enum class origin : std::uint8_t { input, definition, derivative };

struct symbol {
  origin from = origin::input;
  std::string name;
  element type = element::f32;
  std::vector<int> dims;  // of each dimension: a size of the program
  // input
  role means = role::values;
  int target = -1;
  bool fixed = false;  // its extents are written in the program
  std::string of;      // cotangent(of) or tangent(of): not declared
  // definition
  std::vector<domain> indices;  // low is 0 where high is written
  term body;
  std::vector<rule> rules;
  // derivative: what(y, x) or what(y, x, along)
  std::string what, y, x, along;
};

struct output {
  std::string name;  // of a symbol
  term scalar;       // or an expression
};

enum class flavour : std::uint8_t {
  exact,   // small dyadic numbers and operations that keep them: results are compared bit for bit
  smooth,  // differentiable almost everywhere, in f64: gradients are compared with differences
  mixed,   // all types and functions
  wild,    // infinities, NaN, denormals, huge numbers
};

struct program {
  std::uint64_t seed = 0;
  flavour kind = flavour::mixed;
  element main = element::f32;
  std::vector<std::int64_t> sizes;
  std::vector<symbol> symbols;  // each after what it names
  std::vector<int> monoids;     // rows of monoids.hpp
  std::vector<output> outputs;

  const symbol* find(const std::string& name) const {
    for (const symbol& s : symbols)
      if (s.name == name) return &s;
    return nullptr;
  }
};

// ---- making terms; types follow the rules of the language

term number(double value);
term truth(bool value);
term index(const std::string& name);
term load(const symbol& s, std::vector<term> subscripts, std::string access = "", term extra = nullptr);
term extent(const symbol& s, int dimension);
term cast(element type, term e);
term call(const std::string& name, std::vector<term> args);
term reduce(const std::string& name, std::vector<domain> domains, term body, std::vector<std::string> policies = {});
term fold(const std::string& name, element type, int component, std::vector<domain> domains, std::vector<term> values,
          std::vector<std::string> policies = {});

inline term operator+(term a, term b) { return call("+", {a, b}); }
inline term operator-(term a, term b) { return call("-", {a, b}); }
inline term operator*(term a, term b) { return call("*", {a, b}); }

// ---- walking

// All direct parts of a term, those of domains too.
void each_part(const expression& e, const std::function<void(const term&)>& visit);
// The same term with every direct part replaced.
term with_parts(const expression& e, const std::function<term(const term&)>& replaced);
int size_of(const term& e);
bool names_index(const term& e, const std::string& index);
term substituted(const term& e, const std::string& index, const term& value);
// Does a tensor in e stand with the index alone as a subscript, which gives it its extent?
bool subscripts_alone(const term& e, const std::string& index);
// The symbols that a symbol or a term names directly.
void list_names(const symbol& s, std::vector<std::string>& names);
void list_names(const term& e, std::vector<std::string>& names);
// Only what the outputs need.
program needed(const program& p);

// ---- printing

std::string text_of(const program& p);
std::string text_of(const program& p, const term& e);

}  // namespace sheaf::fuzz
