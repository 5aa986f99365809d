// The walk over one kernel that verify() makes: scope, types and vectorness of what stands in it. What is said of
// accumulators stands in verify_folds.cpp.
#pragma once
#include <bit>
#include <string>

#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::ir {

class kernel_verifier {
 public:
  kernel_verifier(const module& m, const kernel& k)
      : m_(m),
        k_(k),
        defined_(k.instructions.size()),
        visible_(k.instructions.size()),
        width_(k.instructions.size()),
        entered_(k.loop_names.size()),
        open_(k.loop_names.size()) {}

  bool run() {
    parallel_at_top();
    walk(k_.body, true);
    return stores_check_;
  }
  bool stores_output() const { return stores_output_; }

 private:
  [[noreturn]] void fail(const char* rule, const std::string& why) const {
    std::string where = ": kernel " + k_.name;
    if (current_ != none) {
      where += ", instruction " + std::to_string(current_) + " (" + name_of(at(current_).code);
      if (at(current_).code == opcode::elementwise) where += std::string(" ") + name_of(at(current_).what);
      where += ")";
    } else if (place_) {
      where += std::string(", ") + place_;
    }
    throw bad_ir(rule + where + ": " + why);
  }
  void require(bool holds, const char* rule, const char* why) const {
    if (!holds) fail(rule, why);
  }
  const instruction& at(value v) const { return k_.instructions[static_cast<std::size_t>(v)]; }

  const instruction& use(value v) const {
    if (v < 0 || v >= static_cast<value>(k_.instructions.size())) fail("scope", "no such value: " + std::to_string(v));
    if (!visible_[static_cast<std::size_t>(v)])
      fail("scope", "value " + std::to_string(v) + " is not defined before, here or around here");
    return at(v);
  }
  // A value with a content: an accumulator has none of its own, it is read.
  const instruction& operand(value v) const {
    const instruction& i = use(v);
    require(i.code != opcode::accumulator, "accumulators",
            "an accumulator is used as a value; expected read or fold_lanes");
    require(!i.vector || lanes_, "vectorness", "a vector is used outside a vector loop");
    return i;
  }
  const instruction& scalar_i64(value v, const char* why) const {
    const instruction& i = operand(v);
    require(i.type == element::i64 && !i.vector, "types", why);
    return i;
  }
  const instruction& accumulator(value v) const {
    const instruction& i = use(v);
    require(i.code == opcode::accumulator, "accumulators", "expected an accumulator");
    return i;
  }
  const buffer& target_buffer(std::int32_t id) const {
    if (id < 0 || id >= static_cast<std::int32_t>(m_.buffers.size())) fail("module_shape", "no such buffer");
    return m_.buffers[static_cast<std::size_t>(id)];
  }

  void parallel_at_top() {
    for (std::size_t n = 0; n < k_.body.size(); ++n) {
      if (k_.body[n].kind != statement_kind::loop || k_.body[n].how_loop != loop_kind::parallel) continue;
      place_ = "parallel loop";
      require(n + 1 == k_.body.size(), "parallel_at_top", "expected nothing after it");
      for (std::size_t before = 0; before < n; ++before) {
        const statement& s = k_.body[before];
        const bool instruct =
            s.kind == statement_kind::instruct && s.id >= 0 && s.id < static_cast<value>(k_.instructions.size());
        require(instruct && at(s.id).code != opcode::accumulator, "parallel_at_top",
                "expected only pure instructions before it");
      }
    }
    place_ = nullptr;
  }

  void walk(const block& body, bool top) {
    std::vector<value> mine;
    for (const statement& s : body) {
      current_ = none;
      place_ = nullptr;
      switch (s.kind) {
        case statement_kind::instruct:
          instruct(s.id);
          mine.push_back(s.id);
          break;
        case statement_kind::loop:
          loop(s, top);
          break;
        case statement_kind::guard:
          guard(s);
          break;
        case statement_kind::store:
          store(s);
          break;
        case statement_kind::prefetch:
          place_ = "prefetch";
          require(s.how == access::contiguous, "access_kind", "expected contiguous lanes");
          subscripts(target_buffer(s.target), s.subscripts, s.how, unit_inner(target_buffer(s.target)));
          break;
        case statement_kind::combine:
          combine(s);
          break;
      }
    }
    for (value v : mine) visible_[static_cast<std::size_t>(v)] = false;
  }

  void instruct(value id) {
    if (id < 0 || id >= static_cast<value>(k_.instructions.size()))
      fail("scope", "no such instruction: " + std::to_string(id));
    const auto n = static_cast<std::size_t>(id);
    current_ = id;
    require(!defined_[n], "scope", "defined twice");
    const instruction& i = at(id);
    require(!i.vector || lanes_ || i.code == opcode::accumulator, "vectorness", "a vector outside a vector loop");
    switch (i.code) {
      case opcode::elementwise:
        elementwise(i);
        break;
      case opcode::constant:
        break;
      case opcode::extent:
        extent(i);
        break;
      case opcode::counter:
        counter(i, false);
        break;
      case opcode::lanes:
        counter(i, true);
        break;
      case opcode::pattern:
        require(i.type == element::boolean && i.vector, "types", "a pattern is a vector of booleans");
        require(i.dimension > 0 && i.dimension <= 32 && (i.dimension & (i.dimension - 1)) == 0, "module_shape",
                "no such period");
        break;
      case opcode::load:
        load(i);
        break;
      case opcode::accumulator:
        declare(i, n);
        break;
      case opcode::read:
      case opcode::fold_lanes:
        read(i);
        break;
      case opcode::scan_lanes:
        scan(i);
        break;
      case opcode::recur_lanes:
        recur(i);
        break;
      case opcode::slide_lanes:
      case opcode::shift_lanes:
        slide(i);
        break;
    }
    defined_[n] = visible_[n] = true;
    current_ = none;
  }

  void elementwise(const instruction& i) {
    require(is_elementwise(i.what), "arity", "not an elementwise op");
    require(static_cast<int>(i.args.size()) == arity(i.what), "arity", "wrong number of arguments");
    bool vector = false;
    for (value v : i.args) vector |= operand(v).vector;
    require(vector == i.vector, "vectorness", "expected a vector exactly where an argument is one");
    op_types(i);
  }
  void op_types(const instruction& i) {
    const element a = at(i.args[0]).type, b = at(i.args.size() > 1 ? i.args[1] : i.args[0]).type;
    const bool comparison = i.what >= op::equal && i.what <= op::less_equal;
    const bool logic = i.what == op::logical_and || i.what == op::logical_or || i.what == op::logical_not;
    if (i.what == op::cast) return;
    if (i.what == op::select) {
      require(a == element::boolean, "types", "the condition is not boolean");
      require(b == i.type && at(i.args[2]).type == i.type, "types", "the two choices and the result differ in type");
      return;
    }
    require(a == b, "types", "arguments of different types");
    require(i.type == (comparison || logic ? element::boolean : a), "types", "the result has the wrong type");
    require(!logic || a == element::boolean, "types", "expected boolean arguments");
    const bool integers_too = comparison || logic || i.what == op::minimum || i.what == op::maximum;
    require(integers_too || a != element::boolean, "types", "no arithmetic on booleans");
    require(!float_only(i.what) || is_floating(a), "types", "expected floating arguments");
  }
  static int arity(op what) { return what == op::select ? 3 : what >= op::add ? 2 : 1; }
  static bool float_only(op what) { return (what >= op::exp && what <= op::cos) || what == op::div || what == op::pow; }

  void extent(const instruction& i) {
    const buffer& b = target_buffer(i.target);
    require(i.type == element::i64 && !i.vector, "types", "an extent is a scalar i64");
    require(i.dimension >= 0 && i.dimension < b.rank, "module_shape", "no such dimension");
  }
  void counter(const instruction& i, bool lanes) {
    const bool known = i.target >= 0 && i.target < static_cast<std::int32_t>(open_.size());
    require(known && open_[static_cast<std::size_t>(i.target)], "scope", "its loop is not around it");
    require(i.type == element::i64 && i.vector == lanes, "types", "counter is a scalar i64, lanes a vector of i64");
    require(!lanes || i.target == vector_loop_, "vectorness", "lanes of a loop that is not the vector loop");
  }

  void subscripts(const buffer& b, const std::vector<value>& list, access how, bool unit_known) {
    require(static_cast<int>(list.size()) == b.rank, "access_kind", "subscripts are not as many as dimensions");
    bool vector = false;
    for (value v : list) {
      require(operand(v).type == element::i64, "types", "a subscript is not i64");
      vector |= at(v).vector;
    }
    require(how == access::uniform || lanes_, "access_kind", "lanes outside a vector loop");
    require(vector == (how == access::gather), "access_kind",
            "expected a vector subscript for gather, and only for gather");
    const bool row = how == access::contiguous || how == access::strided || how == access::spread;
    require(!row || b.rank > 0, "access_kind", "expected a dimension to go along");
    require((how != access::contiguous && how != access::spread) || unit_known, "access_kind",
            "contiguous along a dimension not known to have stride 1");
  }
  void mask(value v, bool vector) {
    if (v == none) return;
    const instruction& i = operand(v);
    require(i.type == element::boolean, "mask", "not boolean");
    require(!i.vector || vector, "mask", "a vector mask on a scalar");
  }
  static bool unit_inner(const buffer& b) { return b.unit_inner || b.where == role::local; }

  void load(const instruction& i) {
    const buffer& b = target_buffer(i.target);
    require(i.type == b.type, "types", "expected the buffer's type");
    require(i.vector == (i.how != access::uniform), "vectorness", "expected a vector exactly where lanes are loaded");
    subscripts(b, i.args, i.how, unit_inner(b));
    mask(i.mask, i.vector);
    const spacing& a = i.apart;
    require(a.step > 0 && a.repeat > 0 && a.phase >= 0 && a.phase < a.repeat && a.skew >= 0 && a.skew < a.step &&
                (!a.whole || a.repeat == 1),
            "access_kind", "lanes are not spread so");
  }
  void store(const statement& s) {
    place_ = "store";
    const buffer& b = target_buffer(s.target);
    require(b.where != role::input, "module_shape", "a store to an input");
    (b.where == role::check ? stores_check_ : stores_output_) |= b.where == role::check || b.where == role::output;
    const instruction& x = operand(s.stored);
    require(x.type == b.type, "types", "expected the buffer's type");
    require(!x.vector || s.how != access::uniform, "vectorness", "a vector stored to one element");
    require(s.how != access::spread, "access_kind", "only loads are spread");
    subscripts(b, s.subscripts, s.how, unit_inner(b));
    mask(s.mask, s.how != access::uniform);
  }

  // verify_folds.cpp
  void declare(const instruction& i, std::size_t n);
  std::int32_t values_of(const instruction& a) const;
  const own_fold& part_of(const instruction& a, std::int32_t k) const;
  void read(const instruction& i);
  void scan(const instruction& i);
  void recur(const instruction& i);
  void slide(const instruction& i);
  void one_width(value accumulator);
  void combine(const statement& s);

  void guard(const statement& s) {
    place_ = "guard";
    const instruction& condition = operand(s.id);
    require(condition.type == element::boolean && !condition.vector, "mask", "expected a scalar boolean");
    walk(s.body, false);
  }
  void loop(const statement& s, bool top) {
    place_ = name_of(s.how_loop);
    const bool known = s.loop >= 0 && s.loop < static_cast<std::int32_t>(entered_.size());
    require(known && !entered_[static_cast<std::size_t>(s.loop)], "loop_nesting", "no such loop, or entered twice");
    scalar_i64(s.low, "the low bound is not a scalar i64");
    scalar_i64(s.high, "the high bound is not a scalar i64");
    require(s.how_loop != loop_kind::parallel || top, "parallel_at_top", "expected at the top of the kernel");
    require(!s.backward || s.how_loop != loop_kind::parallel, "loop_nesting", "a parallel loop has no direction");
    require(!s.backward || s.unroll == 1, "loop_nesting", "a backward loop is not unrolled");
    const bool vector = s.how_loop == loop_kind::vector;
    require(!vector || !lanes_, "loop_nesting", "a vector loop inside another");
    const bool power = s.lanes >= 2 && s.lanes <= 256 && std::has_single_bit(static_cast<unsigned>(s.lanes));
    require(vector ? power : s.lanes == 1, "loop_nesting",
            "lanes are a power of two, 2 to 256, for a vector loop, else 1");
    require(s.unroll >= 1 && s.unroll <= 16 && (s.unroll == 1 || s.how_loop == loop_kind::serial), "loop_nesting",
            "unroll is 1 to 16, for serial loops");
    require(!s.brief || vector, "loop_nesting", "only a vector loop is brief");
    entered_[static_cast<std::size_t>(s.loop)] = open_[static_cast<std::size_t>(s.loop)] = true;
    if (vector) lanes_ = s.lanes, vector_loop_ = s.loop;
    walk(s.body, false);
    if (vector) lanes_ = 0, vector_loop_ = -1;
    open_[static_cast<std::size_t>(s.loop)] = false;
  }

  const module& m_;
  const kernel& k_;
  std::vector<bool> defined_, visible_;
  std::vector<int> width_;  // of accumulators: the lanes they are combined from, once known
  std::vector<bool> entered_, open_;
  int lanes_ = 0;  // of the vector loop around here
  std::int32_t vector_loop_ = -1;
  value current_ = none;
  const char* place_ = nullptr;
  bool stores_check_ = false, stores_output_ = false;
};

// verify_folds.cpp
void check_folds(const module& m);

}  // namespace sheaf::ir
