// The text of a module: what every text begins with, its own folds, one function a kernel. Shown by tests/cuda.
#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

constexpr int common_words = 4;           // those that are no slot's
constexpr std::int64_t most_words = 500;  // a parameter may have 4 KB

void emit_locals(function_emitter& f) {
  const layout& p = f.place;
  if (p.local_bytes == 0) return;
  const std::string share = cat("threadIdx.x / T * ", p.local_bytes);
  if (p.in_scratch)
    f.line(cat("u8* const locals = (u8*)words.w[0] + (u64)blockIdx.x * ", p.scratch_bytes(), " + ", share, ";"));
  else if (p.group == 1)
    f.line(cat("alignas(16) u8 locals[", p.local_bytes, "];"));
  else {
    const int aligned = multiplies_by_warpgroups(f.kernel.body) ? 1024 : 16;
    f.line(p.dynamic ? cat("DYNAMIC_SHARED(", p.groups() * p.local_bytes, ");")
                     : cat("__shared__ __align__(", aligned, ") u8 shared[", p.groups() * p.local_bytes, "];"));
    f.line(cat("u8* const locals = shared + ", share, ";"));
  }
}

// Of a table that tells lanes of several warps their places, see next_place_of_block.
void emit_seen(function_emitter& f) {
  std::vector<bool> made(f.m.buffers.size());
  for (const ir::instruction& i : f.kernel.instructions) {
    if (i.code != ir::opcode::next_places || f.place.group <= 32 || made[static_cast<std::size_t>(i.target)]) continue;
    made[static_cast<std::size_t>(i.target)] = true;
    const std::int64_t places = f.buffer(i.target).elements;
    f.line(cat("__shared__ u64 seen", i.target, "[", places, "];"));
    f.line(cat("for (int n = t; n < ", places, "; n += T) seen", i.target, "[n] = 0;"));
    f.line("__syncthreads();");
  }
}

// What a closed value is made of, before its place.
void emit_closed(function_emitter& f, ir::value v) {
  if (f.made[static_cast<std::size_t>(v)]) return;
  for (const ir::value x : f.instruction(v).args) emit_closed(f, x);
  emit_instruction(f, v);
  f.made[static_cast<std::size_t>(v)] = true;
}

// Loops below loops whose iterations are tiles: the last one's are next to each other.
void emit_counters(function_emitter& f) {
  const auto& loops = f.place.shared;
  std::string rest = "tile";
  for (std::size_t n = loops.size(); n-- > 0;) {
    std::string iteration = n == 0 ? rest : cat("floor_mod(", rest, ", n", n, ")");
    if (loops[n]->how_loop == ir::loop_kind::vector) iteration += cat(" * ", loops[n]->lanes);
    f.line(cat("const i64 c", loops[n]->loop, " = ", f.ref(loops[n]->low), " + ", iteration, ";"));
    if (n > 0) f.line(cat("const i64 r", n, " = floor_div(", rest, ", n", n, ");"));
    rest = cat("r", n);
  }
}

void emit_tiles(function_emitter& f) {
  if (parallel_loop(f.kernel) == nullptr) return emit_block(f, f.kernel.body);
  for (const ir::statement& s : f.kernel.body)
    if (s.kind == ir::statement_kind::instruct) {
      emit_instruction(f, s.id);
      f.made[static_cast<std::size_t>(s.id)] = true;
    }
  std::string all;
  for (std::size_t n = 0; n < f.place.shared.size(); ++n) {
    const ir::statement& s = *f.place.shared[n];
    if (n > 0) emit_closed(f, s.low), emit_closed(f, s.high);
    const std::string length = cat("largest(", f.ref(s.high), " - ", f.ref(s.low), ", 0ll)");
    const int lanes = s.how_loop == ir::loop_kind::vector ? s.lanes : 1;
    f.line(cat("const i64 n", n, " = ", lanes == 1 ? length : cat("(", length, " + ", lanes - 1, ") / ", lanes), ";"));
    all += cat(n ? " * n" : "n", n);
  }
  const std::string groups = cat(f.place.groups());
  f.open(cat("for (i64 tile = (i64)blockIdx.x * ", groups, " + threadIdx.x / T; tile < ", all,
             "; tile += (i64)gridDim.x * ", groups, ")"));
  emit_counters(f);
  for (const ir::statement* s : f.place.shared)
    if (s != f.place.shared.back())
      for (const ir::statement& inner : s->body)
        if (inner.kind == ir::statement_kind::instruct) emit_instruction(f, inner.id);
  declare_rows(f);
  const ir::statement& last = *f.place.shared.back();
  const bool lanes = last.how_loop == ir::loop_kind::vector;
  if (lanes) begin_lanes(f, last), emit_live_lanes(f, last);
  emit_block(f, last.body);
  if (lanes) end_lanes(f);
  f.close();
}

void emit_threads(function_emitter& f) {
  const int group = f.place.group;
  f.line(cat("constexpr int T = ", group, ";"));
  f.line("const int t = (int)threadIdx.x & (T - 1);");
  // Of a number less than T the compiler would make an address for each lane.
  if (!f.place.rows.loops.empty()) f.line("const int own = opaque(t);");
  const std::string mask = cat(group >= 32 ? 0xffffffffu : (1u << group) - 1u, "u");
  f.line(group < 32 ? cat("const u32 group = ", mask, " << (threadIdx.x & 31 & ~(T - 1));")
                   : cat("const u32 group = ", mask, ";"));
}

void emit_kernel(function_emitter& f, const launch& l, const std::vector<bool>& before, const std::vector<bool>& own) {
  if (f.place.group > 32 && f.place.group != l.threads)
    throw compile_error("a group beyond a warp is the block: " + l.name);
  find_accumulators(f);
  f.has_all_registers = needs_all_registers(f);
  const int blocks = resident_blocks(f, l.threads);
  const std::string bounds = blocks > 1 ? cat(l.threads, ", ", blocks) : std::to_string(l.threads);
  f.text +=
      cat("\nextern \"C\" __global__ void __launch_bounds__(", bounds, ") ", l.name, "(const arguments words) {\n");
  emit_threads(f);
  emit_skip(f, before, own);
  emit_locals(f);
  declare_buffers(f);
  emit_seen(f);
  if (f.place.single) f.line("if (blockIdx.x != 0) return;");
  emit_tiles(f);
}

// May a kernel of one group be done by the last block of the one before? Who looks at checks must see them all, so
// nothing but other checks follows where they are written.
bool may_follow(const launch& l, const ir::kernel& k, const layout& p, bool checks) {
  if (!p.single || l.promised != k.promised || (l.single && p.group > l.threads)) return false;
  return l.writes_checks ? checks : !l.single || checks;
}
std::int64_t shared_of(const layout& p) { return p.group == 1 || p.in_scratch ? 0 : p.groups() * p.local_bytes; }

// A group beyond a warp is all of the block, whatever it would have liked: no order depends on it.
// failed: of checks that the launch has written; then this one's find nothing, and it does nothing else.
void emit_following(function_emitter& f, const launch& l, int arrival, const std::string& failed,
                    const std::string& none) {
  if (f.place.group > 32) f.place.group = l.threads;
  f.place.threads = f.place.group;
  f.follows = true;
  find_accumulators(f);
  f.open("");
  if (arrival >= 0)
    f.line(cat("if (!is_last(words.w[3] + 4 * ", arrival, ")) return;"));
  else
    f.line("__syncthreads();");
  if (!failed.empty()) {
    f.open(cat("if (", failed, ")"));
    f.line(cat("if (threadIdx.x == 0) {", none, " }"));
    f.close();
    f.open("else");
  }
  emit_threads(f);
  if (f.place.group < l.threads) f.open("if (threadIdx.x < T)");
  emit_locals(f);
  declare_buffers(f);
  emit_seen(f);
  emit_tiles(f);
  if (f.place.group < l.threads) f.close();
  if (!failed.empty()) f.close();
  f.close();
}

std::string identifier(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

source words_of(const ir::module& m) {
  source s;
  for (const ir::buffer& b : m.buffers) {
    if (b.where == ir::role::local) continue;
    s.first_word.resize(std::max<std::size_t>(s.first_word.size(), static_cast<std::size_t>(b.slot) + 1));
    s.first_word[static_cast<std::size_t>(b.slot)] = 1 + 2 * b.rank;
  }
  for (int& size : s.first_word) {
    const int words = size;
    size = s.words;
    s.words += words;
  }
  s.by_pointer = s.words > most_words;
  return s;
}

}  // namespace

namespace {

// The text of kernels that programs share: made once for a target, and right for any numbers.
std::shared_ptr<const source> shared_source(const ir::shared_module& of, const target& to) {
  static std::mutex lock;
  static auto& all =
      *new std::map<std::tuple<const void*, int, std::int64_t, int, bool>, std::shared_ptr<const source>>;
  const std::lock_guard guard(lock);
  auto& found = all[{&of, to.compute, to.shared_bytes, to.texts, to.cpu_order}];
  if (found == nullptr) {
    const std::vector<std::vector<std::int64_t>> typical(of.code.buffers.size(), of.typical);
    std::vector<shapes::interval> numbers;
    for (const std::int64_t n : of.most) numbers.push_back({0, static_cast<double>(n)});
    const std::vector<std::vector<shapes::interval>> bounds(of.code.buffers.size(), numbers);
    found = std::make_shared<const source>(emit(of.code, to, amounts_by_slot(typical), bounds));
  }
  return found;
}

// By function: one of at most so many texts. Long ones first, each goes to the text that is shortest so far; a
// compiler's start costs as much as some 2000 characters.
std::vector<int> shared_out(const std::vector<std::string>& functions, int most) {
  std::size_t all = 0;
  for (const std::string& f : functions) all += f.size();
  const std::size_t count =
      std::clamp<std::size_t>(all / tuning::emit::worth_a_text, 1, static_cast<std::size_t>(std::max(1, most)));
  std::vector<std::size_t> order(functions.size()), size(std::min(count, functions.size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t one = functions[a].size(), other = functions[b].size();
    return one != other ? one > other : a < b;
  });
  std::vector<int> text(functions.size());
  for (const std::size_t f : order) {
    const auto least = std::min_element(size.begin(), size.end());
    text[f] = static_cast<int>(least - size.begin());
    *least += functions[f].size();
  }
  return text;
}

// A module's text on the way.
struct module_emitter {
  const ir::module& m;
  const target& to;
  call_extents extents;
  extent_bounds bounds;
  source made;
  std::vector<std::string> functions = {};                         // of launches of its own, in order
  bool open = false;                                               // the last function: others may follow in it
  bool followed = false;                                           // one has
  std::int64_t shared = 0;                                         // memory of its blocks
  int arrivals_elsewhere = 0;                                      // of kernels that programs share
  std::vector<bool> before = std::vector<bool>(m.buffers.size());  // checks
  std::vector<bool> written = {};                                  // checks, in the open launch

  void close() {
    if (open) functions.back() += "}\n";
    open = false;
  }
  void add(std::size_t n) {
    if (m.kernels[n].call != nullptr) return add_call(m.kernels[n]);
    const std::optional<ir::kernel> wide = with_wide_rows(m, m.kernels[n], to, extents, bounds);
    const ir::kernel& k = wide ? *wide : m.kernels[n];
    function_emitter f{.m = m,
                       .kernel = k,
                       .to = to,
                       .words = made,
                       .place = layout_of(m, k, to, extents, bounds),
                       .text = {},
                       .home = {},
                       .lanes_of = {},
                       .born_in = {},
                       .loaded = {},
                       .stored = {},
                       .scratch_row = {},
                       .row_run = {},
                       .made = {},
                       .extents = extents,
                       .bounds = bounds};
    const std::vector<bool> own = written_checks(m, k.body, std::vector<bool>(m.buffers.size()));
    const bool checks = std::find(own.begin(), own.end(), true) != own.end();
    if (open && may_follow(made.launches.back(), k, f.place, checks) &&
        shared + shared_of(f.place) <= to.shared_bytes / 2)
      return follow(f, own, checks);
    close();
    launch l;
    l.name = identifier(cat(m.name, "_", n, "_", k.name));
    l.threads = f.place.threads;
    l.tiles = f.place.groups();
    l.single = f.place.single;
    l.count = f.place.single ? std::optional(shapes::amount(1)) : f.place.tiles;
    l.scratch_bytes = f.place.scratch_bytes();
    l.shared_bytes = f.place.dynamic ? shared_of(f.place) : 0;
    l.writes_checks = checks;
    l.promised = k.promised;
    for (const ir::statement* s : f.place.shared)
      l.loops.push_back({s->low, s->high, s->how_loop == ir::loop_kind::vector ? s->lanes : 1});
    l.first = static_cast<int>(n);
    open = true;
    followed = false;
    shared = shared_of(f.place);
    emit_kernel(f, l, before, own);
    written = own;
    for (std::size_t b = 0; b < own.size(); ++b) before[b] = before[b] || own[b];
    functions.push_back(std::move(f.text));
    made.launches.push_back(std::move(l));
  }
  void follow(function_emitter& f, const std::vector<bool>& own, bool checks) {
    launch& l = made.launches.back();
    std::string& text = functions.back();
    if (const auto at = text.find(end_of_skip); at != std::string::npos) text.insert(at, none_found(f, own));
    l.writes_checks = l.writes_checks || checks;
    shared += shared_of(f.place);
    emit_following(f, l, followed || l.single ? -1 : made.arrivals++, failed_of(f, written), none_found(f, own));
    for (std::size_t b = 0; b < own.size(); ++b) {
      before[b] = before[b] || own[b];
      written[b] = written[b] || own[b];
    }
    l.scratch_bytes = std::max(l.scratch_bytes, f.place.scratch_bytes());
    followed = true;
    text += f.text;
  }
  // Launches that begin with the kernels called. Counts of blocks that have arrived are 0 between launches, so these
  // use the same ones.
  void add_call(const ir::kernel& k) {
    close();
    const ir::shared_call& call = *k.call;
    const auto of = shared_source(*call.of, to);
    const std::vector<std::vector<shapes::amount>> numbers(of->first_word.size(), call.formulas);
    for (const launch& each : of->launches) {
      if (each.first < call.first || each.first >= call.end) continue;
      launch l = each;
      l.of = of;
      l.caller = static_cast<int>(&k - m.kernels.data());
      for (const std::int32_t b : call.given) l.slots.push_back(m.buffers[static_cast<std::size_t>(b)].slot);
      l.numbers = call.numbers;
      l.formulas = call.formulas;
      const ir::kernel& first = call.of->code.kernels[static_cast<std::size_t>(each.first)];
      if (const ir::statement* tiles = parallel_loop(first))
        l.count = closed_values(call.of->code, first, numbers).iterations(*tiles);
      l.promised = k.promised;
      made.launches.push_back(std::move(l));
    }
    arrivals_elsewhere = std::max(arrivals_elsewhere, of->arrivals);
  }
};

}  // namespace

source emit(const ir::module& m, const target& to, call_extents extents, extent_bounds bounds) {
  module_emitter e{.m = m, .to = to, .extents = extents, .bounds = bounds, .made = words_of(m)};
  for (std::size_t n = 0; n < m.kernels.size(); ++n) e.add(n);
  e.close();
  source s = std::move(e.made);
  s.arrivals = std::max(s.arrivals, e.arrivals_elsewhere);
  const auto some = [&](auto has) {
    return std::any_of(m.kernels.begin(), m.kernels.end(), [&](const auto& k) { return has(k.body); });
  };
  const bool mma = some(has_mma), warpgroups = some(multiplies_by_warpgroups);
  const std::string of_tiles = cat(some(has_copies) || mma ? prelude_copies : "", mma ? prelude_mma : "",
                                   warpgroups ? prelude_warpgroup : "");
  const std::string common = cat(prelude_types, "#define F64_FROM ", numerics::folded_in_f64, "\n", prelude_memory,
                                 prelude_groups, of_tiles, "#define MEET meet<T>(group)\n");
  const std::string own = own_folds(m);
  s.common_bytes = own.empty() ? common.size() : 0;
  const std::string begin = cat(common,
                                s.by_pointer ? std::string("struct arguments { const i64* w; };\n")
                                             : cat("struct arguments { i64 w[", s.words, "]; };\n"),
                                own);
  const std::vector<int> text = shared_out(e.functions, to.texts);
  s.texts.assign(text.empty() ? 0 : static_cast<std::size_t>(*std::max_element(text.begin(), text.end())) + 1, begin);
  std::size_t function = 0;
  for (launch& l : s.launches) {
    if (l.of != nullptr) continue;
    l.text = text[function];
    s.texts[static_cast<std::size_t>(l.text)] += e.functions[function++];
  }
  return s;
}

std::vector<std::vector<shapes::amount>> amounts_by_slot(const std::vector<std::vector<std::int64_t>>& extents) {
  std::vector<std::vector<shapes::amount>> list;
  for (const auto& of_slot : extents) list.emplace_back(of_slot.begin(), of_slot.end());
  return list;
}

const std::int64_t* parameter_of(const source& program, const launch& l, const std::int64_t* words,
                                 std::span<const std::int64_t> numbers, std::vector<std::int64_t>& own) {
  if (l.of == nullptr) return words;
  own.assign(static_cast<std::size_t>(l.of->words), 0);
  std::copy_n(words, common_words, own.begin());
  for (std::size_t slot = 0; slot < l.slots.size(); ++slot)
    own[static_cast<std::size_t>(l.of->first_word[slot])] =
        words[program.first_word[static_cast<std::size_t>(l.slots[slot])]];
  std::copy(numbers.begin(), numbers.end(), own.begin() + l.of->first_word.back() + 1);
  return own.data();
}

}  // namespace sheaf::inline v0_1::cuda
