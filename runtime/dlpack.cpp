#include <sheaf/runtime/dlpack.hpp>

#include <string>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::dlpack {

namespace {

bool is(const data_type& t, element type) {
  const auto matches = [&](std::uint8_t code, int bits) { return t.code == code && t.bits == bits && t.lanes == 1; };
  switch (type) {
    case element::boolean:
      return matches(code_bool, 8);
    case element::i8:
      return matches(code_int, 8);
    case element::u8:
      return matches(code_uint, 8);
    case element::i16:
      return matches(code_int, 16);
    case element::u16:
      return matches(code_uint, 16);
    case element::u32:
      return matches(code_uint, 32);
    case element::u64:
      return matches(code_uint, 64);
    case element::i32:
      return matches(code_int, 32);
    case element::i64:
      return matches(code_int, 64);
    case element::f16:
      return matches(code_float, 16);
    case element::bf16:
      return matches(code_bfloat, 16);
    case element::f32:
      return matches(code_float, 32);
    case element::f64:
      return matches(code_float, 64);
  }
  return false;
}

std::string text_of(const data_type& t) {
  static constexpr const char* names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string name = t.code < std::size(names) ? names[t.code] : "type " + std::to_string(t.code) + " of ";
  return name + std::to_string(t.bits) + (t.lanes != 1 ? " x " + std::to_string(t.lanes) : "");
}

}  // namespace

void expect(const tensor& t, element type, int rank, bool on_device) {
  if (t.rank != rank)
    runtime::fail(code::rank_mismatch, "tensor from DLPack", "rank " + std::to_string(rank), std::to_string(t.rank));
  if (!is(t.type, type)) runtime::fail(code::bad_argument, "tensor from DLPack", row(type).name, text_of(t.type));
  const std::int32_t where = t.device.type;
  const bool fits = on_device ? where == on_cuda || where == on_cuda_managed
                              : where == on_cpu || where == on_cuda_host || where == on_cuda_managed;
  if (!fits)
    runtime::fail(code::bad_argument, "tensor from DLPack", on_device ? "memory of a GPU" : "memory of the host",
                  "device type " + std::to_string(where));
}

}  // namespace sheaf::inline v0_1::dlpack
