// The state of checking one kernel. verify.cpp walks statements, verify_values.cpp checks the values they make,
// verify_folds.cpp what is said of accumulators, verify_tiles.cpp what groups of a GPU fold together.
#pragma once
#include <string>

#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::inline v0_1::ir {

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

  // Does it store to a check?
  bool run();
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

  static bool unit_inner(const buffer& b) { return b.unit_inner || b.where == role::local; }

  // verify.cpp
  void parallel_at_top();
  void walk(const block& body, bool top);
  void subscripts(const buffer& b, const std::vector<value>& list, access how, bool unit_known);
  void mask(value v, bool vector);
  void store(const statement& s);
  void append(const statement& s);
  void guard(const statement& s);
  void loop(const statement& s, bool top);

  // verify_tiles.cpp
  void copy(const statement& s);
  void mma(const statement& s);
  void panel(std::int32_t id, const mma_form& tile, bool along, std::int64_t places);

  // verify_values.cpp
  void instruct(value id);
  void check(const instruction& i, value id);
  void elementwise(const instruction& i);
  void op_types(const instruction& i);
  void extent(const instruction& i);
  void counter(const instruction& i, bool lanes);
  void pattern(const instruction& i);
  void next_places(const instruction& i);
  void load(const instruction& i);

  // verify_folds.cpp
  void declare(const instruction& i, value id);
  void read(const instruction& i);
  void scan(const instruction& i);
  void scan_state(const instruction& i, const instruction& a);
  void recur(const instruction& i);
  void slide(const instruction& i);
  void one_width(value accumulator);
  void combine(const statement& s);
  std::int32_t values_of(const instruction& a) const;
  const own_fold& part_of(const instruction& a, std::int32_t k) const;

  const module& m_;
  const kernel& k_;
  std::vector<bool> defined_, visible_;
  std::vector<int> width_;  // of accumulators: the lanes they are combined from, once known
  std::vector<bool> entered_, open_;
  int lanes_ = 0;  // of the vector loop around here
  std::int32_t unroll_ = 1;  // of the loop whose body this is
  std::int32_t vector_loop_ = -1, at_once_ = -1;
  value current_ = none;
  const char* place_ = nullptr;
  bool stores_check_ = false, stores_output_ = false;
};

void check_folds(const module& m);

}  // namespace sheaf::inline v0_1::ir
