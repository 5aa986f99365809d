// Element types: their names, sizes and classes. Shown by tests/numeric/types.cpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1 {

// In the order of promotion: of two of one kind the later one is wider.
enum class element : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

struct element_row {
  element type;
  const char* name;
  int bytes;
  bool floating;
  bool integer;  // boolean is neither
};

SHEAF_HIDDEN inline constexpr element_row element_rows[] = {
    {element::boolean, "bool", 1, false, false}, {element::i8, "i8", 1, false, true},
    {element::u8, "u8", 1, false, true},         {element::i16, "i16", 2, false, true},
    {element::u16, "u16", 2, false, true},       {element::i32, "i32", 4, false, true},
    {element::u32, "u32", 4, false, true},       {element::i64, "i64", 8, false, true},
    {element::u64, "u64", 8, false, true},       {element::f16, "f16", 2, true, false},
    {element::bf16, "bf16", 2, true, false},     {element::f32, "f32", 4, true, false},
    {element::f64, "f64", 8, true, false},
};

SHEAF_HIDDEN constexpr const element_row& row(element type) { return element_rows[static_cast<int>(type)]; }
SHEAF_HIDDEN constexpr bool is_floating(element type) { return row(type).floating; }
// Computed in f32, and rounded where it is stored.
SHEAF_HIDDEN constexpr bool is_half(element type) { return type == element::f16 || type == element::bf16; }
SHEAF_HIDDEN constexpr bool is_integer(element type) { return row(type).integer; }
SHEAF_HIDDEN constexpr bool is_unsigned(element type) {
  return type == element::u8 || type == element::u16 || type == element::u32 || type == element::u64;
}

// As PyTorch promotes: the wider of a kind, floating over integer over boolean; f16 with bf16 is f32, and an unsigned
// integer with a signed one that is no wider the signed one that holds both, as u8 with i8 is i16; u64 with any is i64.
SHEAF_HIDDEN constexpr element promote(element a, element b) {
  if (a == b) return a;
  if ((a == element::f16 && b == element::bf16) || (a == element::bf16 && b == element::f16)) return element::f32;
  if (is_integer(a) && is_integer(b) && is_unsigned(a) != is_unsigned(b)) {
    const element plain = is_unsigned(a) ? a : b, with_sign = is_unsigned(a) ? b : a;
    if (row(with_sign).bytes > row(plain).bytes) return with_sign;
    return plain == element::u8 ? element::i16 : plain == element::u16 ? element::i32 : element::i64;
  }
  return a > b ? a : b;
}

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
SHEAF_ELEMENT(std::int16_t, i16)
SHEAF_ELEMENT(std::uint16_t, u16)
SHEAF_ELEMENT(std::int32_t, i32)
SHEAF_ELEMENT(std::uint32_t, u32)
SHEAF_ELEMENT(std::int64_t, i64)
SHEAF_ELEMENT(std::uint64_t, u64)
SHEAF_ELEMENT(float16, f16)
SHEAF_ELEMENT(bfloat16, bf16)
SHEAF_ELEMENT(float, f32)
SHEAF_ELEMENT(double, f64)
// Of `long` and `long long` the one that is not std::int64_t has the same elements.
using other_int64 = std::conditional_t<std::is_same_v<std::int64_t, long>, long long, long>;
using other_uint64 = std::make_unsigned_t<other_int64>;
SHEAF_ELEMENT(other_int64, i64)
SHEAF_ELEMENT(other_uint64, u64)
#undef SHEAF_ELEMENT

}  // namespace sheaf::inline v0_1
