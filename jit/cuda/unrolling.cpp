// How often the body of a loop is written, one iteration after the other: until a thread has enough bytes under way,
// and no more often than a compiler bears.
#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

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

// Loads of one iteration, in bytes of a thread. Ahead of the stores of iterations before go only those of what the
// kernel doesn't store.
int loaded_bytes(const function_emitter& f, const ir::statement& s, bool stores) {
  int bytes = 0;
  for (const ir::statement& inner : s.body) {
    if (inner.kind != ir::statement_kind::instruct) continue;
    const ir::instruction& i = f.instruction(inner.id);
    if (i.code == ir::opcode::load && stores && !f.stays(i.target)) return 0;
    if (i.code == ir::opcode::load) bytes += row(i.type).bytes * (i.vector ? f.held(f.lanes) : 1);
  }
  return bytes;
}

bool is_store(const ir::statement& s) { return s.kind == ir::statement_kind::store; }
bool has_loops(const ir::block& body) {
  return std::any_of(body.begin(), body.end(), [](const ir::statement& s) {
    return s.kind == ir::statement_kind::loop || has_loops(s.body);
  });
}

// Does a body load, compute, combine and store what nothing loads, and nothing else? Then its iterations may be
// predicated.
bool is_predicable(const function_emitter& f, const ir::block& body) {
  return std::all_of(body.begin(), body.end(), [&](const ir::statement& s) {
    if (s.kind == ir::statement_kind::instruct) return f.instruction(s.id).code < ir::opcode::accumulator;
    if (s.kind == ir::statement_kind::store) return !s.adds && !f.loaded[static_cast<std::size_t>(s.target)];
    return s.kind == ir::statement_kind::combine || s.kind == ir::statement_kind::prefetch;
  });
}

// Instructions of an iteration, about. Functions are dozens, of f64 hundreds, divisions of 8 bytes dozens; what lanes
// that may be dead load, each with a branch of its own, takes the compiler longer than what it computes.
std::int64_t instructions_of(const function_emitter& f, const ir::statement& s);

std::int64_t instructions_of(const function_emitter& f, const ir::block& body) {
  std::int64_t all = 0;
  for (const ir::statement& s : body) all += instructions_of(f, s);
  return all;
}

std::int64_t instructions_of(const function_emitter& f, const ir::statement& s) {
  namespace count = tuning::emit::instructions;
  if (s.kind != ir::statement_kind::instruct) return 1 + instructions_of(f, s.body);
  const ir::instruction& i = f.instruction(s.id);
  const std::int64_t held = i.vector ? f.held(f.lanes) : 1;
  if (i.code == ir::opcode::load && i.vector && !f.all_live && f.run == 1)
    return held * (i.how == ir::access::contiguous ? count::of_branch : count::of_gather);
  if (i.code != ir::opcode::elementwise) return held;
  const bool is_wide = row(i.type).bytes == 8, divides = i.what == op::quotient || i.what == op::remainder;
  switch (divides ? op_cost::division : row(i.what).cost) {
    case op_cost::few:
      return held;
    case op_cost::division:
      return held * (is_wide ? count::of_wide_division : count::of_division);
    case op_cost::function:
      return held * (is_wide ? count::of_wide_function : count::of_function);
  }
  return held;
}

int borne(const function_emitter& f, const ir::statement& loop, int times) {
  const std::int64_t one = std::max<std::int64_t>(1, instructions_of(f, loop.body));
  return static_cast<int>(std::clamp<std::int64_t>(tuning::emit::instructions::most / one, 1, times));
}

}  // namespace

// The iterations of a loop below lanes that is written out; 0: it stays a loop.
std::int64_t written_out(const function_emitter& f, const ir::statement& s) {
  if (s.kind != ir::statement_kind::loop || s.how_loop != ir::loop_kind::serial || s.backward) return 0;
  const std::int64_t most = most_iterations(f.kernel, s);
  const bool stores = std::ranges::any_of(s.body, is_store);
  const std::int64_t allowed = stores ? tuning::emit::most_stored : tuning::emit::most_predicated;
  return most <= allowed && is_predicable(f, s.body) ? std::max<std::int64_t>(most, 1) : 0;
}

bool chases(const function_emitter& f, const ir::block& body) {
  std::vector<ir::value> found;
  for (const ir::statement& s : body) {
    if (s.kind != ir::statement_kind::instruct) continue;
    const ir::instruction& i = f.instruction(s.id);
    const bool needs = std::ranges::any_of(
        i.args, [&](ir::value v) { return std::ranges::find(found, v) != found.end(); });
    if (needs && i.code == ir::opcode::load) return true;
    if (needs || i.code == ir::opcode::load) found.push_back(s.id);
  }
  return false;
}

namespace {

// Iterations of a loop that loads so many bytes in each, written one after the other. The fewer warps a multiprocessor
// has, the more each thread that folds must have under way; of states of several values more would be spilled.
int unrolled_serial(const function_emitter& f, const ir::block& body, int bytes, bool stores) {
  namespace sizes = tuning::emit;
  const auto has_fewer = [&](double warps) {
    return f.place.tiles && *f.place.tiles < warps * tuning::grid::warp / f.place.group;
  };
  const bool few = has_fewer(tuning::tasks::warps_of_gpu / 2);
  if (stores) return std::clamp((few ? sizes::bytes_of_few : sizes::bytes_of_folds) / bytes, 2, 16);
  const auto loads = std::ranges::count_if(body, [&](const ir::statement& s) {
    return s.kind == ir::statement_kind::instruct && f.instruction(s.id).code == ir::opcode::load;
  });
  if (few) return std::clamp(sizes::bytes_of_few / bytes, 2, loads > 1 ? 8 : sizes::most_of_few);
  if (chases(f, body)) return 8;
  return std::clamp(sizes::bytes_of_folds / bytes, 2, loads == 1 && has_fewer(tuning::tasks::warps_of_gpu) ? 16 : 8);
}

// Bytes that a thread loads in one iteration of a vector loop whose loops below are written out; 0: it has none, or
// loads what the kernel stores.
std::int64_t bytes_of_written_out(const function_emitter& f, const ir::statement& s) {
  std::int64_t bytes = 0;
  for (const ir::statement& inner : s.body) {
    if (inner.kind != ir::statement_kind::loop) continue;
    for (const ir::statement& each : inner.body)
      if (each.kind == ir::statement_kind::instruct && f.instruction(each.id).code == ir::opcode::load &&
          !f.stays(f.instruction(each.id).target))
        return 0;
    bytes += written_out(f, inner) * loaded_bytes(f, inner, false);
  }
  return bytes;
}

// Iterations of a vector loop written one after the other: so many that a thread has 32 bytes under way, of halves as
// of others; four times as many where one block alone joins what all have left.
int unrolled(const function_emitter& f, const ir::statement& s) {
  int bytes = 8;
  for (const ir::statement& inner : s.body)
    if (inner.kind == ir::statement_kind::instruct && f.instruction(inner.id).code == ir::opcode::load)
      bytes = std::min(bytes, row(f.instruction(inner.id).type).bytes);
  const int loads = 32 / std::clamp(bytes, 2, 8);
  const auto is_plain = [&](const ir::statement& inner) {
    if (inner.kind == ir::statement_kind::instruct) return f.instruction(inner.id).code < ir::opcode::fold_lanes;
    if (inner.kind == ir::statement_kind::store) return !inner.adds && !meets(f, inner);
    if (inner.kind == ir::statement_kind::loop) return written_out(f, inner) > 0;
    return inner.kind == ir::statement_kind::combine || inner.kind == ir::statement_kind::prefetch;
  };
  if (s.body.size() > tuning::emit::short_body || !std::all_of(s.body.begin(), s.body.end(), is_plain)) return 1;
  if (has_loops(s.body)) {
    const std::int64_t of_loops = bytes_of_written_out(f, s);
    return of_loops == 0 ? 1 : static_cast<int>(std::clamp<std::int64_t>((32 + of_loops - 1) / of_loops, 1, 4));
  }
  if (f.follows) return std::clamp(4 * loads / f.held(s.lanes), 1, 16);
  // Shared memory holds few groups as wide: the more each has under way.
  return std::clamp(loads / f.held(s.lanes), 1, f.place.group >= 256 ? 8 : 4);
}

unrolling of_serial(const function_emitter& f, const ir::statement& s) {
  const bool stores = std::ranges::any_of(s.body, is_store);
  const int bytes = loaded_bytes(f, s, stores);
  const bool is_short = !has_loops(s.body) && bytes > 0 && s.body.size() <= tuning::emit::short_body;
  if (s.unroll > 1 || (stores && !is_short) || searches(f, s)) return {static_cast<int>(s.unroll), stores && is_short};
  if (!is_short) return {};
  return {borne(f, s, unrolled_serial(f, s.body, bytes, stores)), stores};
}

}  // namespace

unrolling unrolling_of(const function_emitter& f, const ir::statement& loop) {
  if (loop.how_loop != ir::loop_kind::vector) return of_serial(f, loop);
  const int times = borne(f, loop, unrolled(f, loop));
  return {times, times > 1 && has_loops(loop.body)};
}

}  // namespace sheaf::inline v0_1::cuda
