#include <sheaf/jit/engine/program_kernels.hpp>

#include <algorithm>
#include <bit>

namespace sheaf::inline v0_1::jit {

namespace {

// Calls of other extents take about a kilobyte each, and less than a microsecond to be prepared again.
constexpr std::size_t most_calls = 256;
constexpr std::size_t most_near = 64;  // classes that are asked first

}  // namespace

// Who holds `lock` may take the locks of programs, not the other way round. Never destroyed: programs may be static.
struct program_kernels::process {
  std::mutex lock;
  std::vector<program_kernels*> programs;
  std::atomic<std::int64_t> count = 0, bytes = 0;
};
program_kernels::process& program_kernels::all() {
  static process& once = *new process;
  return once;
}

program_kernels::program_kernels(runtime::limit most) : table(most_calls), most_(most) {
  const std::lock_guard guard(all().lock);
  all().programs.push_back(this);
}
program_kernels::~program_kernels() {
  const std::lock_guard guard(all().lock);
  std::erase(all().programs, this);
  all().count -= static_cast<std::int64_t>(classes_.size());
  all().bytes -= bytes_;
}

std::shared_ptr<const shape_class> program_kernels::serving(std::span<const std::int64_t> layout,
                                                            std::span<const std::int64_t> extents) {
  std::uint64_t hash = 0;
  const auto take = [&](std::uint64_t n) { hash = (hash ^ n) * 0x9E3779B97F4A7C15u, hash ^= hash >> 32; };
  for (const std::int64_t n : layout) take(static_cast<std::uint64_t>(n));
  for (const std::int64_t n : extents) take(static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(n))));
  std::vector<std::uint16_t>& near = hints_[hash % most_hints];
  for (std::size_t h = 0; h < near.size(); ++h) {
    const layout_class& c = classes_[near[h]];
    if (!std::ranges::equal(c.layout, layout) || !c.code->serves_again(extents)) continue;
    if (h > 0) std::swap(near[h], near[h - 1]);  // those that serve more often are asked sooner
    return c.code;
  }
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    const layout_class& c = classes_[k];
    if (!std::ranges::equal(c.layout, layout) || !c.code->serves(extents)) continue;
    if (near.size() == most_near) near.pop_back();
    if (k <= UINT16_MAX) near.push_back(static_cast<std::uint16_t>(k));
    return c.code;
  }
  return nullptr;
}

void program_kernels::remove(std::size_t place) {
  const auto size = static_cast<std::int64_t>(classes_[place].code->bytes());
  bytes_ -= size, all().bytes -= size;
  --all().count, ++evicted_;
  classes_.erase(classes_.begin() + static_cast<std::ptrdiff_t>(place));
  for (auto& near : hints_) near.clear();
  table.reclaim();  // where nobody reads, the first looks and the second frees
  table.reclaim();
}

bool program_kernels::drop(const shape_class* of) {
  const auto at = std::ranges::find(classes_, of, [](const layout_class& c) { return c.code.get(); });
  if (at == classes_.end() || !of->may_go() || !table.drop(*of)) return false;
  remove(static_cast<std::size_t>(at - classes_.begin()));
  return true;
}

void program_kernels::add(std::vector<std::int64_t> layout, std::shared_ptr<const shape_class> code) {
  const auto size = static_cast<std::int64_t>(code->bytes());
  bytes_ += size, all().bytes += size, ++all().count;
  code->used = kernel_table::now() + 1;
  const shape_class* const added = code.get();
  classes_.push_back({std::move(layout), std::move(code)});
  std::vector<std::pair<std::uint64_t, const shape_class*>> list;
  const auto passed = [&] { return most_.is_passed_by(static_cast<std::int64_t>(classes_.size()), bytes_); };
  if (!passed()) return;
  for (const layout_class& c : classes_)
    if (c.code.get() != added) list.emplace_back(table.last_use(*c.code), c.code.get());
  std::sort(list.begin(), list.end());
  for (std::size_t k = 0; k < list.size() && passed(); ++k) drop(list[k].second);
}

// An eighth is left free, for it takes a look at all there are.
void program_kernels::keep_process_within(const runtime::limit& most) {
  process& whole = all();
  if (!most.is_passed_by(whole.count, whole.bytes)) return;
  struct candidate {
    std::uint64_t used;
    program_kernels* program;
    const shape_class* code;
  };
  std::vector<candidate> list;
  const std::lock_guard guard(whole.lock);
  for (program_kernels* p : whole.programs) {
    const std::lock_guard own(p->lock);
    for (const layout_class& c : p->classes_) list.push_back({p->table.last_use(*c.code), p, c.code.get()});
  }
  std::ranges::sort(list, {}, &candidate::used);
  if (!list.empty()) list.pop_back();  // what was asked for just now
  for (const candidate& c : list) {
    if (!most.is_passed_by(whole.count + most.count / 8, whole.bytes + most.bytes / 8)) break;
    const std::lock_guard own(c.program->lock);
    c.program->drop(c.code);
  }
}

}  // namespace sheaf::inline v0_1::jit
