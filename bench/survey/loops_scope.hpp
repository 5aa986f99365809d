// A scope of printed C++: the loop or condition that it stands in, and what has a name there. See loops.hpp.
#pragma once
#include "loops.hpp"

namespace sheaf::bench {

struct place_in_loops {
  std::string header, code;
  index_set bound;           // of all scopes around it, too
  bool conditional = false;  // an if: what may fail is not computed before it
  std::map<node_id, std::string> names;
  work_counts counts;
};

inline std::string type_in_c(element type) {
  switch (type) {
    case element::boolean:
      return "bool";
    case element::i8:
      return "std::int8_t";
    case element::u8:
      return "std::uint8_t";
    case element::i16:
      return "std::int16_t";
    case element::u16:
      return "std::uint16_t";
    case element::i32:
      return "std::int32_t";
    case element::u32:
      return "std::uint32_t";
    case element::i64:
      return "long";
    case element::u64:
      return "unsigned long";
    case element::f64:
      return "double";
    default:
      return "float";
  }
}
inline std::string stored_type(element type) {
  return type == element::f16 ? "_Float16" : type == element::bf16 ? "bf16" : type_in_c(type);
}

// What runs in the scope at `depth`, as if those inside of it were not open yet.
template <class Work>
void loop_printer::outside(std::size_t depth, Work work) {
  std::vector<std::unique_ptr<scope>> inner;
  while (scopes_.size() > depth + 1) {
    inner.push_back(std::move(scopes_.back()));
    scopes_.pop_back();
  }
  work();
  for (; !inner.empty(); inner.pop_back()) scopes_.push_back(std::move(inner.back()));
}

}  // namespace sheaf::bench
