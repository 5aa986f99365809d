// What goes from lane to lane: running folds, recurrences, windows, places of a table.
#include <algorithm>
#include <bit>

#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

std::string directed(const function_emitter& f) { return cat(f.backward ? "true" : "false", ", T, ", f.lanes); }

// A vector of the lanes of x, dead ones as `none`.
void copy_lanes(function_emitter& f, ir::value id, const std::string& type, ir::value x, ir::value mask,
                const std::string& none) {
  f.line(cat(type, " v", id, "[", f.held(f.lanes), "];"));
  std::string when = mask == ir::none ? "" : f.ref(mask);
  if (!f.all_live && !none.empty()) when = when.empty() ? f.live() : cat("(", f.live(), " & ", when, ")");
  f.each(f.lanes, cat(f.ref(id), " = ", when.empty() ? f.ref(x) : cat(when, " ? ", f.ref(x), " : ", none), ";"));
}

}  // namespace

namespace {

// Does nothing see what a running fold comes to at the end of the loop around? Then lanes beyond the end, which come
// last, may be anything.
bool ends_unseen(const function_emitter& f, ir::value scan) {
  const ir::value cell = f.instruction(scan).args[0];
  const ir::block& around = *f.home[static_cast<std::size_t>(cell)];
  const bool begins_here = std::any_of(around.begin(), around.end(), [&](const ir::statement& s) {
    return s.kind == ir::statement_kind::loop && s.loop == f.vector_loop;
  });
  const auto uses = std::count_if(f.kernel.instructions.begin(), f.kernel.instructions.end(), [&](const auto& i) {
    return (i.code == ir::opcode::read || i.code == ir::opcode::scan_lanes) && i.args[0] == cell;
  });
  return begins_here && uses == 1 && !f.backward;
}

// Of states, in order: what comes earlier in memory stands first.
void emit_scan_state(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const ir::instruction& a = f.instruction(i.args[0]);
  const std::string type = cell_type(f, a), none = empty_cell(f, a);
  const std::string op = f.backward ? cat("turned<", functor(a.fold), ">") : functor(a.fold);
  std::string state;
  for (std::size_t k = 1; k < i.args.size(); ++k) state += cat(k > 1 ? ", " : "", f.ref(i.args[k]));
  f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
  f.open("");
  f.line(cat(type, " x[", f.held(f.lanes), "];"));
  state = cat(type, "{", state, "}");
  f.each(f.lanes, cat("x[", f.lane_k(f.lanes), "] = ", f.all_live ? state : cat(f.live(), " ? ", state, " : ", none),
                      ";"));
  f.line(cat("scan_runs<", op, ", ", f.backward ? "true" : "false", ", T>(group, x, a", i.args[0], ");"));
  f.each(f.lanes, cat(f.ref(id), " = x[", f.lane_k(f.lanes), "].v", i.dimension - 1, ";"));
  f.close();
}

}  // namespace

// Only the accumulator is carried from vector to vector, so a wide one keeps a long sum exact to the last bits.
void emit_scan_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const ir::instruction& a = f.instruction(i.args[0]);
  if (i.dimension > 0) return emit_scan_state(f, id);
  const std::string none = identity_text(f, i.type, a.fold), cell = cat("a", i.args[0]), op = functor(a.fold);
  const std::string shifted_in =
      a.fold == monoid::sum && is_floating(i.type) ? constant_text(i.type, std::bit_cast<std::int64_t>(-0.0)) : none;
  const bool any = i.mask == ir::none && f.run > 1 && i.args.size() == 2 && ends_unseen(f, id);
  copy_lanes(f, id, held_type(i.type), i.args[1], i.mask, any ? "" : none);
  if (i.args.size() == 3)
    return f.line(cat("scan_slices<", op, ", T, ", f.lanes, ">(group, v", id, ", v", i.args[2], ", ", cell, ");"));
  if (f.run > 1)
    return f.line(cat("scan_runs<", op, ", ", f.backward ? "true" : "false", ", T>(group, v", id, ", ", cell, ");"));
  f.line(cat("prefixes<", op, ", ", directed(f), ">(group, v", id, ", (", held_type(i.type), ")", shifted_in, ");"));
  f.open("");
  f.line(cat("const ", held_type(i.type), " total = last_lane<", directed(f), ">(group, v", id,
             "), before = ", cast_text(a.type, i.type, cell), ";"));
  f.each(f.lanes, cat(f.ref(id), " = ", op, "::of(before, ", f.ref(id), ");"));
  f.line(cat(cell, " = ", op, "::of(", cell, ", ", cast_text(i.type, a.type, "total"), ");"));
  f.close();
}

void emit_recur_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const element factor = f.instruction(i.args[1]).type;
  copy_lanes(f, id, "double", i.args[2], ir::none, "0.0");
  f.open("");
  f.line(cat(held_type(factor), " factor[", f.held(f.lanes), "];"));
  const std::string one = factor == element::boolean ? "true" : "1.0";
  f.each(f.lanes, cat("factor[", f.lane_k(f.lanes),
                      "] = ", f.all_live ? f.ref(i.args[1]) : cat(f.live(), " ? ", f.ref(i.args[1]), " : ", one), ";"));
  f.line(cat("recur_lanes<", directed(f), ">(group, v", id, ", factor, a", i.args[0], ");"));
  f.close();
}

void emit_slide_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const ir::instruction& a = f.instruction(i.args[0]);
  const bool overlaps = a.fold == monoid::max || a.fold == monoid::min;
  f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
  f.open("");
  f.line(cat(held_type(i.type), " x[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat("x[", f.lane_k(f.lanes), "] = ", f.ref(i.args[1]), ";"));
  f.line(cat("slide_lanes<", functor(a.fold), ", ", overlaps ? "true" : "false", ", ", f.backward ? "true" : "false",
             ", ", i.dimension, ", T, ", f.lanes, ">(group, v", id, ", a", i.args[0], ", x);"));
  f.close();
}

void emit_shift_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
  f.open("");
  f.line(cat(held_type(i.type), " x[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat("x[", f.lane_k(f.lanes), "] = ", f.ref(i.args[1]), ";"));
  f.line(cat("neighbours<", directed(f), ">(group, v", id, ", a", i.args[0], "[0], x, ", i.dimension, ");"));
  f.each(f.lanes, cat("a", i.args[0], "[0][", f.lane_k(f.lanes), "] = x[", f.lane_k(f.lanes), "];"));
  f.close();
}

void emit_next_places(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  std::string when = i.mask == ir::none ? "" : f.ref(i.mask);
  if (!f.all_live) when = when.empty() ? f.live() : cat("(", f.live(), " & ", when, ")");
  f.line(cat("int v", id, "[", f.held(f.lanes), "];"));
  const std::string of = f.place.group > 32 ? cat("next_place_of_block(b", i.target, ", seen", i.target)
                                            : cat("next_place<T>(group, b", i.target);
  f.each(f.lanes,
         cat(f.ref(id), " = ", of, ", ", f.ref(i.args[0]), ", ", when.empty() ? "true" : when, ");"));
}

}  // namespace sheaf::inline v0_1::cuda
