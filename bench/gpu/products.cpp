// matmul: products of square matrices of f32, f16 and bf16, and with the gradients of both factors. No bound of the
// device is known to the program: cuBLAS by way of PyTorch is beside them.
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr std::int64_t side = 4096;

// What random numbers are as elements of T.
template <class T>
device_array<T, 2> random_of(gpu_session& s) {
  const auto wide = s.random(-1, 1, side, side);
  device_array<T, 2> made(uninitialized, s.s, side, side);
  constexpr auto cast_of = define<"cast_of">(i, j) = cast<T>(x(i, j));
  compile(cast_of, on(gpu))(x = wide, cast_of = made, on(s.s));
  s.s.synchronise();
  return made;
}

template <class T>
void measure(gpu_session& s, const std::string& name) {
  constexpr auto a = tensor<"a", T, 2>;
  constexpr auto b = tensor<"b", T, 2>;
  constexpr auto y = matmul(a, b);
  const auto left = random_of<T>(s), right = random_of<T>(s), dy = random_of<T>(s);
  device_array<T, 2> into(uninitialized, s.s, side, side), dleft(uninitialized, s.s, side, side),
      dright(uninitialized, s.s, side, side);
  const auto forward = compile(y, on(gpu));
  s.row("matmul", name + ":forward", 0, [&] { forward(a = left, b = right, y = into, on(s.s)); });
  constexpr auto da = vjp(y, a);
  constexpr auto db = vjp(y, b);
  const auto both = compile(y, da, db, on(gpu));
  s.row("matmul", name + ":forward+backward", 0, [&] {
    both(a = left, b = right, cotangent(y) = dy, y = into, da = dleft, db = dright, on(s.s));
  });
}

}  // namespace

void products(gpu_session& s) {
  if (!s.wants("matmul")) return;
  measure<float>(s, "f32");
  measure<float16>(s, "f16");
  measure<bfloat16>(s, "bf16");
}

}  // namespace sheaf::bench
