// Copies into panels of shared memory, and tiles of sums that warps multiply; see ir::mma_form and prelude_mma.cpp.
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

}  // namespace

bool has_mma(const ir::block& body) {
  return std::any_of(body.begin(), body.end(),
                     [](const ir::statement& s) { return s.kind == ir::statement_kind::mma || has_mma(s.body); });
}

// Those next to each other are made without waiting where all of them can be.
void emit_copies(function_emitter& f, std::span<const ir::statement> copies) {
  if (f.held(f.lanes) != 1) throw compile_error("a copy is a run of each thread");
  std::string when;
  std::vector<std::string> arguments;
  for (const ir::statement& s : copies) {
    const auto moving = f.pointer_of.find(&s);
    const std::string from = moving == f.pointer_of.end() ? place_in(f, s.target, s.subscripts) : moving->second;
    when += cat(when.empty() ? "" : " & ", "is_whole_run(", from, ", ", f.ref(s.stored), ")");
    arguments.push_back(cat("(", place_in(f, s.to, s.places), ", ", from));
  }
  f.open(cat("if (", when, ")"));
  for (const std::string& a : arguments) f.line(cat("copy_whole_run", a, ");"));
  f.close();
  f.open("else");
  for (std::size_t n = 0; n < copies.size(); ++n)
    f.line(cat("copy_run", arguments[n], ", ", f.ref(copies[n].stored), ");"));
  f.close();
}

void emit_await(function_emitter& f) {
  f.line("await_copies();");
  f.line("MEET;");
}

void emit_mma(function_emitter& f, const ir::statement& s) {
  const ir::mma_form& t = s.tile;
  if (f.place.group != t.lanes()) throw compile_error("a tile of products is one of all threads of a block");
  const auto rows = static_cast<std::size_t>(t.results_of_rows), columns = s.more.size() / rows;
  std::vector<std::string> cells;  // in the order in which instructions have them
  for (std::size_t r = 0; r < rows; r += 2)
    for (std::size_t c = 0; c < columns; c += 2)
      for (std::size_t n = 0; n < 4; ++n)
        cells.push_back(cat("a", s.more[(r + n / 2) * columns + c + n % 2], "[0]"));
  std::string all;
  for (const std::string& cell : cells) all += cat(all.empty() ? "" : ", ", cell);
  f.open("");
  f.line(cat("float c[", cells.size(), "] = {", all, "};"));
  const auto panel = [&](std::int32_t b) { return cat("b", b, " + ", f.ref(s.stored), " * b", b, "_s0"); };
  const auto flag = [](bool b) { return b ? "true" : "false"; };
  const auto pitch = [&](std::int32_t b) { return f.buffer(b).extents[2]; };
  f.line(cat("multiply_tile<", flag(f.buffer(t.of_rows).type == element::bf16), ", ", flag(t.rows_along), ", ",
             flag(t.columns_along), ", ", t.warps_of_columns, ", ", rows / 2, ", ", columns / 2, ", ", t.terms, ", ",
             pitch(t.of_rows), ", ", pitch(t.of_columns), ">(c, ", panel(t.of_rows), ", ", panel(t.of_columns), ");"));
  for (std::size_t n = 0; n < cells.size(); ++n) f.line(cat(cells[n], " = c[", n, "];"));
  f.close();
}

}  // namespace sheaf::inline v0_1::cuda
