#include <sheaf/aot/slots.hpp>

#include <algorithm>
#include <map>
#include <string>

#include <sheaf/jit/ir/print.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

// A kernel's text without the names of its code's own arrays, and which these are, in the order of their first use.
struct described_kernel {
  std::string text;
  std::vector<std::size_t> arrays;
};

bool is_own(const ir::buffer& b) { return b.where == ir::role::workspace || b.where == ir::role::check; }

described_kernel described(const ir::module& code, const ir::kernel& kernel) {
  constexpr char mark = '@';
  ir::module alone{.name = {}, .buffers = code.buffers, .folds = code.folds, .kernels = {kernel}};
  alone.kernels[0].name.clear();
  for (std::size_t i = 0; i < alone.buffers.size(); ++i)
    if (is_own(alone.buffers[i])) alone.buffers[i].name = mark + std::to_string(i) + mark;
  const std::string marked = ir::print(alone);
  described_kernel made;
  for (std::size_t at = marked.find("\nkernel"); at < marked.size();) {
    const std::size_t from = std::min(marked.find(mark, at), marked.size());
    made.text.append(marked, at, from - at);
    if (from == marked.size()) break;
    const std::size_t to = marked.find(mark, from + 1);
    const std::size_t array = std::stoul(marked.substr(from + 1, to - from - 1));
    const auto known = std::ranges::find(made.arrays, array);
    made.text += mark + std::to_string(known - made.arrays.begin());
    if (known == made.arrays.end()) made.arrays.push_back(array);
    at = to + 1;
  }
  return made;
}

// The slots of one code's arrays.
class assignment {
 public:
  explicit assignment(std::size_t arrays) : slot_(arrays, -1) {}

  // Where none of these arrays has another slot, and none of these slots another array.
  void take(const std::vector<std::size_t>& arrays, const std::vector<int>& slots) {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const int has = slot_[arrays[k]];
      if (has != slots[k] && (has >= 0 || is_taken(slots[k]))) return;
    }
    for (std::size_t k = 0; k < arrays.size(); ++k) slot_[arrays[k]] = slots[k];
  }
  void take_free(std::size_t array, int first) {
    if (slot_[array] >= 0) return;
    while (is_taken(first)) ++first;
    slot_[array] = first;
  }
  int of(std::size_t array) const { return slot_[array]; }
  std::vector<int> of(const std::vector<std::size_t>& arrays) const {
    std::vector<int> list;
    for (const std::size_t a : arrays) list.push_back(slot_[a]);
    return list;
  }

 private:
  bool is_taken(int slot) const { return std::ranges::find(slot_, slot) != slot_.end(); }
  std::vector<int> slot_;  // by buffer
};

}  // namespace

std::vector<std::vector<int>> share_slots(std::vector<ir::module>& codes, int given) {
  std::map<std::string, std::vector<int>> known;  // slots of a kernel's arrays
  std::vector<std::vector<int>> all;
  for (ir::module& code : codes) {
    std::vector<described_kernel> kernels;
    for (const ir::kernel& k : code.kernels) kernels.push_back(described(code, k));
    std::ranges::stable_sort(kernels, std::ranges::greater{}, [](const described_kernel& k) { return k.text.size(); });
    assignment made(code.buffers.size());
    for (const described_kernel& k : kernels)
      if (const auto at = known.find(k.text); at != known.end()) made.take(k.arrays, at->second);
    std::vector<int> moved;
    for (std::size_t i = 0; i < code.buffers.size(); ++i) {
      ir::buffer& b = code.buffers[i];
      if (!is_own(b)) continue;
      made.take_free(i, given);
      const auto place = static_cast<std::size_t>(b.slot - given);
      moved.resize(std::max(moved.size(), place + 1), -1);
      moved[place] = made.of(i) - given;
      b.slot = made.of(i);
    }
    for (const described_kernel& k : kernels) known.try_emplace(k.text, made.of(k.arrays));
    all.push_back(std::move(moved));
  }
  return all;
}

}  // namespace sheaf::inline v0_1::aot
