// The text of a module: what every text begins with, its own folds, one function a kernel. Shown by tests/cuda.
#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <tuple>

#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::cuda {

namespace {

constexpr int common_words = 4;           // those that are no slot's
constexpr std::int64_t most_words = 500;  // a parameter may have 4 KB
constexpr std::int64_t little = 512;      // bytes of a thread's own
// What keeps a device of some hundred multiprocessors busy.
constexpr std::int64_t enough_pieces = 8192, enough_threads = 1 << 17, enough_blocks = 256;

// Lanes of the widest vector loop, and of the narrowest that fills a warp: beyond those, threads would stand idle.
void find_loops(const ir::block& body, int& widest, int& filled) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector) {
      widest = std::max(widest, s.lanes);
      if (s.lanes >= 32) filled = std::min(filled, s.lanes);
    }
    find_loops(s.body, widest, filled);
  }
}

void find_touched(const ir::kernel& k, const ir::block& body, std::vector<bool>& touched) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store) touched[static_cast<std::size_t>(s.target)] = true;
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
      if (i.code == ir::opcode::load) touched[static_cast<std::size_t>(i.target)] = true;
    }
    find_touched(k, s.body, touched);
  }
}

std::vector<bool> written_checks(const ir::module& m, const ir::block& body, std::vector<bool> found) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::store && m.buffers[static_cast<std::size_t>(s.target)].where == ir::role::check)
      found[static_cast<std::size_t>(s.target)] = true;
    found = written_checks(m, s.body, std::move(found));
  }
  return found;
}

// Where one of the checks before holds a position, this kernel does nothing but say so, and that its own checks found none.
void emit_skip(function_emitter& f, const std::vector<bool>& before, const std::vector<bool>& own) {
  std::string failed, which, none;
  int ordinal = 0;
  for (std::size_t b = 0; b < before.size(); ++b) {
    if (f.m.buffers[b].where != ir::role::check) continue;
    const std::string slot =
        cat("*(i64*)words.w[", f.words.first_word[static_cast<std::size_t>(f.m.buffers[b].slot)], "]");
    if (before[b]) {
      failed += cat(failed.empty() ? "" : " || ", slot, " != MOST");
      which += cat(slot, " != MOST ? fail(words.w[1], words.w[2], ", ordinal, ", ", slot, ") : ");
    }
    if (own[b]) none += cat(" ", slot, " = MOST;");
    ++ordinal;
  }
  if (const std::int32_t off = f.kernel.switched_off; off >= 0)
    none += cat(" *(i64*)words.w[", f.words.first_word[static_cast<std::size_t>(f.buffer(off).slot)], "] = 0;");
  if (failed.empty()) return;
  f.open(cat("if (", failed, ")"));
  f.line(cat("if (blockIdx.x == 0 && threadIdx.x == 0) { ", which, "(void)0;", none, " }"));
  f.line("return;");
  f.close();
}

void emit_locals(function_emitter& f) {
  const layout& p = f.place;
  if (p.local_bytes == 0) return;
  const std::string share = cat("threadIdx.x / T * ", p.local_bytes);
  if (p.in_scratch)
    f.line(cat("u8* const locals = (u8*)words.w[0] + (u64)blockIdx.x * ", p.scratch_bytes(), " + ", share, ";"));
  else if (p.team == 1)
    f.line(cat("alignas(16) u8 locals[", p.local_bytes, "];"));
  else {
    f.line(cat("__shared__ __align__(16) u8 shared[", p.teams() * p.local_bytes, "];"));
    f.line(cat("u8* const locals = shared + ", share, ";"));
  }
}

// What a closed value is made of, before its place.
void emit_closed(function_emitter& f, ir::value v) {
  if (f.made[static_cast<std::size_t>(v)]) return;
  for (const ir::value x : f.instruction(v).args) emit_closed(f, x);
  emit_instruction(f, v);
  f.made[static_cast<std::size_t>(v)] = true;
}

// Loops below loops whose turns are pieces: the last one's are next to each other.
void emit_counters(function_emitter& f) {
  const auto& loops = f.place.shared;
  std::string rest = "piece";
  for (std::size_t n = loops.size(); n-- > 0;) {
    const std::string turn = n == 0 ? rest : cat("floor_mod(", rest, ", n", n, ")");
    f.line(cat("const i64 c", loops[n]->loop, " = ", f.ref(loops[n]->low), " + ", turn, ";"));
    if (n > 0) f.line(cat("const i64 r", n, " = floor_div(", rest, ", n", n, ");"));
    rest = cat("r", n);
  }
}

void emit_pieces(function_emitter& f) {
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
    f.line(cat("const i64 n", n, " = largest(", f.ref(s.high), " - ", f.ref(s.low), ", 0ll);"));
    all += cat(n ? " * n" : "n", n);
  }
  const std::string teams = cat(f.place.teams());
  f.open(cat("for (i64 piece = (i64)blockIdx.x * ", teams, " + threadIdx.x / T; piece < ", all,
             "; piece += (i64)gridDim.x * ", teams, ")"));
  emit_counters(f);
  for (const ir::statement* s : f.place.shared)
    if (s != f.place.shared.back())
      for (const ir::statement& inner : s->body)
        if (inner.kind == ir::statement_kind::instruct) emit_instruction(f, inner.id);
  emit_block(f, f.place.shared.back()->body);
  f.close();
}

void emit_threads(function_emitter& f) {
  const int team = f.place.team;
  f.line(cat("constexpr int T = ", team, ";"));
  f.line("const int t = (int)threadIdx.x & (T - 1);");
  const std::string mask = cat(team >= 32 ? 0xffffffffu : (1u << team) - 1u, "u");
  f.line(team < 32 ? cat("const u32 team = ", mask, " << (threadIdx.x & 31 & ~(T - 1));")
                   : cat("const u32 team = ", mask, ";"));
}

void emit_kernel(function_emitter& f, const launch& l, const std::vector<bool>& before, const std::vector<bool>& own) {
  if (f.place.team > 32 && f.place.team != l.threads)
    throw compile_error("a team beyond a warp is the block: " + l.name);
  find_accumulators(f);
  f.text +=
      cat("\nextern \"C\" __global__ void __launch_bounds__(", l.threads, ") ", l.name, "(const arguments words) {\n");
  emit_threads(f);
  emit_skip(f, before, own);
  emit_locals(f);
  declare_buffers(f);
  if (f.place.single) f.line("if (blockIdx.x != 0) return;");
  emit_pieces(f);
}

// May a kernel of one team be done by the last block of the one before? Who looks at checks must see them all.
bool may_follow(const launch& l, const ir::kernel& k, const layout& p, const std::vector<bool>& own) {
  return p.single && !l.single && !l.writes_checks && l.kept == k.kept &&
         std::find(own.begin(), own.end(), true) == own.end();
}
std::int64_t shared_of(const layout& p) { return p.team == 1 || p.in_scratch ? 0 : p.teams() * p.local_bytes; }

// A team beyond a warp is all of the block, whatever it would have liked: no order depends on it.
void emit_following(function_emitter& f, const launch& l, int arrival) {
  if (f.place.team > 32) f.place.team = l.threads;
  f.place.threads = f.place.team;
  find_accumulators(f);
  f.open("");
  if (arrival >= 0)
    f.line(cat("if (!is_last(words.w[3] + 4 * ", arrival, ")) return;"));
  else
    f.line("__syncthreads();");
  emit_threads(f);
  if (f.place.team < l.threads) f.open("if (threadIdx.x < T)");
  emit_locals(f);
  declare_buffers(f);
  emit_pieces(f);
  if (f.place.team < l.threads) f.close();
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

const ir::statement* parallel_loop(const ir::kernel& k) {
  if (k.body.empty() || k.body.back().kind != ir::statement_kind::loop) return nullptr;
  return k.body.back().how_loop == ir::loop_kind::parallel ? &k.body.back() : nullptr;
}

bool scans_slices(const ir::kernel& k, const ir::block& body) {
  return std::any_of(body.begin(), body.end(), [&](const ir::statement& s) {
    if (s.kind != ir::statement_kind::instruct) return scans_slices(k, s.body);
    const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
    return i.code == ir::opcode::scan_lanes && i.args.size() == 3;
  });
}

namespace {

// What decides whether lanes may lie in runs: loops of one width, whose lanes tell each other nothing but what they fold, and
// the narrowest elements that they load in order.
struct lane_uses {
  int lanes = 0, bytes = 8;
  bool alike = true;
};
void find_lane_uses(const ir::module& m, const ir::kernel& k, const ir::block& body, lane_uses& u) {
  for (const ir::statement& s : body) {
    const bool vector = s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector;
    if (vector) u.alike = u.alike && (u.lanes == 0 || u.lanes == s.lanes), u.lanes = s.lanes;
    if (s.kind == ir::statement_kind::instruct) {
      const ir::instruction& i = k.instructions[static_cast<std::size_t>(s.id)];
      u.alike = u.alike && i.code < ir::opcode::scan_lanes;
      if (i.code == ir::opcode::load && i.how == ir::access::contiguous)
        u.bytes = std::min(u.bytes, row(m.buffers[static_cast<std::size_t>(i.target)].type).bytes);
    }
    find_lane_uses(m, k, s.body, u);
  }
}
// Of elements narrower than 4 bytes as many as 16 bytes hold: one by one, a thread would load 2 bytes at a time.
int longest_run(const ir::module& m, const ir::kernel& k, const target& to) {
  if (to.cpu_order) return 1;
  lane_uses u;
  find_lane_uses(m, k, k.body, u);
  return u.alike && u.bytes < 4 ? 16 / u.bytes : 1;
}

void place_locals(const ir::module& m, const ir::kernel& k, layout& p) {
  p.offsets.assign(m.buffers.size(), 0);
  std::vector<bool> touched(m.buffers.size());
  find_touched(k, k.body, touched);
  for (std::size_t b = 0; b < m.buffers.size(); ++b) {
    if (!touched[b] || m.buffers[b].where != ir::role::local) continue;
    p.offsets[b] = p.local_bytes;
    p.local_bytes += (m.buffers[b].elements * row(m.buffers[b].type).bytes + 15) / 16 * 16;
  }
}

// Turns of loops below the parallel one become pieces where those are too few.
void share_loops(const ir::module& m, const ir::kernel& k, call_extents extents, layout& p) {
  const ir::statement* loop = parallel_loop(k);
  p.single = loop == nullptr;
  if (p.single) return;
  p.shared = {loop};
  if (extents.empty()) return;
  const closed_values known(m, k, extents);
  p.pieces = known.turns(*loop);
  while (p.pieces >= 0 && p.pieces < enough_pieces) {
    loop = shared_below(m, k, *loop);
    const std::int64_t turns = loop == nullptr ? -1 : known.turns(*loop);
    if (turns < 0) break;
    p.shared.push_back(loop);
    p.pieces *= turns;
  }
}

}  // namespace

layout layout_of(const ir::module& m, const ir::kernel& k, const target& to, call_extents extents) {
  layout p;
  share_loops(m, k, extents, p);
  p.run = longest_run(m, k, to);
  place_locals(m, k, p);
  int widest = 1, most = 256;
  find_loops(k.body, widest, most);
  most = std::min(most, widest);
  if (scans_slices(k, k.body)) most = std::min(most, 32);  // between warps they would wait at each turn
  p.team = std::min(widest, 32);
  if (p.local_bytes > little && widest == 1) p.team = 32;
  if (p.single || p.local_bytes > 4 * little) p.team = std::max(most, p.local_bytes > little ? 32 : 1);
  while (p.team >= 32 && 2 * p.team <= most && p.pieces >= 0 && p.pieces * p.team < enough_threads) p.team *= 2;
  p.threads = p.single || p.team > 32 ? p.team : 128;  // a team beyond a warp is the block
  while (p.pieces >= 0 && p.threads > std::max(p.team, 32) && p.pieces < enough_blocks * p.teams()) p.threads /= 2;
  // The rest is for exchange between warps; newer devices keep the last 1024 bytes of a block for themselves.
  const std::int64_t room = to.shared_bytes - (p.team > 32 ? 16 << 10 : 1 << 10);
  if (p.local_bytes > 0 && p.team > 1) {
    while (p.threads > std::max(p.team, 32) && p.teams() * p.local_bytes > room) p.threads /= 2;
    p.in_scratch = p.teams() * p.local_bytes > room;
  }
  return p;
}

namespace {

// The text of kernels that programs share: made once for a target, and right for any numbers.
std::shared_ptr<const source> shared_source(const ir::shared_module& of, const target& to) {
  static std::mutex lock;
  static auto& all = *new std::map<std::tuple<const void*, int, std::int64_t, bool>, std::shared_ptr<const source>>;
  const std::lock_guard guard(lock);
  auto& found = all[{&of, to.compute, to.shared_bytes, to.cpu_order}];
  if (found == nullptr) {
    const std::vector<const std::int64_t*> typical(of.code.buffers.size(), of.typical.data());
    found = std::make_shared<const source>(emit(of.code, to, typical));
  }
  return found;
}

// A module's text on the way.
struct module_emitter {
  const ir::module& m;
  const target& to;
  call_extents extents;
  source made;
  std::string kernels = {};
  bool open = false;                                               // the last function: others may follow in it
  bool followed = false;                                           // one has
  std::int64_t shared = 0;                                         // memory of its blocks
  int arrivals_elsewhere = 0;                                      // of kernels that programs share
  std::vector<bool> before = std::vector<bool>(m.buffers.size());  // checks

  void close() {
    if (open) kernels += "}\n";
    open = false;
  }
  void add(std::size_t n) {
    const ir::kernel& k = m.kernels[n];
    if (k.call != nullptr) return add_call(k);
    function_emitter f{.m = m,
                       .kernel = k,
                       .to = to,
                       .words = made,
                       .place = layout_of(m, k, to, extents),
                       .text = {},
                       .uses = {},
                       .home = {},
                       .lanes_of = {},
                       .born_in = {},
                       .loaded = {},
                       .stored = {},
                       .strip = {},
                       .made = {}};
    const std::vector<bool> own = written_checks(m, k.body, std::vector<bool>(m.buffers.size()));
    if (open && may_follow(made.launches.back(), k, f.place, own) && shared + shared_of(f.place) <= to.shared_bytes / 2)
      return follow(f);
    close();
    launch l;
    l.name = identifier(cat(m.name, "_", n, "_", k.name));
    l.threads = f.place.threads;
    l.pieces = f.place.teams();
    l.single = f.place.single;
    l.count = f.place.single ? 1 : f.place.pieces;
    l.scratch_bytes = f.place.scratch_bytes();
    l.writes_checks = std::find(own.begin(), own.end(), true) != own.end();
    l.kept = k.kept;
    l.first = static_cast<int>(n);
    open = true;
    followed = false;
    shared = shared_of(f.place);
    emit_kernel(f, l, before, own);
    for (std::size_t b = 0; b < own.size(); ++b) before[b] = before[b] || own[b];
    kernels += f.text;
    made.launches.push_back(std::move(l));
  }
  void follow(function_emitter& f) {
    launch& l = made.launches.back();
    shared += shared_of(f.place);
    emit_following(f, l, followed ? -1 : made.arrivals++);
    l.scratch_bytes = std::max(l.scratch_bytes, f.place.scratch_bytes());
    followed = true;
    kernels += f.text;
  }
  // Launches that begin with the kernels called. Counts of blocks that have arrived are 0 between launches, so these use the same ones.
  void add_call(const ir::kernel& k) {
    close();
    const ir::shared_call& call = *k.call;
    const auto of = shared_source(*call.of, to);
    const std::vector<const std::int64_t*> numbers(of->first_word.size(), call.numbers.data());
    for (const launch& each : of->launches) {
      if (each.first < call.first || each.first >= call.end) continue;
      launch l = each;
      l.of = of;
      for (const std::int32_t b : call.given) l.slots.push_back(m.buffers[static_cast<std::size_t>(b)].slot);
      l.numbers = call.numbers;
      const ir::kernel& first = call.of->code.kernels[static_cast<std::size_t>(each.first)];
      if (const ir::statement* pieces = parallel_loop(first))
        l.count = closed_values(call.of->code, first, numbers).turns(*pieces);
      l.kept = k.kept;
      made.launches.push_back(std::move(l));
    }
    arrivals_elsewhere = std::max(arrivals_elsewhere, of->arrivals);
  }
};

}  // namespace

source emit(const ir::module& m, const target& to, call_extents extents) {
  module_emitter e{.m = m, .to = to, .extents = extents, .made = words_of(m)};
  for (std::size_t n = 0; n < m.kernels.size(); ++n) e.add(n);
  e.close();
  source s = std::move(e.made);
  s.arrivals = std::max(s.arrivals, e.arrivals_elsewhere);
  s.text = cat(prelude_types, prelude_teams, "#define MEET meet<T>(team)\n",
               s.by_pointer ? std::string("struct arguments { const i64* w; };\n")
                            : cat("struct arguments { i64 w[", s.words, "]; };\n"),
               own_folds(m), e.kernels);
  return s;
}

const std::int64_t* parameter_of(const source& program, const launch& l, const std::int64_t* words,
                                 std::vector<std::int64_t>& own) {
  if (l.of == nullptr) return words;
  own.assign(static_cast<std::size_t>(l.of->words), 0);
  std::copy_n(words, common_words, own.begin());
  for (std::size_t slot = 0; slot < l.slots.size(); ++slot)
    own[static_cast<std::size_t>(l.of->first_word[slot])] =
        words[program.first_word[static_cast<std::size_t>(l.slots[slot])]];
  std::copy(l.numbers.begin(), l.numbers.end(), own.begin() + l.of->first_word.back() + 1);
  return own.data();
}

}  // namespace sheaf::cuda
