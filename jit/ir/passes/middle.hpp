// Part of pass `partition_loops`: what the integers of a kernel come to in the middle of its loops, where that follows
// from extents. Shown by tests/jit/partition_loops.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

using extent_of = std::function<std::int64_t(const buffer&, int)>;

// What the instructions of a kernel come to in the middle of all loops.
class middle {
 public:
  static constexpr std::int64_t largest = std::int64_t{1} << 40;  // of numbers that are followed
  middle(const module& m, const kernel& k, const extent_of& typical) : m_(m), k_(k), typical_(typical) { find(k.body); }

  void add(const statement& loop) {
    loops_[loop.loop] = {loop.low, loop.high};
    find(loop.body);
  }
  std::optional<std::int64_t> operator()(value v) {
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    known_[v] = std::nullopt;
    return known_[v] = computed(k_.instructions[slot(v)]);
  }

 private:
  static std::size_t slot(std::int32_t v) { return static_cast<std::size_t>(v); }
  void find(const block& body) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::loop)
        add(s);
      else
        find(s.body);
    }
  }
  std::optional<std::int64_t> computed(const instruction& i) {
    if (is_floating(i.type)) return std::nullopt;
    if (i.code == opcode::constant) return i.bits;
    if (i.code == opcode::extent) return typical_(m_.buffers[slot(i.target)], i.dimension);
    if (i.code == opcode::run_end) return (*this)(loops_.at(i.target).second);
    if (i.code == opcode::counter || i.code == opcode::lanes) {
      const auto low = (*this)(loops_.at(i.target).first), high = (*this)(loops_.at(i.target).second);
      return low && high ? std::optional(*low + (*high - *low) / 2) : std::nullopt;
    }
    if (i.code != opcode::elementwise || row(i.what).integer == nullptr) return std::nullopt;
    std::int64_t list[3] = {0, 0, 0};
    for (std::size_t k = 0; k < i.args.size(); ++k) {
      if (is_floating(k_.instructions[slot(i.args[k])].type)) return std::nullopt;
      const auto one = (*this)(i.args[k]);
      if (!one || *one > largest || *one < -largest) return std::nullopt;
      list[k] = *one;
    }
    return row(i.what).integer(list[0], list[1], list[2]);
  }

  const module& m_;
  const kernel& k_;
  const extent_of& typical_;
  std::unordered_map<std::int32_t, std::pair<value, value>> loops_;
  std::unordered_map<value, std::optional<std::int64_t>> known_;
};

}  // namespace sheaf::inline v0_1::ir
