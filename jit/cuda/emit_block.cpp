// Statements and loops. A vector loop has one body, in which lanes beyond the end are not live: predicates cost little
// here.
#include <algorithm>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

bool is_constant(const function_emitter& f, ir::value v, std::int64_t& n) {
  const ir::instruction& i = f.instruction(v);
  n = i.bits;
  return i.code == ir::opcode::constant;
}

// Does each iteration load from where the one before it found? Iterations of a search wait for each other, however
// often they are written.
bool searches(const function_emitter& f, const ir::statement& loop) {
  std::vector<ir::value> found;
  const auto is_found = [&](ir::value v) { return std::find(found.begin(), found.end(), v) != found.end(); };
  for (const ir::statement& s : loop.body) {
    if (s.kind != ir::statement_kind::instruct) continue;
    const ir::instruction& i = f.instruction(s.id);
    const bool follows = std::any_of(i.args.begin(), i.args.end(), is_found);
    if (i.code == ir::opcode::load && follows) return true;
    const bool before = i.code == ir::opcode::read && f.home[static_cast<std::size_t>(i.args[0])] != &loop.body;
    if (follows || before) found.push_back(s.id);
  }
  return false;
}

void emit_serial_loop(function_emitter& f, const ir::statement& s) {
  const std::string c = cat("c", s.loop), low = f.ref(s.low), high = f.ref(s.high);
  // What stores gains nothing from being written several times, and takes as much longer to compile.
  const bool stores = std::any_of(s.body.begin(), s.body.end(),
                                  [](const ir::statement& inner) { return inner.kind == ir::statement_kind::store; });
  if (s.unroll > 1 || stores || searches(f, s)) f.line(cat("_Pragma(\"unroll ", s.unroll, "\")"));
  f.open(s.backward ? cat("for (i64 ", c, " = ", high, " - 1; ", c, " >= ", low, "; --", c, ")")
                    : cat("for (i64 ", c, " = ", low, "; ", c, " < ", high, "; ++", c, ")"));
  emit_block(f, s.body);
  f.close();
}

// Iterations of a vector loop written one after the other: so many that a thread has 32 bytes under way, of halves as
// of others.
int unrolled(const function_emitter& f, const ir::statement& s) {
  int bytes = 8;
  for (const ir::statement& inner : s.body)
    if (inner.kind == ir::statement_kind::instruct && f.instruction(inner.id).code == ir::opcode::load)
      bytes = std::min(bytes, row(f.instruction(inner.id).type).bytes);
  const int loads = 32 / std::clamp(bytes, 2, 8);
  const auto is_plain = [&](const ir::statement& inner) {
    if (inner.kind == ir::statement_kind::instruct) return f.instruction(inner.id).code < ir::opcode::fold_lanes;
    return inner.kind == ir::statement_kind::combine || inner.kind == ir::statement_kind::prefetch;
  };
  if (s.body.size() > tuning::emit::short_body || !std::all_of(s.body.begin(), s.body.end(), is_plain)) return 1;
  return std::clamp(loads / f.held(s.lanes), 1, 4);
}

// Backward, the vector with dead lanes comes first; its lanes ascend all the same.
void emit_vector_loop(function_emitter& f, const ir::statement& s) {
  const std::string c = cat("c", s.loop), low = f.ref(s.low), high = f.ref(s.high);
  std::int64_t first = 0, last = 0;
  const bool known = is_constant(f, s.low, first) && is_constant(f, s.high, last);
  f.vector_loop = s.loop;
  f.lanes = s.lanes;
  f.run = scans_slices(f.kernel, s.body) ? f.held(s.lanes) : std::min(f.place.run, f.held(s.lanes));
  f.backward = s.backward;
  f.all_live = ((known && (last - first) % s.lanes == 0) || s.whole) && s.lanes >= f.place.group;
  f.line(cat("_Pragma(\"unroll ", unrolled(f, s), "\")"));
  f.open(s.backward ? cat("for (i64 ", c, " = ", high, " > ", low, " ? ", low, " + (((", high, " - ", low, " - 1) & -",
                          s.lanes, "ll)) : ", low, " - 1; ", c, " >= ", low, "; ", c, " -= ", s.lanes, ")")
                    : cat("for (i64 ", c, " = ", low, "; ", c, " < ", high, "; ", c, " += ", s.lanes, ")"));
  if (!f.all_live) {
    f.line(cat("const int rest = (int)smallest(", high, " - ", c, ", ", s.lanes, "ll);"));
    f.line(cat("bool live[", f.held(s.lanes), "];"));
    f.each(s.lanes, cat(f.live(), " = ", f.lane(s.lanes), " < rest;"));
  }
  emit_block(f, s.body);
  f.close();
  f.vector_loop = -1;
  f.lanes = 0;
  f.run = 1;
  f.backward = f.all_live = false;
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

}  // namespace

void emit_block(function_emitter& f, const ir::block& body) {
  const ir::block* const around = f.here;
  f.here = &body;
  for (const ir::statement& s : body) switch (s.kind) {
      case ir::statement_kind::instruct:
        emit_instruction(f, s.id);
        break;
      case ir::statement_kind::loop:
        emit_loop(f, s);
        break;
      case ir::statement_kind::guard:
        f.open(cat("if (", f.ref(s.id), ")"));
        emit_block(f, s.body);
        f.close();
        break;
      case ir::statement_kind::store:
        emit_store(f, s);
        break;
      case ir::statement_kind::prefetch:
        break;  // other groups run while one waits
      case ir::statement_kind::combine:
        emit_combine(f, s);
        break;
      case ir::statement_kind::append:
        throw compile_error("a list of places kept by a mask has no place on a GPU");
    }
  f.here = around;
}

}  // namespace sheaf::inline v0_1::cuda
