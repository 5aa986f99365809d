// What a launch does about checks: each holds the smallest position that failed, or MOST. Shown by tests/cuda.
#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

std::vector<bool> written_checks(const ir::module& m, const ir::block& body, std::vector<bool> found) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store && m.buffers[static_cast<std::size_t>(s.target)].where == ir::role::check)
      found[static_cast<std::size_t>(s.target)] = true;
    found = written_checks(m, s.body, std::move(found));
  }
  return found;
}

// The checks of a kernel, or of one that follows in its text, found nothing.
std::string none_found(const function_emitter& f, const std::vector<bool>& own) {
  std::string none;
  for (std::size_t b = 0; b < own.size(); ++b) {
    const auto slot = static_cast<std::size_t>(f.m.buffers[b].slot);
    if (own[b]) none += cat(" *(i64*)words.w[", f.words.first_word[slot], "] = MOST;");
  }
  return none;
}
std::string failed_of(const function_emitter& f, const std::vector<bool>& checks) {
  std::string any;
  for (std::size_t b = 0; b < checks.size(); ++b) {
    const auto slot = static_cast<std::size_t>(f.m.buffers[b].slot);
    if (checks[b]) any += cat(any.empty() ? "" : " || ", "*(i64*)words.w[", f.words.first_word[slot], "] != MOST");
  }
  return any;
}

// Where one of the checks before holds a position, this kernel does nothing but say so, and that its own checks found
// none.
void emit_skip(function_emitter& f, const std::vector<bool>& before, const std::vector<bool>& own) {
  const std::string failed = failed_of(f, before);
  std::string which, none = none_found(f, own);
  int ordinal = 0;
  for (std::size_t b = 0; b < before.size(); ++b) {
    if (f.m.buffers[b].where != ir::role::check) continue;
    const std::string slot =
        cat("*(i64*)words.w[", f.words.first_word[static_cast<std::size_t>(f.m.buffers[b].slot)], "]");
    if (before[b]) which += cat(slot, " != MOST ? fail(words.w[1], words.w[2], ", ordinal, ", ", slot, ") : ");
    ++ordinal;
  }
  if (const std::int32_t off = f.kernel.switched_off; off >= 0)
    none += cat(" *(", stored_type(f.buffer(off).type), "*)words.w[",
                f.words.first_word[static_cast<std::size_t>(f.buffer(off).slot)], "] = 0;");
  if (failed.empty()) return;
  f.open(cat("if (", failed, ")"));
  f.line(cat("if (blockIdx.x == 0 && threadIdx.x == 0) { ", which, "(void)0;", none, end_of_skip));
  f.line("return;");
  f.close();
}

}  // namespace sheaf::inline v0_1::cuda
