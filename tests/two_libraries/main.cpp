// Two libraries, each with a Sheaf of its own, and a program with one too: that of library a.
#include <cstdio>

#include <sheaf/sheaf.hpp>

float filled_a();
float filled_b();
void wrong_a();
void wrong_b();

template <class Error>
void said(void (*wrong)()) {
  try {
    wrong();
  } catch (const Error& e) {
    std::puts(e.what());
  }
}

int main() {
  const double a = static_cast<double>(filled_a()), b = static_cast<double>(filled_b());
  std::printf("%g %g %g\n", a, b, static_cast<double>(filled_a()));
  said<sheaf::error>(wrong_a);
  said<std::exception>(wrong_b);
  sheaf::array<float, 1> own(1);
  own.fill(1);
  std::printf("%g\n", static_cast<double>(own(0)));
}
