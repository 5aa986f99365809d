#include "sass.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sheaf::test {

namespace {

struct operation {
  unsigned code;  // the lowest 9 bits
  const char* name;
  sass_kind kind;
};
using enum sass_kind;
constexpr operation operations[] = {
    {0x181, "LDG", load},       {0x186, "STG", store},      {0x180, "LD", load},        {0x185, "ST", store},
    {0x184, "LDS", shared},     {0x188, "STS", shared},     {0x183, "LDL", local},      {0x187, "STL", local},
    {0x1a8, "ATOMG", atomic},   {0x18e, "RED", atomic},     {0x1a3, "ATOMG", atomic},   {0x189, "SHFL", exchange},
    {0x11d, "BAR", barrier},    {0x020, "FMUL", floating},  {0x021, "FADD", floating},  {0x023, "FFMA", floating},
    {0x009, "FMNMX", floating}, {0x00b, "FSETP", floating}, {0x008, "FSEL", floating},  {0x00a, "FSET", floating},
    {0x022, "FCHK", floating},  {0x102, "FCHK", floating},  {0x028, "DMUL", floating},  {0x029, "DADD", floating},
    {0x02b, "DFMA", floating},  {0x02a, "DSETP", floating}, {0x108, "MUFU", function},  {0x104, "F2F", floating},
    {0x110, "F2F", floating},   {0x13e, "F2F", floating},   {0x106, "I2F", floating},   {0x112, "I2F", floating},
    {0x105, "F2I", floating},   {0x111, "F2I", floating},   {0x107, "FRND", floating},  {0x113, "FRND", floating},
    {0x024, "IMAD", integer},   {0x025, "IMAD", integer},   {0x026, "IMAD", integer},   {0x027, "IMAD", integer},
    {0x010, "IADD3", integer},  {0x011, "LEA", integer},    {0x012, "LOP3", integer},   {0x00c, "ISETP", integer},
    {0x019, "SHF", integer},    {0x007, "SEL", integer},    {0x002, "MOV", integer},    {0x016, "PRMT", integer},
    {0x017, "IMNMX", integer},  {0x048, "VIMNMX", integer}, {0x013, "IABS", integer},   {0x01c, "PLOP3", integer},
    {0x035, "IADD", integer},   {0x03c, "HMMA", tensor},    {0x03b, "LDSM", shared},    {0x1ae, "LDGSTS", load},
};

// Loads and stores of 1, 1, 2, 2, 4, 8 and 16 bytes.
int width_of(const unsigned char* at) {
  std::uint64_t high = 0;
  std::memcpy(&high, at + 8, 8);
  constexpr int widths[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return widths[(high >> 9) & 7];
}

// Relative to the next instruction, in units of 4 bytes: its lowest 8 bits from bit 16 on, the others from bit 34 on.
std::int64_t branch_of(const unsigned char* at, std::int64_t place) {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, at, 8);
  std::memcpy(&high, at + 8, 8);
  const std::uint64_t upper = (low >> 34 | high << 30) << 16;
  const std::int64_t offset = (static_cast<std::int64_t>(upper) >> 16) * 256 + static_cast<std::int64_t>(at[2]);
  return place + 1 + offset / 4;
}

constexpr unsigned branch = 0x147, leave = 0x14d, back = 0x150, load_matrices = 0x03b, copy_to_shared = 0x1ae;

// Neither the predicate before nor the one of the operand, of 3 bits and a sign each, may hold it back.
bool is_unconditional(const unsigned char* at) {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, at, 8);
  std::memcpy(&high, at + 8, 8);
  const unsigned op = low & 0xfff;
  return (op == 0x947 || op == 0x94d || op == 0x950) && (low >> 12 & 15) == 7 && (high >> 23 & 15) == 7;
}

struct span_of_code {
  std::int64_t first, last;
  bool holds(const span_of_code& other) const { return first <= other.first && other.last <= last; }
};

void count(sass_counts& c, const sass_instruction& i) {
  ++c.of[static_cast<int>(i.kind)];
  c.in_shared += i.in_shared;
  c.loaded += i.kind == load ? i.bytes : 0;
  c.stored += i.kind == store || i.kind == atomic ? i.bytes : 0;
}

sass_counts counts_of(const std::vector<sass_instruction>& code, const span_of_code& s) {
  sass_counts c;
  for (std::int64_t n = s.first; n <= s.last; ++n) count(c, code[static_cast<std::size_t>(n)]);
  return c;
}

// From an instruction to the end of an iteration.
struct way {
  int moved = 0, instructions = 0;
  std::int64_t next = -1;  // instruction; -1: the iteration ends
  bool possible = true;
  bool better(const way& other) const {
    if (possible != other.possible) return possible;
    return moved != other.moved ? moved > other.moved : instructions < other.instructions;
  }
};

sass_counts counts_of_way(const std::vector<sass_instruction>& code, const span_of_code& s) {
  std::vector<way> from(static_cast<std::size_t>(s.last - s.first) + 1);
  const auto at = [&](std::int64_t n) -> way& { return from[static_cast<std::size_t>(n - s.first)]; };
  for (std::int64_t n = s.last; n >= s.first; --n) {
    const sass_instruction& i = code[static_cast<std::size_t>(n)];
    const auto via = [&](std::int64_t next) {
      const way& rest = at(next);
      return way{rest.moved, rest.instructions, next, rest.possible};
    };
    const bool forward = i.branch > n && i.branch <= s.last, again = i.branch == s.first;
    way best = n == s.last ? way{} : via(n + 1);
    if (i.always && again) best = {};
    if (i.always && n < s.last && (i.ends || i.branch > s.last)) best = {.possible = false};
    if (forward)
      if (const way jump = via(i.branch); i.always || jump.better(best)) best = jump;
    best.instructions += 1;
    best.moved += i.kind == load || i.kind == store || i.kind == atomic ? i.bytes : 0;
    at(n) = best;
  }
  if (!at(s.first).possible) return counts_of(code, s);
  sass_counts c;
  for (std::int64_t n = s.first; n >= 0; n = at(n).next) count(c, code[static_cast<std::size_t>(n)]);
  return c;
}

// Does a way within the span lead from its first instruction to its last? Where threads converge is not followed, so a
// span without an end of the function in it is one in any case. Else the last goes back from a block that stands out of
// the way, behind that end, and is no loop's.
bool is_loop(const std::vector<sass_instruction>& code, const span_of_code& s) {
  const auto ends = [](const sass_instruction& i) { return i.always && i.ends; };
  if (std::none_of(code.begin() + s.first, code.begin() + s.last, ends)) return true;
  std::vector<bool> met(static_cast<std::size_t>(s.last - s.first) + 1);
  std::vector<std::int64_t> open{s.first};
  while (!open.empty()) {
    const std::int64_t n = open.back();
    open.pop_back();
    if (n < s.first || n > s.last || met[static_cast<std::size_t>(n - s.first)]) continue;
    met[static_cast<std::size_t>(n - s.first)] = true;
    const sass_instruction& i = code[static_cast<std::size_t>(n)];
    if (i.branch >= 0) open.push_back(i.branch);
    if (!i.always) open.push_back(n + 1);
  }
  return met.back();
}

// The rest of an unrolled loop does a fraction of its work.
bool is_rest(const sass_counts& of, const sass_counts& c) {
  for (const int part : {2, 3, 4, 5, 6, 7, 8, 16})
    if (c.loaded * part == of.loaded && c.stored * part == of.stored) return true;
  return false;
}

}  // namespace

const char* name_of(sass_kind k) {
  constexpr const char* names[] = {"loads",    "stores",  "shared",   "local",     "atomics", "exchanges",
                                   "barriers", "integer", "floating", "functions", "tensor",  "other"};
  return names[static_cast<int>(k)];
}

int sass_counts::all() const { return std::accumulate(std::begin(of), std::end(of), 0); }

std::vector<sass_instruction> decode(const unsigned char* code, std::size_t bytes) {
  std::vector<sass_instruction> made(bytes / 16);
  for (std::size_t n = 0; n < made.size(); ++n) {
    const unsigned char* const at = code + 16 * n;
    std::uint64_t low = 0;
    std::memcpy(&low, at, 8);
    const unsigned op = low & 0x1ff;
    const auto found = std::find_if(std::begin(operations), std::end(operations),
                                    [&](const operation& o) { return o.code == op; });
    if (found != std::end(operations)) made[n].kind = found->kind;
    const bool moves = made[n].kind == load || made[n].kind == store || made[n].kind == atomic;
    if (moves) made[n].bytes = made[n].kind == atomic ? 4 : width_of(at);
    if (op == load_matrices) made[n].in_shared = 4 << (at[9] & 3);
    if (op == copy_to_shared) made[n].in_shared = made[n].bytes;
    if (op == branch) made[n].branch = branch_of(at, static_cast<std::int64_t>(n));
    made[n].ends = op == leave || op == back;
    made[n].always = is_unconditional(at);
  }
  return made;
}

std::vector<sass_loop> hot_loops(const std::vector<sass_instruction>& code) {
  std::vector<span_of_code> all;
  for (std::size_t n = 0; n < code.size(); ++n) {
    const auto last = static_cast<std::int64_t>(n);
    if (code[n].branch < 0 || code[n].branch >= last) continue;  // one that goes to itself ends the code
    if (!is_loop(code, {code[n].branch, last})) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == code[n].branch; });
    if (same == all.end()) all.push_back({code[n].branch, last});
    else same->last = last;
  }
  std::vector<span_of_code> moving;
  for (const span_of_code& s : all)
    if (const sass_counts c = counts_of(code, s); c.loaded + c.stored > 0) moving.push_back(s);
  std::sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<sass_loop> hot;
  for (const span_of_code& s : moving) {
    const bool outer = std::any_of(moving.begin(), moving.end(), [&](const span_of_code& other) {
      return (other.first != s.first || other.last != s.last) && s.holds(other);
    });
    if (outer) continue;
    sass_loop made{s.first, s.last, counts_of_way(code, s), 0};
    for (const span_of_code& around : all)
      if (around.holds(s))
        made.barriers_around =
            std::max(made.barriers_around, counts_of(code, around).of[static_cast<int>(sass_kind::barrier)]);
    if (hot.empty() || !is_rest(hot.back().counts, made.counts)) hot.push_back(made);
  }
  // Where others load, a loop that only stores is what the compiler made of rows without elements.
  if (std::any_of(hot.begin(), hot.end(), [](const sass_loop& l) { return l.counts.loaded > 0; }))
    std::erase_if(hot, [](const sass_loop& l) { return l.counts.loaded == 0; });
  return hot;
}

}  // namespace sheaf::test
