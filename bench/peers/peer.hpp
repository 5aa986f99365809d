// What the C++ peers share: the rows, data, bounds and errors of bench/workloads, measured in the same way with less
// patience.
#pragma once
#include <cstdio>
#include <exception>

#include <workloads/session.hpp>

namespace sheaf::bench {

// Runs the groups one after the other; one that fails says so, and the rest go on.
inline int run_peer(int count, char** words, std::initializer_list<void (*)(session&)> groups) {
  session s;
  s.set_patience(7, 1.5);
  for (int k = 1; k < count; ++k) s.select(words[k]);
  for (const auto measure : groups) try {
      measure(s);
    } catch (const std::exception& e) {
      session::progress(nullptr, nullptr, nullptr);
      std::printf("note failed: %s\n", e.what());
    }
  return 0;
}

}  // namespace sheaf::bench
