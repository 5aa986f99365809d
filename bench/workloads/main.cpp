// The workload table: W1 to W13 forward and with all gradients, f32, on all cores, each in pairs with the time that
// the bytes it cannot avoid need, and its error against a loop in f64.
// bench_workloads [ID...]: W1 to W13, overlap, kept, window, sum_l1, threads, strict; all of them where none is named.
// --cores N instead: each row as so many cores would run it (support/cores.hpp); --details yes lists its loops.
// At most 2 GB.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "session.hpp"

namespace {
using namespace sheaf::bench;

struct group {
  const char* ids;
  void (*measure)(session&);
};
constexpr group groups[] = {{"W1 W2", gather_means},       {"W3 W4 overlap kept", slice_means},
                            {"W5 W6", matrix_means},       {"W7", pooling},
                            {"W8", layer_norms},           {"W9", softmaxes},
                            {"W10 kept", embedding_bags},       {"W11", segments},
                            {"W12", axis_reductions},      {"W13 window", windows},
                            {"sum_l1 threads", small_work}, {"strict", strict_bits}};

bool is_known(const std::string& id) {
  return std::any_of(std::begin(groups), std::end(groups), [&](const group& g) {
    return (' ' + std::string(g.ids) + ' ').find(' ' + id + ' ') != std::string::npos;
  });
}

}  // namespace

int main(int count, char** words) {
  int cores = 0;
  std::optional<kernel_names> details;
  std::vector<const char*> ids;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    if (word == "--cores" && k + 1 < count)
      cores = std::atoi(words[++k]);
    else if (word == "--details" && k + 1 < count)
      details.emplace(), ++k;
    else if (!is_known(word))
      return std::fprintf(stderr, "bench_workloads: no row %s\n", words[k]), 2;
    else
      ids.push_back(words[k]);
  }
  session s;
  for (const char* const id : ids) s.select(id);
  if (cores > 0)
    s.simulate(cores, details.has_value());
  else
    s.note_bandwidth();
  int failed = 0;
  for (const group& g : groups) try {
      g.measure(s);
    } catch (const std::exception& e) {
      session::progress(nullptr, nullptr, nullptr);
      std::printf("note %s failed: %s\n", g.ids, e.what());
      failed = 1;
    }
  return failed;
}
