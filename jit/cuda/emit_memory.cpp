// Loads and stores. What is known of a buffer is named once, where the kernel begins; the compiler drops what is not
// used. Where a kernel both loads and stores a buffer, its groups meet before and after each store: what one thread
// stored another may read, and what one still reads another may not overwrite; but not where each thread reads only
// what it stored, and around a whole loop of additions, whose order does not matter.
#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

void declare_local(function_emitter& f, std::int32_t id) {
  const ir::buffer& b = f.buffer(id);
  const char* const type = stored_type(b.type);
  f.line(cat(type, "* const b", id, " = (", type, "*)(locals + ", f.place.offsets[static_cast<std::size_t>(id)],
             ");  // ", b.name));
  std::int64_t stride = 1;
  for (std::size_t d = static_cast<std::size_t>(b.rank); d-- > 0;) {
    const std::int64_t extent = d < b.extents.size() ? b.extents[d] : b.elements;
    f.line(cat("const i64 b", id, "_n", d, " = ", extent, ", b", id, "_s", d, " = ", stride, ";"));
    stride *= extent;
  }
}

void declare_slot(function_emitter& f, std::int32_t id) {
  const ir::buffer& b = f.buffer(id);
  const char* const type = stored_type(b.type);
  const int at = f.words.first_word[static_cast<std::size_t>(b.slot)];
  const char* const constness = b.where == ir::role::input ? "const " : "";
  f.line(cat(constness, type, "* const b", id, " = (", constness, type, "*)words.w[", at, "];  // ", b.name));
  for (int d = 0; d < b.rank; ++d) {
    const auto n = static_cast<std::size_t>(d);
    const bool known = n < b.extents.size() && b.extents[n] >= 0, unit = b.unit_inner && d + 1 == b.rank;
    const std::string extent = known ? cat(b.extents[n], "ll") : cat("words.w[", at + 1 + d, "]");
    const std::string stride = unit ? "1" : cat("words.w[", at + 1 + b.rank + d, "]");
    f.line(cat("const i64 b", id, "_n", d, " = ", extent, ", b", id, "_s", d, " = ", stride, ";"));
  }
}

std::string term(function_emitter& f, std::int32_t b, std::size_t d, ir::value subscript) {
  const bool unit =
      (f.buffer(b).unit_inner || f.buffer(b).where == ir::role::local) && static_cast<int>(d) + 1 == f.buffer(b).rank;
  return unit ? f.ref(subscript) : cat(f.ref(subscript), " * b", b, "_s", d);
}

// The element that lane k is at. A pointer to where lane 0 is comes before, so that lanes add small offsets.
std::string element_at(function_emitter& f, const std::string& pointer, std::int32_t b,
                       const std::vector<ir::value>& subscripts, ir::access how, const ir::lane_pattern& apart) {
  const std::string lane = f.lane(f.lanes);
  switch (how) {
    case ir::access::uniform:
      return cat(pointer, "[0]");
    case ir::access::contiguous:
      // Where loops are written out, lanes are constants apart from a pointer of the thread's own.
      if (!f.place.rows.loops.empty() && f.run == 1)
        return cat("(", pointer, " + own)[", f.lane_k(f.lanes), " * ", f.place.group, "]");
      return cat(pointer, "[", lane, "]");
    case ir::access::strided:
      return cat(pointer, "[(i64)", lane, " * b", b, "_s", f.buffer(b).rank - 1, "]");
    case ir::access::deinterleaved:
      return cat(pointer, "[", apart.skew, " + (", apart.phase, " + ", lane, " * ", apart.step, ") / ", apart.repeat,
                 "]");
    case ir::access::gather:
    case ir::access::transposed:
      break;
  }
  std::string offset;
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    if (f.instruction(subscripts[d]).vector) offset += cat(offset.empty() ? "" : " + ", term(f, b, d, subscripts[d]));
  return cat(pointer, "[", offset, "]");
}

std::string base_of(function_emitter& f, std::int32_t b, const std::vector<ir::value>& subscripts) {
  std::string base = cat("b", b);
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    if (!f.instruction(subscripts[d]).vector) base += cat(" + ", term(f, b, d, subscripts[d]));
  return base;
}

// Is a moving pointer the place of a gather's lane, vectors included? See emit_pointers.cpp.
bool moves_whole(const function_emitter& f, std::int32_t b, ir::access how) {
  return how == ir::access::gather && f.buffer(b).where != ir::role::local && f.held(f.lanes) == 1;
}

// What must hold for a lane, or for the one element; empty: nothing.
std::string condition(function_emitter& f, ir::value mask, ir::access how) {
  const bool laned = how != ir::access::uniform && !f.all_live;
  std::string all = f.within;
  const auto also = [&](const std::string& when) { all += all.empty() ? when : cat(" & ", when); };
  if (laned) also(f.live());
  if (mask != ir::none) also(f.ref(mask));
  return all.find('&') == std::string::npos ? all : cat("(", all, ")");
}

// Lanes in runs whose place nothing decides but the loop's end go in as few instructions as their bytes allow.
bool in_runs(const function_emitter& f, ir::access how, ir::value mask) {
  return f.run > 1 && how == ir::access::contiguous && mask == ir::none && f.within.empty();
}
std::string live_lanes(const function_emitter& f) { return f.all_live ? std::to_string(f.lanes) : "rest"; }

// One run a thread, which is not the kernel's for all loops, or the last of several of a loop that is written out.
const char* scanned(const function_emitter& f) {
  return (f.written || f.run > f.place.run) && f.run == f.held(f.lanes) ? ", true" : ", false";
}

bool in_words(const function_emitter& f, const register_rows::row& row) {
  return row.narrow > 0 && row.bytes(f.place.group) == row.narrow;
}
// Declares a value, and the elements that it is converted from; what follows up to f.close() fills both.
void open_elements(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const int n = f.held(f.lanes);
  f.line(cat(held_type(i.type), " v", id, "[", n, "];"));
  f.open("");
  f.line(cat(stored_type(f.buffer(i.target).type), " x[", n, "];"));
}
// The elements of a row of words that the iteration has, as they were loaded.
void read_words(function_emitter& f, ir::value id, int r) {
  open_elements(f, id);
  const register_rows::row& row = f.place.rows.rows[static_cast<std::size_t>(r)];
  const bool is_long = row.elements / f.place.group >= tuning::register_rows::converted_anew;
  f.line(cat(is_long ? "read_words(x, &r" : "memcpy(x, &r", r, "[c", f.vector_loop, "_short / ", f.place.group, " * ",
             row.narrow, is_long ? " / 4]);" : " / 4], sizeof x);"));
  const element type = f.buffer(f.instruction(id).target).type;
  f.each(f.lanes, cat(f.ref(id), " = ", from_memory(type, f.held(f.lanes) > 1 ? "x[k]" : "x[0]"), ";"));
  f.close();
}

void load_runs(function_emitter& f, ir::value id, const std::string& pointer) {
  const ir::instruction& i = f.instruction(id);
  const ir::buffer& b = f.buffer(i.target);
  open_elements(f, id);
  if (f.by_thread(i.target))
    f.line(cat("load_own<T>(x, ", pointer, ");"));
  else if (f.at_place[static_cast<std::size_t>(id)])
    f.line(cat("load_whole<T, ", f.run, ">(x, ", pointer, ");"));
  else
    f.line(cat("load_runs<", f.is_constant(i.target) ? "true" : "false", scanned(f), ", T, ", f.run, ">(x, ",
               pointer, ", ", live_lanes(f), ");"));
  f.each(f.lanes, cat(f.ref(id), " = ", from_memory(b.type, "x[k]"), ";"));
  if (const auto row = f.place.rows.filled_by.find(id); row != f.place.rows.filled_by.end()) {
    const register_rows::row& to = f.place.rows.rows[static_cast<std::size_t>(row->second)];
    if (in_words(f, to))
      f.line(cat("memcpy(&r", row->second, "[c", f.vector_loop, "_short / ", f.place.group, " * ", to.narrow,
                 " / 4], x, sizeof x);"));
  }
  f.close();
}

void store_runs(function_emitter& f, const ir::statement& s) {
  const ir::buffer& b = f.buffer(s.target);
  f.line(cat(stored_type(b.type), " x[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat("x[k] = ", to_memory(b.type, f.stored_row < 0 ? f.ref(s.stored) : f.in_row(f.stored_row)), ";"));
  if (f.by_thread(s.target))
    f.line("store_own<T>(p, x);");
  else if (f.stores_at_place.contains(&s))
    f.line(cat("store_whole<T, ", f.run, ">(p, x, ", live_lanes(f), ");"));
  else
    f.line(cat("store_runs<", s.non_temporal ? "true" : "false", scanned(f), ", T, ", f.run, ">(p, x, ",
               live_lanes(f), ");"));
}

}  // namespace

void declare_buffers(function_emitter& f) {
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(f.m.buffers.size()); ++id) {
    const auto n = static_cast<std::size_t>(id);
    if (!f.loaded[n] && !f.stored[n]) continue;
    if (f.buffer(id).where == ir::role::local) {
      if (!f.place.rows.holds(id)) declare_local(f, id);
    } else {
      declare_slot(f, id);
    }
  }
}

void declare_rows(function_emitter& f) {
  for (std::size_t r = 0; r < f.place.rows.rows.size(); ++r) {
    const register_rows::row& row = f.place.rows.rows[r];
    const std::int64_t elements = row.elements / f.place.group;
    if (in_words(f, row))
      f.line(cat("u32 r", r, "[", elements * row.narrow / 4, "];"));
    else
      f.line(cat(held_type(row.type), " r", r, "[", elements, "];"));
  }
}

void load_rows(function_emitter& f, const ir::statement& loop, std::int64_t iterations) {
  for (const ir::statement& s : loop.body) {
    if (s.kind != ir::statement_kind::instruct) continue;
    const auto found = f.place.rows.filled_by.find(s.id);
    const auto pointer = f.pointer_of.find(&s);
    if (found == f.place.rows.filled_by.end() || pointer == f.pointer_of.end()) continue;
    if (!in_words(f, f.place.rows.rows[static_cast<std::size_t>(found->second)])) continue;
    f.line(cat("load_row<T, ", f.run, ", ", iterations * f.held(f.lanes) / f.run, ">(r", found->second, ", ",
               pointer->second, ", (int)(", f.ref(loop.high), "));"));
    f.loaded_before.insert(s.id);
  }
}

bool meets(const function_emitter& f, const ir::statement& store) {
  const auto b = static_cast<std::size_t>(store.target);
  return f.place.group > 1 && f.loaded[b] && !f.scratch_row[b] && !store.adds;
}

namespace {

// Below lanes, where a thread has one: a dead one loads what the first lane does, which nothing looks at. A branch
// around each load of a loop that is written out many times takes NVRTC ten times as long.
bool loads_as_first(const function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  const bool may = f.stays(i.target) && f.in_lanes != nullptr && !f.backward && !f.all_live && f.held(f.lanes) == 1;
  return may && i.how == ir::access::contiguous && i.mask == ir::none &&
         f.home[static_cast<std::size_t>(id)] != f.in_lanes;
}

// Of a long row in registers: branches that the compiler makes of dead lanes would have it wait for each load.
bool loads_without_branch(const function_emitter& f, ir::value id) {
  const auto row = f.place.rows.filled_by.find(id);
  const ir::instruction& i = f.instruction(id);
  if (row == f.place.rows.filled_by.end() || i.mask != ir::none) return false;
  const element type = f.buffer(i.target).type;
  return (is_half(type) || type == element::f32) &&
         f.place.rows.rows[static_cast<std::size_t>(row->second)].elements / f.place.group >=
             tuning::register_rows::without_branches;
}

void load_from_memory(function_emitter& f, ir::value id, const std::string& moving) {
  const ir::instruction& i = f.instruction(id);
  const ir::buffer& b = f.buffer(i.target);
  const bool constant = f.is_constant(i.target) && !f.loaded_along.contains(id);
  const std::string pointer = cat("p", id);
  f.line(cat(constant ? "const " : "", stored_type(b.type), "* const ", pointer, " = ",
             moving.empty() ? base_of(f, i.target, i.args) : moving, ";"));
  if (in_runs(f, i.how, i.mask)) return load_runs(f, id, pointer);
  const bool whole = !moving.empty() && moves_whole(f, i.target, i.how);
  const bool as_first = loads_as_first(f, id);
  const std::string at = whole      ? cat(pointer, "[0]")
                         : as_first ? cat(pointer, "[in_row]")
                                    : element_at(f, pointer, i.target, i.args, i.how, i.apart);
  std::string value = from_memory(b.type, constant ? cat("__ldg(&", at, ")") : at);
  if (const std::string when = as_first ? f.within : condition(f, i.mask, i.how); !when.empty())
    value = constant && loads_without_branch(f, id)
                ? from_memory(b.type, cat("load_if(", when, ", &", at, ")"))
                : cat(when, " ? ", value, " : (", held_type(i.type), ")0");
  if (!i.vector) return f.line(cat("const ", held_type(i.type), " v", id, " = ", value, ";"));
  f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
  f.each(f.lanes, cat(f.ref(id), " = ", value, ";"));
}

// Two neighbours in memory are stored at once where they begin at a multiple of their bytes.
void emit_pair(function_emitter& f, const ir::statement& s) {
  const ir::buffer& b = f.buffer(s.target);
  const std::string name = cat("w", f.pairs_made), stored = to_memory(b.type, f.ref(s.stored));
  if (f.in_pair) {
    f.line(cat("store_pair(", name, "_at, ", name, ", ", stored, ");"));
    ++f.pairs_made;
  } else {
    const std::string base = cat("(", base_of(f, s.target, s.subscripts), ")");
    f.line(cat(stored_type(b.type), "* const ", name, "_at = &",
               element_at(f, base, s.target, s.subscripts, s.how, {}), ";"));
    f.line(cat("const ", stored_type(b.type), " ", name, " = ", stored, ";"));
  }
  f.in_pair = !f.in_pair;
}

}  // namespace

void emit_load(function_emitter& f, ir::value id, const std::string& moving) {
  const ir::instruction& i = f.instruction(id);
  const auto of_words = [&](const auto& row) {
    return in_words(f, f.place.rows.rows[static_cast<std::size_t>(row->second)]);
  };
  if (const auto row = f.place.rows.loads.find(id); row != f.place.rows.loads.end()) {
    if (of_words(row)) return read_words(f, id, row->second);
    f.line(cat(held_type(i.type), " v", id, "[", f.held(f.lanes), "];"));
    return f.each(f.lanes, cat(f.ref(id), " = ", f.in_row(row->second), ";"));
  }
  const auto row = f.place.rows.filled_by.find(id);
  if (f.loaded_before.contains(id)) return read_words(f, id, row->second);
  load_from_memory(f, id, moving);
  if (row != f.place.rows.filled_by.end() && !of_words(row))
    f.each(f.lanes, cat(f.in_row(row->second), " = ", f.ref(id), ";"));
}

void emit_store(function_emitter& f, const ir::statement& s, bool before, bool after) {
  if (s.pairs && f.all_live && f.held(f.lanes) == 1 && row(f.buffer(s.target).type).bytes <= 4 &&
      !meets(f, s))
    return emit_pair(f, s);
  const ir::buffer& b = f.buffer(s.target);
  if (const auto row = f.place.rows.stores.find(&s); row != f.place.rows.stores.end() && f.stored_row < 0)
    return f.each(f.lanes, cat(f.in_row(row->second), " = ", f.ref(s.stored), ";"));
  const bool shared = meets(f, s);
  const bool laned = s.how != ir::access::uniform;
  if (shared && before) f.line("MEET;");
  f.open("");
  const auto moving = f.pointer_of.find(&s);
  f.line(cat(stored_type(b.type), "* const p = ",
             moving == f.pointer_of.end() ? base_of(f, s.target, s.subscripts) : moving->second, ";"));
  const bool whole = moving != f.pointer_of.end() && moves_whole(f, s.target, s.how);
  const std::string at = whole ? "p[0]" : element_at(f, "p", s.target, s.subscripts, s.how, {});
  const std::string stored = to_memory(b.type, f.stored_row < 0 ? f.ref(s.stored) : f.in_row(f.stored_row));
  std::string when = condition(f, s.mask, s.how);
  if (!laned && f.place.group > 1) when = when.empty() ? "t == 0" : cat("t == 0 && ", when);
  const std::string store = s.adds                    ? cat("add_at(&", at, ", ", stored, ");")
                            : s.non_temporal && laned ? cat("__stcs(&", at, ", ", stored, ");")
                                                      : cat(at, " = ", stored, ";");
  std::string line = when.empty() ? store : cat("if (", when, ") ", store);
  if (adds_in_order(f.m, s))
    line = cat("add_in_order<", functor(s.fold), ", T>(group, b", s.target, ", &", at, ", ", stored, ", ",
               when.empty() ? "true" : when, ");");
  if (!s.adds && in_runs(f, s.how, s.mask))
    store_runs(f, s);
  else if (laned)
    f.each(f.lanes, line);
  else
    f.line(line);
  f.close();
  if (shared && after) f.line("MEET;");
}

}  // namespace sheaf::inline v0_1::cuda
