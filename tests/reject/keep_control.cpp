// flavour: ok
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
void run(std::vector<float>& values, std::vector<std::int64_t>& ids) {
  const auto program = compile(define<"y">(i) = a(n(i)));
  const auto fixed = program.keep(n = ids);
  program(a = values, fixed);
}
