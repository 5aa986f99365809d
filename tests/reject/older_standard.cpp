// expect: sheaf: C++20 is needed; compile with -std=c++20
// flags: -std=c++17
#include <sheaf/sheaf.hpp>
