// Accumulators and folds of lanes. Orders are those of the LLVM backend, so that sums have the same bits:
// the fixed tree, and one fused multiply-add where a product is made in the same block, used nowhere else and summed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

bool has_position(monoid fold) { return fold == monoid::argmax || fold == monoid::argmin; }

std::int64_t bits_of(double x) { return std::bit_cast<std::int64_t>(x); }

std::string lowest(element type, bool largest) {
  if (is_floating(type))
    return constant_text(
        type, bits_of(largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()));
  if (type == element::boolean) return largest ? "true" : "false";
  return constant_text(type, largest ? highest_integer(type) : lowest_integer(type));
}

}  // namespace

std::string identity_text(const function_emitter& f, element type, monoid fold) {
  if (is_own(fold)) return constant_text(type, f.m.folds[static_cast<std::size_t>(own_number(fold))].identity);
  const double value = row(fold).identity;
  if (std::isinf(value)) return lowest(type, value > 0);
  if (type == element::boolean) return value != 0 ? "true" : "false";
  return constant_text(type, is_floating(type) && value != 0 ? bits_of(value) : static_cast<std::int64_t>(value));
}

std::string functor(monoid fold) {
  if (is_own(fold)) return cat("own", own_number(fold), "_of");
  if (has_position(fold)) return fold == monoid::argmax ? "place_of<true>" : "place_of<false>";
  return cat(row(fold).name, "_of");
}

namespace {

int width_of(const function_emitter& f, monoid fold) {
  return is_own(fold) ? f.m.folds[static_cast<std::size_t>(own_number(fold))].width : 1;
}

}  // namespace

std::string cell_type(const function_emitter& f, const ir::instruction& a) {
  if (width_of(f, a.fold) > 1) return cat("own", own_number(a.fold), "_state");
  return has_position(a.fold) ? cat("placed<", held_type(a.type), ">") : held_type(a.type);
}

std::string empty_cell(const function_emitter& f, const ir::instruction& a) {
  std::string first = identity_text(f, a.type, a.fold);
  if (has_position(a.fold)) return cat(cell_type(f, a), "{", first, ", MOST}");
  const int width = width_of(f, a.fold);
  for (int k = 1; k < width; ++k) {
    const ir::own_fold& next = f.m.folds[static_cast<std::size_t>(own_number(a.fold) + k)];
    first += cat(", ", constant_text(next.type, next.identity));
  }
  return width > 1 ? cat(cell_type(f, a), "{", first, "}") : first;
}

namespace {

// What is read of a cell. Over nothing there is no position: -1.
std::string taken(const function_emitter& f, const ir::instruction& a, const std::string& cell, int which) {
  if (width_of(f, a.fold) > 1) return cat(cell, ".v", which);
  return has_position(a.fold) ? cat("(", cell, ".at == MOST ? -1ll : ", cell, ".at)") : cell;
}

int levels_of(int width) { return static_cast<int>(std::bit_width(static_cast<unsigned>(width))); }

void find_uses(function_emitter& f, const ir::block& body) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = f.instruction(s.id);
      f.home[static_cast<std::size_t>(s.id)] = &body;
      if (i.code == ir::opcode::next_places) f.stored[static_cast<std::size_t>(i.target)] = true;
      if (i.code == ir::opcode::load || i.code == ir::opcode::extent || i.code == ir::opcode::next_places)
        f.loaded[static_cast<std::size_t>(i.target)] = true;
    }
    if (s.kind == ir::statement_kind::store) f.stored[static_cast<std::size_t>(s.target)] = true;
    if (s.kind == ir::statement_kind::copy)
      f.loaded[static_cast<std::size_t>(s.target)] = f.stored[static_cast<std::size_t>(s.to)] = true;
    find_uses(f, s.body);
  }
}

// Lanes of the vector loops that combine into accumulators, or let them slide.
void find_lanes(function_emitter& f, const ir::block& body, int lanes, int loop) {
  for (const ir::statement& s : body) {
    const bool vector = s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector;
    if (s.kind == ir::statement_kind::combine) {
      if (f.instruction(s.target_value).vector) f.lanes_of[static_cast<std::size_t>(s.target_value)] = lanes;
    } else if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = f.instruction(s.id);
      if (i.code == ir::opcode::slide_lanes || i.code == ir::opcode::shift_lanes)
        f.lanes_of[static_cast<std::size_t>(i.args[0])] = lanes;
      if (i.code == ir::opcode::accumulator && i.vector) {
        f.born_in[static_cast<std::size_t>(s.id)] = loop;
        if (lanes) f.lanes_of[static_cast<std::size_t>(s.id)] = lanes;
      }
    }
    find_lanes(f, s.body, vector ? s.lanes : lanes, vector ? s.loop : loop);
  }
}

// Whatever the data, a multiple of n.
bool is_multiple(const function_emitter& f, ir::value v, int n) {
  const ir::instruction& i = f.instruction(v);
  if (i.code == ir::opcode::constant) return i.bits % n == 0;
  if (i.code != ir::opcode::elementwise) return false;
  if (i.what == op::mul) return is_multiple(f, i.args[0], n) || is_multiple(f, i.args[1], n);
  return i.what == op::add && is_multiple(f, i.args[0], n) && is_multiple(f, i.args[1], n);
}

// Is it the place of lane 0 in the loop's range, or as many groups' worth of runs beyond?
bool is_place(const function_emitter& f, const ir::statement& loop, ir::value v) {
  const auto is_counter = [&](ir::value x) {
    return f.instruction(x).code == ir::opcode::counter && f.instruction(x).target == loop.loop;
  };
  const ir::instruction& i = f.instruction(v);
  const int iteration = f.run_of(loop) * f.place.group;
  if (is_counter(v)) return is_multiple(f, loop.low, iteration);
  return i.code == ir::opcode::elementwise && i.what == op::sub && is_counter(i.args[0]) && i.args[1] == loop.low;
}

void leave_scratch_rows(function_emitter& f, const ir::block& body, const ir::statement* loop) {
  const auto access = [&](std::int32_t buffer, ir::access how, const std::vector<ir::value>& subscripts, bool whole) {
    const bool local = f.buffer(buffer).where == ir::role::local;
    const auto b = static_cast<std::size_t>(buffer);
    const int run = loop == nullptr ? 1 : f.run_of(*loop);
    const bool placed = how == ir::access::contiguous && !subscripts.empty() && loop != nullptr &&
                        loop->lanes % f.place.group == 0 && is_place(f, *loop, subscripts.back()) &&
                        (run == 1 || whole);
    if (!placed || (f.row_run[b] != 0 && f.row_run[b] != run)) f.scratch_row[b] = false;
    f.row_run[b] = run;
    return placed && local && subscripts.size() == 1 && loop->lanes == run * f.place.group;
  };
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store &&
        access(s.target, s.how, s.subscripts, s.mask == ir::none && !s.adds))
      f.stores_at_place.insert(&s);
    if (s.kind == ir::statement_kind::instruct)
      if (const ir::instruction& i = f.instruction(s.id);
          i.code == ir::opcode::load || i.code == ir::opcode::next_places)
        f.at_place[static_cast<std::size_t>(s.id)] = access(i.target, i.how, i.args, i.mask == ir::none);
    leave_scratch_rows(f, s.body,
                       s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector ? &s : loop);
  }
}

// Where element e of a row of a buffer is always met by thread e mod T, of runs of n by thread e / n mod T, in
// whichever row.
void find_scratch_rows(function_emitter& f) {
  f.scratch_row.clear();
  f.row_run.assign(f.m.buffers.size(), 0);
  f.at_place.assign(f.kernel.instructions.size(), false);
  for (const ir::buffer& b : f.m.buffers) f.scratch_row.push_back(b.where == ir::role::local || b.unit_inner);
  leave_scratch_rows(f, f.kernel.body, nullptr);
}

}  // namespace

bool function_emitter::by_thread(std::int32_t b) const {
  const auto n = static_cast<std::size_t>(b);
  return buffer(b).where == ir::role::local && scratch_row[n] && row_run[n] > 1 && place.group > 1;
}

void find_accumulators(function_emitter& f) {
  const std::size_t n = f.kernel.instructions.size();
  f.home.assign(n, nullptr);
  f.lanes_of.assign(n, 0);
  f.born_in.assign(n, -1);
  f.made.assign(n, false);
  find_scratch_rows(f);
  f.loaded.assign(f.m.buffers.size(), false);
  f.stored.assign(f.m.buffers.size(), false);
  find_uses(f, f.kernel.body);
  find_lanes(f, f.kernel.body, 0, -1);
  for (std::size_t v = 0; v < n; ++v) {
    const ir::instruction& i = f.kernel.instructions[v];
    if (i.code == ir::opcode::accumulator && i.vector && !f.lanes_of[v])
      f.lanes_of[v] = 2;  // nothing is combined into it
  }
}

namespace {

// The steps of fold n as statements: x0, x1, ... are the values of both states.
std::string own_steps(const ir::module& m, std::size_t n) {
  const ir::own_fold& fold = m.folds[n];
  std::string out;
  std::vector<element> types;
  const auto width = static_cast<std::size_t>(fold.width);
  for (std::size_t k = 0; k < 2 * width; ++k)
    types.push_back(m.folds[n - static_cast<std::size_t>(fold.component) + k % width].type);
  for (const ir::fold_step& s : fold.steps) {
    std::vector<std::string> x;
    for (const std::int32_t a : s.args) x.push_back(cat("x", a));
    const std::string made =
        s.what == op::constant
            ? constant_text(s.type, s.bits)
            : op_text(s.what, types[static_cast<std::size_t>(s.args[s.what == op::select ? 1 : 0])], s.type, x);
    out += cat("    const ", held_type(s.type), " x", types.size(), " = ", made, ";\n");
    types.push_back(s.type);
  }
  return out + cat("    return x", fold.result, ";\n  }\n");
}

// The folds of one state of several values: a struct of them, and how threads tell each other one.
std::string own_state(const ir::module& m, std::size_t first) {
  const int width = m.folds[first].width;
  const auto at = [&](int k) -> const ir::own_fold& { return m.folds[first + static_cast<std::size_t>(k)]; };
  const std::string state = cat("own", first, "_state");
  std::string values, lanes, parameters, made, out;
  for (int k = 0; k < width; ++k) {
    values += cat(" ", held_type(at(k).type), " v", k, ";");
    lanes += cat(k ? ", " : "", "of_lane(group, x.v", k, ", from, width)");
    made += cat(k ? ", " : "", "value", k, "(a, b)");
  }
  for (int k = 0; k < 2 * width; ++k)
    parameters +=
        cat("    const ", held_type(at(k % width).type), " x", k, " = ", k < width ? "a" : "b", ".v", k % width, ";\n");
  out = cat("struct ", state, " {", values, " };\nFN ", state, " of_lane(u32 group, ", state,
            " x, int from, int width) {\n  return ", state, "{", lanes, "};\n}\nstruct own", first, "_of {\n");
  for (int k = 0; k < width; ++k)
    out += cat("  FN ", held_type(at(k).type), " value", k, "(const ", state, "& a, const ", state, "& b) {\n",
               parameters, own_steps(m, first + static_cast<std::size_t>(k)));
  return out + cat("  FN ", state, " of(const ", state, "& a, const ", state, "& b) { return ", state, "{", made,
                   "}; }\n};\n");
}

}  // namespace

std::string own_folds(const ir::module& m) {
  std::string out;
  for (std::size_t n = 0; n < m.folds.size(); ++n) {
    const ir::own_fold& fold = m.folds[n];
    const char* const type = held_type(fold.type);
    if (fold.width > 1 && fold.component == 0) out += own_state(m, n);
    if (fold.width == 1)
      out +=
          cat("struct own", n, "_of {\n  FN ", type, " of(", type, " x0, ", type, " x1) {\n", own_steps(m, n), "};\n");
  }
  return out;
}

void emit_accumulator(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const int lanes = f.lanes_of[static_cast<std::size_t>(id)], n = f.held(lanes);
  const std::string none = empty_cell(f, i);
  if (!i.vector) return f.line(cat(cell_type(f, i), " a", id, " = ", none, ";"));
  if (i.dimension > 0) {
    const int levels = levels_of(i.dimension);
    f.line(cat(cell_type(f, i), " a", id, "[", levels, "][", n, "];"));
    return f.line(cat("EACH(", n, ") for (int m = 0; m < ", levels, "; ++m) a", id, "[m][k] = ", none, ";"));
  }
  f.line(cat(cell_type(f, i), " a", id, "[", n, "];"));
  f.each(lanes, cat("a", id, "[", f.lane_k(lanes), "] = ", none, ";"));
}

namespace {

bool combines_into(const ir::statement& s, ir::value cell) {
  if (s.kind == ir::statement_kind::combine && s.target_value == cell) return true;
  return std::ranges::any_of(s.body, [&](const ir::statement& inner) { return combines_into(inner, cell); });
}

// Have all live lanes of a thread been combined into equally often, before each combination? Those of an accumulator
// made within the loop are all combined; of others only the last vector has dead lanes, if the loop runs once.
bool lanes_are_even(const function_emitter& f, ir::value cell) {
  if (f.born_in[static_cast<std::size_t>(cell)] == f.vector_loop) return true;
  const auto is_in = [&](const ir::statement& s) { return combines_into(s, cell); };
  const ir::block& around = *f.home[static_cast<std::size_t>(cell)];
  const auto only = std::ranges::find_if(around, is_in);
  return !f.backward && only != around.end() && only->kind == ir::statement_kind::loop &&
         only->loop == f.vector_loop && std::find_if(only + 1, around.end(), is_in) == around.end();
}

// Does component k of a state depend on nothing but itself?
bool is_by_itself(const ir::own_fold& fold, std::int32_t k) {
  const auto is_own = [&](std::int32_t x) { return x >= 2 * fold.width || x % fold.width == k; };
  return is_own(fold.result) &&
         std::ranges::all_of(fold.steps, [&](const ir::fold_step& s) { return std::ranges::all_of(s.args, is_own); });
}

// The component that is the same in all lanes of a thread, as a count of terms is; -1: none. What follows from it
// alone, as a count's reciprocal, is then computed once for them.
std::int32_t component_of_all(const function_emitter& f, const ir::statement& s) {
  const ir::instruction& a = f.instruction(s.target_value);
  const int width = width_of(f, a.fold);
  if (!a.vector || width < 2 || f.held(f.lanes) < 2 || s.mask != ir::none || !f.within.empty() ||
      !lanes_are_even(f, s.target_value))
    return -1;
  for (std::int32_t k = 0; k < width; ++k) {
    const ir::value term = k == 0 ? s.stored : s.more[static_cast<std::size_t>(k) - 1];
    const auto n = static_cast<std::size_t>(own_number(a.fold) + k);
    if (!f.instruction(term).vector && is_by_itself(f.m.folds[n], k)) return k;
  }
  return -1;
}

// The cell with that component taken from `all`.
std::string with_component(const function_emitter& f, const ir::instruction& a, const std::string& cell,
                           std::int32_t component) {
  std::string out = cat(cell_type(f, a), "{");
  for (std::int32_t k = 0; k < width_of(f, a.fold); ++k)
    out += cat(k ? ", " : "", k == component ? "all" : cat(cell, ".v", k));
  return out + "}";
}

}  // namespace

void emit_combine(function_emitter& f, const ir::statement& s) {
  const ir::instruction& i = f.instruction(s.target_value);
  const std::string cell = i.vector ? cat("a", s.target_value, "[", f.lane_k(f.lanes), "]") : cat("a", s.target_value);
  const std::int32_t of_all = component_of_all(f, s);
  std::string next;
  if (s.fma) {
    const ir::instruction& product = f.instruction(s.stored);
    next = cat("fused(", f.ref(product.args[0]), ", ", f.ref(product.args[1]), ", ", cell, ")");
  } else {
    std::string x = f.ref(s.stored);
    for (const ir::value v : s.more) x += cat(", ", f.ref(v));
    if (s.position != ir::none) x += cat(", ", f.ref(s.position));
    if (s.position != ir::none || !s.more.empty()) x = cat(cell_type(f, i), "{", x, "}");
    const std::string own = of_all < 0 ? cell : with_component(f, i, cell, of_all);
    next = cat(functor(i.fold), "::of(", s.earlier ? x : own, ", ", s.earlier ? own : x, ")");
  }
  std::string when = f.within;
  const auto also = [&](const std::string& each) { when = when.empty() ? each : cat("(", when, " & ", each, ")"); };
  if (s.mask != ir::none) also(f.ref(s.mask));
  if (i.vector && !f.all_live && f.born_in[static_cast<std::size_t>(s.target_value)] != f.vector_loop) also(f.live());
  const std::string line = cat(when.empty() ? "" : cat("if (", when, ") "), cell, " = ", next, ";");
  if (!i.vector) return f.line(line);
  if (of_all < 0) return f.each(f.lanes, line);
  f.open("");
  f.line(cat("const auto all = a", s.target_value, "[0].v", of_all, ";"));
  f.each(f.lanes, line);
  f.close();
}

void emit_read(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const ir::instruction& a = f.instruction(i.args[0]);
  if (!i.vector)
    return f.line(
        cat("const ", held_type(i.type), " v", id, " = ", taken(f, a, cat("a", i.args[0]), i.dimension), ";"));
  const int lanes = f.lanes_of[static_cast<std::size_t>(i.args[0])];
  const std::string cell = cat("a", i.args[0], a.dimension > 0 ? "[0]" : "", "[", f.lane_k(lanes), "]");
  f.line(cat(held_type(i.type), " v", id, "[", f.held(lanes), "];"));
  f.each(lanes, cat("v", id, "[", f.lane_k(lanes), "] = ", taken(f, a, cell, i.dimension), ";"));
}

namespace {

// The fold in the same block that has another value of this state; none: there is none since it changed.
ir::value folded_before(const function_emitter& f, ir::value id) {
  const ir::value cell = f.instruction(id).args[0];
  ir::value found = ir::none;
  for (const ir::statement& s : *f.home[static_cast<std::size_t>(id)]) {
    if (combines_into(s, cell)) found = ir::none;
    if (s.kind != ir::statement_kind::instruct) continue;
    if (s.id == id) break;
    const ir::instruction& i = f.instruction(s.id);
    if (found == ir::none && i.code == ir::opcode::fold_lanes && i.args[0] == cell) found = s.id;
  }
  return found;
}

}  // namespace

void emit_fold_lanes(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const ir::instruction& a = f.instruction(i.args[0]);
  const int lanes = f.lanes_of[static_cast<std::size_t>(i.args[0])];
  const bool widens = numerics::folds_in_f64(a.fold, a.type, i.type);
  const std::string folded =
      cat(widens ? "sum_wide<" : cat("fold_lanes<", functor(a.fold), ", "), "T, ", lanes, ">(group, a", i.args[0], ")");
  if (!has_position(a.fold) && width_of(f, a.fold) == 1)
    return f.line(cat("const ", held_type(i.type), " v", id, " = ", folded, ";"));
  const ir::value before = width_of(f, a.fold) > 1 ? folded_before(f, id) : ir::none;
  if (before == ir::none) f.line(cat("const ", cell_type(f, a), " f", id, " = ", folded, ";"));
  const std::string state = cat("f", before == ir::none ? id : before);
  f.line(cat("const ", held_type(i.type), " v", id, " = ", taken(f, a, state, i.dimension), ";"));
}

}  // namespace sheaf::inline v0_1::cuda
