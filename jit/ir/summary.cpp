#include <sheaf/jit/ir/summary.hpp>

#include <algorithm>

namespace sheaf::inline v0_1::ir {

namespace {

struct findings {
  std::vector<std::int32_t> prefetched, non_temporal;
  bool size_optimised = false;

  void collect(const block& body) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::prefetch) add(prefetched, s.target);
      if (s.kind == statement_kind::store && s.non_temporal) add(non_temporal, s.target);
      size_optimised = size_optimised || s.size_optimised;
      collect(s.body);
    }
  }
  static void add(std::vector<std::int32_t>& list, std::int32_t buffer) {
    if (std::ranges::find(list, buffer) == list.end()) list.push_back(buffer);
  }
};

std::string names(const module& m, const std::vector<std::int32_t>& list) {
  std::string text;
  for (const std::int32_t b : list) text += (text.empty() ? "" : ", ") + m.buffers[static_cast<std::size_t>(b)].name;
  return text;
}

}  // namespace

std::string summary(const module& m) {
  std::string text;
  for (const kernel& k : m.kernels) {
    findings found;
    found.collect(k.body);
    std::vector<std::string> lines = k.notes;
    if (!found.prefetched.empty()) lines.push_back("prefetches " + names(m, found.prefetched));
    if (!found.non_temporal.empty()) lines.push_back("non-temporal stores to " + names(m, found.non_temporal));
    if (found.size_optimised) lines.push_back("so little work that its short loops are size-optimised");
    if (!lines.empty()) text += "code of kernel " + k.name + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace sheaf::inline v0_1::ir
