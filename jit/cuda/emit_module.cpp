// The text of a module: what every text begins with, its own folds, one function a kernel. Shown by tests/cuda.
#include <algorithm>
#include <cctype>

#include <sheaf/jit/cuda/emitter.hpp>

namespace sheaf::cuda {

namespace {

constexpr std::int64_t most_words = 500;  // a parameter may have 4 KB

void find_loops(const ir::block& body, int& widest) {
  for (const ir::statement& s : body) {
    if (s.kind == ir::statement_kind::loop && s.how_loop == ir::loop_kind::vector) widest = std::max(widest, s.lanes);
    find_loops(s.body, widest);
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

void emit_pieces(function_emitter& f) {
  const ir::statement* const loop = parallel_loop(f.kernel);
  if (loop == nullptr) {
    f.line("if (blockIdx.x != 0) return;");
    return emit_block(f, f.kernel.body);
  }
  for (const ir::statement& s : f.kernel.body)
    if (s.kind == ir::statement_kind::instruct) emit_instruction(f, s.id);
  const std::string c = cat("c", loop->loop), teams = cat(f.place.teams());
  f.open(cat("for (i64 ", c, " = ", f.ref(loop->low), " + (i64)blockIdx.x * ", teams, " + threadIdx.x / T; ", c, " < ",
             f.ref(loop->high), "; ", c, " += (i64)gridDim.x * ", teams, ")"));
  emit_block(f, loop->body);
  f.close();
}

void emit_kernel(function_emitter& f, const launch& l, const std::vector<bool>& before, const std::vector<bool>& own) {
  find_accumulators(f);
  f.text +=
      cat("\nextern \"C\" __global__ void __launch_bounds__(", l.threads, ") ", l.name, "(const arguments words) {\n");
  const int team = f.place.team;
  f.line(cat("constexpr int T = ", team, ";"));
  f.line("const int t = (int)threadIdx.x & (T - 1);");
  const std::string mask = cat(team >= 32 ? 0xffffffffu : (1u << team) - 1u, "u");
  f.line(team < 32 ? cat("const u32 team = ", mask, " << (threadIdx.x & 31 & ~(T - 1));")
                   : cat("const u32 team = ", mask, ";"));
  emit_skip(f, before, own);
  emit_locals(f);
  declare_buffers(f);
  emit_pieces(f);
  f.text += "}\n";
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

layout layout_of(const ir::module& m, const ir::kernel& k, const target& to) {
  constexpr std::int64_t little = 512;  // bytes of a thread's own
  layout p;
  p.single = parallel_loop(k) == nullptr;
  p.offsets.assign(m.buffers.size(), 0);
  std::vector<bool> touched(m.buffers.size());
  find_touched(k, k.body, touched);
  for (std::size_t b = 0; b < m.buffers.size(); ++b) {
    if (!touched[b] || m.buffers[b].where != ir::role::local) continue;
    p.offsets[b] = p.local_bytes;
    p.local_bytes += (m.buffers[b].elements * row(m.buffers[b].type).bytes + 15) / 16 * 16;
  }
  int widest = 1;
  find_loops(k.body, widest);
  p.team = std::min(widest, 32);
  if (p.local_bytes > little && widest == 1) p.team = 32;
  if (p.single || p.local_bytes > 4 * little) p.team = std::clamp(widest, p.single ? 1 : 32, 256);
  p.threads = p.single ? p.team : std::max(p.team, 128);
  const std::int64_t room = to.shared_bytes - 4096;  // the rest is for exchange between warps
  if (p.local_bytes > 0 && p.team > 1) {
    while (p.threads > std::max(p.team, 32) && p.teams() * p.local_bytes > room) p.threads /= 2;
    p.in_scratch = p.teams() * p.local_bytes > room;
  }
  return p;
}

source emit(const ir::module& m, const target& to) {
  source s = words_of(m);
  std::string kernels;
  std::vector<bool> before(m.buffers.size());
  for (std::size_t n = 0; n < m.kernels.size(); ++n) {
    const ir::kernel& k = m.kernels[n];
    function_emitter f{.m = m,
                       .kernel = k,
                       .to = to,
                       .words = s,
                       .place = layout_of(m, k, to),
                       .text = {},
                       .uses = {},
                       .home = {},
                       .lanes_of = {},
                       .born_in = {},
                       .loaded = {},
                       .stored = {}};
    const std::vector<bool> own = written_checks(m, k.body, std::vector<bool>(m.buffers.size()));
    launch l;
    l.name = identifier(cat(m.name, "_", n, "_", k.name));
    l.threads = f.place.threads;
    l.pieces = f.place.teams();
    l.single = f.place.single;
    l.scratch_bytes = f.place.scratch_bytes();
    l.writes_checks = std::find(own.begin(), own.end(), true) != own.end();
    emit_kernel(f, l, before, own);
    for (std::size_t b = 0; b < own.size(); ++b) before[b] = before[b] || own[b];
    kernels += f.text;
    s.launches.push_back(std::move(l));
  }
  s.text = cat(prelude_types, prelude_teams, "#define MEET meet<T>(team)\n",
               s.by_pointer ? std::string("struct arguments { const i64* w; };\n")
                            : cat("struct arguments { i64 w[", s.words, "]; };\n"),
               own_folds(m), kernels);
  return s;
}

}  // namespace sheaf::cuda
