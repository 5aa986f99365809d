// Compiles one kernel and says so, or says why it could not: "21", or the error's sentence. With an argument, leaves
// for that folder first; with two, names the second as the code generator.
#include <unistd.h>

#include <cstdio>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto v = tensor<"v", float, 1>;

int main(int count, char** arguments) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  try {
    const auto total = compile(define<"total">() = sum(i, v(i)));
    if (count > 1 && chdir(arguments[1]) != 0) return 1;
    if (count > 2) set_code_generator(arguments[2]);
    const float result = total(v = values);
    const statistics s = total.statistics();
    std::printf("%g\n%lld kernel: %lld compiled, %lld from disk\n%s\n", static_cast<double>(result),
                static_cast<long long>(s.kernels), static_cast<long long>(s.compiled),
                static_cast<long long>(s.from_disk), s.cache_says);
    if (count > 2) set_code_generator(nullptr);
  } catch (const error& e) {
    std::puts(e.what());
  }
}
