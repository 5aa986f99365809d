// Statements and loops. A vector loop has one body, in which lanes beyond the end are not live: predicates cost little
// here.
#include <algorithm>
#include <utility>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

bool is_constant(const function_emitter& f, ir::value v, std::int64_t& n) {
  const ir::instruction& i = f.instruction(v);
  n = i.bits;
  return i.code == ir::opcode::constant;
}

// Is every number of the loop's range one of 32 bits? Of each call: others would end elsewhere.
bool is_short(const function_emitter& f, const ir::statement& s) {
  constexpr std::int64_t most = tuning::emit::longest_short;
  if (!f.bounds.empty()) {
    const closed_intervals all(f.m, f.kernel, f.bounds);
    const auto low = all(s.low), high = all(s.high);
    return low && high && low->low >= -most && high->high <= most;
  }
  if (f.extents.empty()) return false;
  const closed_values known(f.m, f.kernel, f.extents);
  const auto low = known(s.low), high = known(s.high);
  return low && high && low->certain() >= -most && high->certain() <= most;
}

bool has_loops(const ir::block& body) {
  return std::ranges::any_of(body, [](const ir::statement& s) {
    return s.kind == ir::statement_kind::loop || has_loops(s.body);
  });
}

// Does data decide it?
bool is_of_data(const function_emitter& f, ir::value v) {
  const ir::instruction& i = f.instruction(v);
  if (i.code == ir::opcode::load) return true;
  return i.code == ir::opcode::elementwise &&
         std::ranges::any_of(i.args, [&](ir::value x) { return is_of_data(f, x); });
}

// What is open of a loop, and where a part of it ends, if it goes in parts.
struct opened_loop {
  int scopes = 1;
  std::string end_of_part = {};
  void close(function_emitter& f) const {
    for (int n = 0; n < scopes; ++n) f.close();
  }
};

// The loop's head; its counter is a number of 64 bits whatever counts. A range that data decides, such as a slice, may
// be of any length: its lanes are walked in parts, which count in 32 bits, as a comparison of 64 takes three
// instructions, and each lane of each iteration makes one. step: lanes.
opened_loop open_loop(function_emitter& f, const ir::statement& s, int step, const std::string& pragma) {
  const std::string c = cat("c", s.loop), low = f.ref(s.low), high = f.ref(s.high);
  const bool is_of_32 = is_short(f, s), is_data = is_of_data(f, s.low) || is_of_data(f, s.high);
  const bool in_parts = is_data && !s.backward && !is_of_32 && step > 1 && !has_loops(s.body);
  const std::string part = cat(tuning::emit::longest_short, "ll");
  if (in_parts) {
    f.open(cat("for (i64 ", c, "_part = ", low, "; ", c, "_part < ", high, "; ", c, "_part += ", part, ")"));
    f.line(cat("const int ", c, "_end = (int)smallest(", high, " - ", c, "_part, ", part, ");"));
  }
  if (!pragma.empty()) f.line(pragma);
  if (s.backward && step > 1)
    f.open(cat("for (i64 ", c, " = ", high, " > ", low, " ? ", low, " + (((", high, " - ", low, " - 1) & -", step,
               "ll)) : ", low, " - 1; ", c, " >= ", low, "; ", c, " -= ", step, ")"));
  else if (s.backward)
    f.open(cat("for (i64 ", c, " = ", high, " - 1; ", c, " >= ", low, "; --", c, ")"));
  else if (!in_parts && !is_of_32)
    f.open(cat("for (i64 ", c, " = ", low, "; ", c, " < ", high, "; ", c, " += ", step, ")"));
  if (s.backward || (!in_parts && !is_of_32)) return {};
  const std::string first = in_parts ? "0" : cat("(int)(", low, ")");
  const std::string end = in_parts ? cat(c, "_end") : cat("(int)(", high, ")");
  f.open(cat("for (int ", c, "_short = ", first, "; ", c, "_short < ", end, "; ", c, "_short += ", step, ")"));
  f.line(cat("const i64 ", c, " = ", in_parts ? cat(c, "_part + ") : "", c, "_short;"));
  return in_parts ? opened_loop{2, end} : opened_loop{};
}

// What a lane loads one after the other, in each iteration of such a loop the next element: all at once, before it.
void load_along(function_emitter& f, const ir::statement& s, std::int64_t most, std::vector<moving_pointer>& pointers) {
  for (moving_pointer& p : pointers) {
    const bool loads = std::ranges::all_of(p.at, [&](const moving_pointer::use& u) {
      const ir::instruction* const i = u.at->kind == ir::statement_kind::instruct ? &f.instruction(u.at->id) : nullptr;
      return i != nullptr && i->how == ir::access::gather && i->mask == ir::none && i->vector && f.stays(i->target);
    });
    if (!loads || p.step != "1ll" || p.at.size() != 1 || most < 4 || f.held(f.lanes) != 1) continue;
    p.along = cat(p.name, "_along");
    f.line(cat(stored_type(f.buffer(p.buffer).type), " ", p.along, "[", most, "];"));
    f.line(cat("load_along(", p.along, ", ", p.name, ", ", f.all_live ? "" : cat("!", f.live(), " ? 0 : "),
               "(int)smallest(", f.ref(s.high), " - ", f.ref(s.low), ", ", most, "ll));"));
    f.loaded_along.insert(p.at.front().at->id);
    f.pointer_of[p.at.front().at] = cat("(", p.along, " + n", s.loop, ")");
  }
}

// All iterations that a loop of few ever has, each predicated by whether there is one: what they load is under way at
// once, and no loop is left that counts them.
void emit_written_out(function_emitter& f, const ir::statement& s, std::int64_t most) {
  auto pointers = find_pointers(f, s);
  declare_pointers(f, pointers);
  load_along(f, s, most, pointers);
  f.line("_Pragma(\"unroll\")");
  f.open(cat("for (int n", s.loop, " = 0; n", s.loop, " < ", most, "; ++n", s.loop, ")"));
  f.line(cat("const i64 c", s.loop, " = ", f.ref(s.low), " + n", s.loop, ";"));
  f.line(cat("const bool in", s.loop, " = c", s.loop, " < ", f.ref(s.high), ";"));
  const std::string around = std::exchange(f.within, cat("in", s.loop));
  emit_block(f, s.body);
  f.within = around;
  move_pointers(f, pointers);
  f.close();
}

void emit_serial_loop(function_emitter& f, const ir::statement& s) {
  if (const std::int64_t most = written_out(f, s); most > 0 && f.vector_loop >= 0) return emit_written_out(f, s, most);
  auto pointers = find_pointers(f, s);
  declare_pointers(f, pointers);
  const unrolling written = unrolling_of(f, s);
  const opened_loop opened =
      open_loop(f, s, 1, written.times > 0 ? cat("_Pragma(\"unroll ", written.times, "\")") : "");
  const bool around = std::exchange(f.ahead, f.ahead || written.loads_ahead);
  emit_block(f, s.body);
  f.ahead = around;
  move_pointers(f, pointers);
  opened.close(f);
}

}  // namespace

int function_emitter::run_of(const ir::statement& s) const {
  return scans_in_runs(kernel, s.body, to) ? held(s.lanes) : std::min(place.run, held(s.lanes));
}

void begin_lanes(function_emitter& f, const ir::statement& s) {
  const std::string high = f.ref(s.high);
  std::int64_t first = 0, last = 0;
  const bool known = is_constant(f, s.low, first) && is_constant(f, s.high, last);
  f.vector_loop = s.loop;
  f.lanes = s.lanes;
  f.run = f.run_of(s);
  f.backward = s.backward;
  f.all_live = ((known && (last - first) % s.lanes == 0) || s.whole) && s.lanes >= f.place.group;
  f.in_lanes = &s.body;
}

void emit_live_lanes(function_emitter& f, const ir::statement& s, const std::string& end_of_part) {
  if (f.all_live) return;
  if (end_of_part.empty())
    f.line(cat("const int rest = (int)smallest(", f.ref(s.high), " - c", s.loop, ", ", s.lanes, "ll);"));
  else if (s.lanes < f.place.group)  // threads without a lane are dead
    f.line(cat("const int rest = smallest(", end_of_part, " - c", s.loop, "_short, ", s.lanes, ");"));
  else
    f.line(cat("const int rest = ", end_of_part, " - c", s.loop, "_short;"));
  f.line(cat("bool live[", f.held(s.lanes), "];"));
  f.each(s.lanes, cat(f.live(), " = ", f.lane(s.lanes), " < rest;"));
  if (f.held(s.lanes) == 1) f.line("const int in_row = live[0] ? t : 0;");
}

void end_lanes(function_emitter& f) {
  f.vector_loop = -1;
  f.lanes = 0;
  f.run = 1;
  f.backward = f.all_live = false;
  f.in_lanes = nullptr;
}

namespace {

// All iterations that the loop has at most, one after the other: registers hold what it meets.
void emit_written_lanes(function_emitter& f, const ir::statement& s, const register_rows::written_loop& written) {
  begin_lanes(f, s);
  f.all_live = f.all_live && written.exact;
  f.in_lanes = nullptr;
  f.written = true;
  auto pointers = find_pointers(f, s);
  declare_pointers(f, pointers);
  if (f.stored_row < 0) load_rows(f, s, written.iterations);
  const std::string c = cat("c", s.loop), last = std::to_string((written.iterations - 1) * s.lanes);
  f.line("_Pragma(\"unroll\")");
  f.open(cat("for (int ", c, "_short = 0; ", c, "_short < ", written.iterations * s.lanes, "; ", c,
             "_short += ", s.lanes, ")"));
  f.line(cat("const i64 ", c, " = ", c, "_short;"));
  if (!f.all_live) {
    const std::string left = cat("(int)(", f.ref(s.high), ") - ", c, "_short");
    const std::string before = written.exact ? cat(c, "_short < ", last, " ? ", s.lanes, " : ") : "";
    f.line(cat("const int rest = ", before, left, ";"));
    f.line(cat("bool live[", f.held(s.lanes), "];"));
    f.each(s.lanes, cat(f.live(), " = ", f.lane(s.lanes), " < rest;"));
  }
  emit_block(f, s.body);
  move_pointers(f, pointers);
  f.close();
  f.written = false;
  f.loaded_before.clear();
  end_lanes(f);
}

// Backward, the vector with dead lanes comes first; its lanes ascend all the same.
void emit_vector_loop(function_emitter& f, const ir::statement& s) {
  if (const auto written = f.place.rows.loops.find(&s); written != f.place.rows.loops.end())
    return emit_written_lanes(f, s, written->second);
  begin_lanes(f, s);
  auto pointers = find_pointers(f, s);
  declare_pointers(f, pointers);
  const unrolling written = unrolling_of(f, s);
  const opened_loop opened = open_loop(f, s, s.lanes, cat("_Pragma(\"unroll ", written.times, "\")"));
  emit_live_lanes(f, s, opened.end_of_part);
  f.ahead = written.loads_ahead;
  emit_block(f, s.body);
  f.ahead = false;
  move_pointers(f, pointers);
  opened.close(f);
  end_lanes(f);
}

// Does it add to what the group keeps? Then that is complete when all threads have met after it.
bool adds_to_local(const function_emitter& f, const ir::block& body) {
  return std::any_of(body.begin(), body.end(), [&](const ir::statement& s) {
    if (s.kind != ir::statement_kind::store) return adds_to_local(f, s.body);
    return s.adds && f.buffer(s.target).where == ir::role::local;
  });
}

void emit_loop(function_emitter& f, const ir::statement& s);
void emit_loop_and_meet(function_emitter& f, const ir::statement& s) {
  emit_loop(f, s);
  if (f.vector_loop < 0 && f.place.group > 1 && adds_to_local(f, s.body)) f.line("MEET;");
}

void emit_loop(function_emitter& f, const ir::statement& s) {
  switch (s.how_loop) {
    case ir::loop_kind::serial:
      return emit_serial_loop(f, s);
    case ir::loop_kind::vector:
      return emit_vector_loop(f, s);
    default:
      throw compile_error("loop " + f.kernel.loop_names[static_cast<std::size_t>(s.loop)] +
                          ": this kind has no place here");
  }
}

// Partial results that registers held: by the loop that filled them.
void store_rows(function_emitter& f, const ir::block& body) {
  for (std::size_t r = 0; r < f.place.rows.rows.size(); ++r) {
    const register_rows::row& row = f.place.rows.rows[r];
    if (row.home != &body) continue;
    f.stored_row = static_cast<int>(r);
    const ir::statement& fill = *row.in.front();
    f.open("");
    emit_written_lanes(f, fill, f.place.rows.loops.at(&fill));
    f.close();
    f.stored_row = -1;
  }
}

}  // namespace

void emit_block(function_emitter& f, const ir::block& body) {
  const ir::block* const around = f.here;
  f.here = &body;
  const auto is_apart = [&](std::size_t n) {
    return n < body.size() && body[n].kind == ir::statement_kind::store && body[n].apart;
  };
  const auto is_copy = [](const ir::statement& s) { return s.kind == ir::statement_kind::copy; };
  for (const ir::statement& s : body) switch (s.kind) {
      case ir::statement_kind::instruct:
        if (const auto at = f.pointer_of.find(&s); at != f.pointer_of.end())
          emit_load(f, s.id, at->second);
        else
          emit_instruction(f, s.id);
        break;
      case ir::statement_kind::loop:
        emit_loop_and_meet(f, s);
        break;
      case ir::statement_kind::guard:
        f.open(cat("if (", f.ref(s.id), ")"));
        emit_block(f, s.body);
        f.close();
        break;
      case ir::statement_kind::store: {
        const auto n = static_cast<std::size_t>(&s - body.data());
        emit_store(f, s, !s.apart || n == 0 || !is_apart(n - 1), !s.apart || !is_apart(n + 1));
        break;
      }
      case ir::statement_kind::prefetch:
        break;  // other groups run while one waits
      case ir::statement_kind::combine:
        emit_combine(f, s);
        break;
      case ir::statement_kind::copy: {
        const auto n = static_cast<std::size_t>(&s - body.data());
        if (n > 0 && is_copy(body[n - 1])) break;
        const auto end = std::find_if_not(body.begin() + static_cast<std::ptrdiff_t>(n), body.end(), is_copy);
        emit_copies(f, std::span(body.data() + n, body.data() + (end - body.begin())));
        break;
      }
      case ir::statement_kind::await:
        emit_await(f, s);
        break;
      case ir::statement_kind::mma:
        emit_mma(f, s);
        break;
      case ir::statement_kind::append:
        throw compile_error("a list of places kept by a mask has no place on a GPU");
    }
  store_rows(f, body);
  f.here = around;
}

}  // namespace sheaf::inline v0_1::cuda
