// Copies into panels of shared memory, and tiles of sums that warps multiply, or four at once; see ir::mma_form,
// prelude_mma.cpp and prelude_warpgroup.cpp.
// What threads store to a panel is seen after an await, so nobody meets around the stores themselves.
#include <algorithm>
#include <span>

#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

std::string place_in(function_emitter& f, std::int32_t buffer, const std::vector<ir::value>& places) {
  std::string text = cat("b", buffer);
  for (std::size_t d = 0; d < places.size(); ++d) text += cat(" + ", f.ref(places[d]), " * b", buffer, "_s", d);
  return text;
}

const ir::statement* first_mma(const ir::block& body) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::mma) return &s;
    if (const ir::statement* const found = first_mma(s.body)) return found;
  }
  return nullptr;
}

}  // namespace

bool has_copies(const ir::block& body) {
  return std::any_of(body.begin(), body.end(),
                     [](const ir::statement& s) { return s.kind == ir::statement_kind::copy || has_copies(s.body); });
}
bool has_mma(const ir::block& body) {
  return std::any_of(body.begin(), body.end(),
                     [](const ir::statement& s) { return s.kind == ir::statement_kind::mma || has_mma(s.body); });
}
bool multiplies_by_warpgroups(const ir::block& body) {
  const ir::statement* const s = first_mma(body);
  return s != nullptr && s->tile.by_warpgroups;
}

// Those next to each other are made without waiting where all of them can be.
void emit_copies(function_emitter& f, std::span<const ir::statement> copies) {
  if (f.held(f.lanes) != 1) throw compile_error("a copy is a run of each thread");
  std::string places;  // of all runs
  std::vector<std::string> arguments;
  for (const ir::statement& s : copies) {
    const auto moving = f.pointer_of.find(&s);
    const std::string from = moving == f.pointer_of.end() ? place_in(f, s.target, s.subscripts) : moving->second;
    if (s.how != ir::access::gather) places += cat(places.empty() ? "" : " | ", "(u64)(", from, ")");
    arguments.push_back(cat("(", place_in(f, s.to, s.places), ", ", from));
  }
  const ir::statement& first = copies.front();
  if (first.mask != ir::none) f.open(cat("if (", f.ref(first.mask), ")"));
  for (std::size_t n = 0; n < copies.size(); ++n)
    if (copies[n].how == ir::access::gather) f.line(cat("copy_element", arguments[n], ");"));
  if (!places.empty()) {
    const std::string all_whole = first.all_whole == ir::none ? "false" : f.ref(first.all_whole);
    f.open(cat("if (", all_whole, " & (", places, ") % 16 == 0)"));
    for (std::size_t n = 0; n < copies.size(); ++n)
      if (copies[n].how != ir::access::gather) f.line(cat("copy_whole_run", arguments[n], ");"));
    f.close();
    f.open("else");
    for (std::size_t n = 0; n < copies.size(); ++n)
      if (copies[n].how != ir::access::gather)
        f.line(cat("copy_run", arguments[n], ", ", f.ref(copies[n].stored), ");"));
    f.close();
  }
  if (first.mask != ir::none) f.close();
  if (multiplies_by_warpgroups(f.kernel.body)) f.line("commit_copies();");
}

namespace {

// In the order in which instructions have them.
std::vector<std::string> cells_of(const ir::statement& mma) {
  const auto rows = static_cast<std::size_t>(mma.tile.results_of_rows), columns = mma.more.size() / rows;
  std::vector<std::string> cells;
  for (std::size_t r = 0; r < rows; r += 2)
    for (std::size_t c = 0; c < columns; c += 2)
      for (std::size_t n = 0; n < 4; ++n)
        cells.push_back(cat("a", mma.more[(r + n / 2) * columns + c + n % 2], "[0]"));
  return cells;
}
std::string listed(const std::vector<std::string>& cells, const char* before = "", const char* after = "") {
  std::string all;
  for (const std::string& cell : cells) all += cat(all.empty() ? "" : ", ", before, cell, after);
  return all;
}

}  // namespace

// Sums that nothing else is done for are in their registers then.
void emit_await(function_emitter& f, const ir::statement& s) {
  const ir::statement* const mma = first_mma(f.kernel.body);
  if (mma == nullptr || !mma->tile.by_warpgroups) {
    f.line("await_copies();");
  } else {
    f.line(cat("await_groups<", s.copies_behind, ", ", s.products_behind, ">();"));
    if (s.products_behind == 0) {
      f.line("#ifdef WARPGROUPS");
      f.line(cat("asm volatile(\"\" : ", listed(cells_of(*mma), "SUM(", ")"), " : : \"memory\");"));
      f.line("#endif");
    }
  }
  f.line("MEET;");
}

namespace {

// wgmma.mma_async for each 16 terms of a stage, as one group of products.
std::string products_text(const function_emitter& f, const ir::mma_form& t, const std::vector<std::string>& cells,
                          const std::string& rows, const std::string& columns) {
  const auto count = static_cast<int>(cells.size());
  std::string sums;
  for (int n = 0; n < count; ++n) sums += cat(n ? ", %" : "%", n);
  const std::string type = f.buffer(t.of_rows).type == element::bf16 ? "bf16" : "f16";
  const auto step = [](bool along) { return along ? 2 : 128; };  // of 16 terms, in 16 bytes
  const std::string one = cat("wgmma.mma_async.sync.aligned.m64n", 2 * count, "k16.f32.", type, ".", type, " {", sums,
                              "}, r, c, 1, 1, 1, ", t.rows_along ? 0 : 1, ", ", t.columns_along ? 0 : 1, ";\\n");
  std::string all = cat("{\\n.reg .b64 r, c;\\nmov.b64 r, %", count, ";\\nmov.b64 c, %", count + 1,
                        ";\\nwgmma.fence.sync.aligned;\\n");
  for (std::int32_t term = 0; term < t.terms; term += ir::mma_form::terms_at_once) {
    if (term > 0)
      all += cat("add.s64 r, r, ", step(t.rows_along), ";\\nadd.s64 c, c, ", step(t.columns_along), ";\\n");
    all += one;
  }
  all += "wgmma.commit_group.sync.aligned;\\n}";
  return cat("asm volatile(\"", all, "\" : ", listed(cells, "SUM(", ")"), " : \"l\"(descriptor(", rows,
             ")), \"l\"(descriptor(", columns, ")) : \"memory\");");
}

}  // namespace

void emit_mma(function_emitter& f, const ir::statement& s) {
  const ir::mma_form& t = s.tile;
  if (f.place.group != t.lanes()) throw compile_error("a tile of products is one of all threads of a block");
  const auto rows = static_cast<std::size_t>(t.results_of_rows), columns = s.more.size() / rows;
  const std::vector<std::string> cells = cells_of(s);
  const auto panel = [&](std::int32_t b) { return cat("b", b, " + ", f.ref(s.stored), " * b", b, "_s0"); };
  const auto flag = [](bool b) { return b ? "true" : "false"; };
  const auto pitch = [&](std::int32_t b) { return f.buffer(b).extents[2]; };
  const char* const brain = flag(f.buffer(t.of_rows).type == element::bf16);
  if (t.by_warpgroups) {
    for (const std::int32_t b : {t.of_rows, t.of_columns})
      if (f.place.offsets[static_cast<std::size_t>(b)] % 1024 != 0)
        throw compile_error("a panel begins within an atom");
    const std::string of_group = cat(panel(t.of_rows), " + threadIdx.x / 128 * ", 64 * t.terms);
    f.line("#ifdef WARPGROUPS");
    f.line(products_text(f, t, cells, of_group, panel(t.of_columns)));
    f.line("#else");
    f.open("");
    f.line(cat("float c[", cells.size(), "] = {", listed(cells), "};"));
    f.line(cat("multiply_in_place<", brain, ", ", flag(t.rows_along), ", ", flag(t.columns_along), ", ", 4 * columns,
               ", ", t.terms, ">(c, ", of_group, ", ", panel(t.of_columns), ");"));
    for (std::size_t n = 0; n < cells.size(); ++n) f.line(cat(cells[n], " = c[", n, "];"));
    f.close();
    f.line("#endif");
    return;
  }
  f.open("");
  f.line(cat("float c[", cells.size(), "] = {", listed(cells), "};"));
  f.line(cat("multiply_tile<", brain, ", ", flag(t.rows_along), ", ",
             flag(t.columns_along), ", ", t.warps_of_columns, ", ", rows / 2, ", ", columns / 2, ", ", t.terms, ", ",
             pitch(t.of_rows), ", ", pitch(t.of_columns), ">(c, ", panel(t.of_rows), ", ", panel(t.of_columns), ");"));
  for (std::size_t n = 0; n < cells.size(); ++n) f.line(cat(cells[n], " = c[", n, "];"));
  f.close();
}

}  // namespace sheaf::inline v0_1::cuda
