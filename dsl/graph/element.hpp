// Element types: their names, sizes and classes. Shown by tests/numeric/types.cpp.
#pragma once
#include <cstdint>

#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1 {

enum class element : std::uint8_t { boolean, i8, u8, i32, i64, f16, bf16, f32, f64 };

struct element_row {
  element type;
  const char* name;
  int bytes;
  bool floating;
  bool integer;  // boolean is neither
};

SHEAF_HIDDEN inline constexpr element_row element_rows[] = {
    {element::boolean, "bool", 1, false, false}, {element::i8, "i8", 1, false, true},
    {element::u8, "u8", 1, false, true},         {element::i32, "i32", 4, false, true},
    {element::i64, "i64", 8, false, true},       {element::f16, "f16", 2, true, false},
    {element::bf16, "bf16", 2, true, false},     {element::f32, "f32", 4, true, false},
    {element::f64, "f64", 8, true, false},
};

SHEAF_HIDDEN constexpr const element_row& row(element type) { return element_rows[static_cast<int>(type)]; }
SHEAF_HIDDEN constexpr bool is_floating(element type) { return row(type).floating; }
SHEAF_HIDDEN constexpr bool is_integer(element type) { return row(type).integer; }

// 16-bit floats are stored as their bits; arithmetic on them happens in f32.
struct float16 {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};

template <class T>
inline constexpr bool is_element = false;
template <class T>
SHEAF_HIDDEN inline constexpr element element_of{};

#define SHEAF_ELEMENT(Type, Name)                 \
  template <>                                     \
  inline constexpr bool is_element<Type> = true;  \
  template <>                                     \
  SHEAF_HIDDEN inline constexpr element element_of<Type> = element::Name;
SHEAF_ELEMENT(bool, boolean)
SHEAF_ELEMENT(std::int8_t, i8)
SHEAF_ELEMENT(std::uint8_t, u8)
SHEAF_ELEMENT(std::int32_t, i32)
SHEAF_ELEMENT(std::int64_t, i64)
SHEAF_ELEMENT(float16, f16)
SHEAF_ELEMENT(bfloat16, bf16)
SHEAF_ELEMENT(float, f32)
SHEAF_ELEMENT(double, f64)
#undef SHEAF_ELEMENT

}  // namespace sheaf::inline v0_1
