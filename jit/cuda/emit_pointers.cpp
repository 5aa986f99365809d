// Addresses in loops: what a loop loads, stores or copies at places that move by the same amount in each iteration has
// one pointer, which is made before the loop and moved at the end of an iteration. Lanes add constants to it, and so do
// places a constant further along memory. Other addresses are computed where they are used. Shown by
// tests/cuda/tasks.cpp.
#include <algorithm>

#include <sheaf/jit/cuda/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

// A subscript in the first iteration, and by how much it grows from one to the next; empty: not at all.
struct moving_place {
  std::string first, step;
  std::int64_t offset = 0;  // of `first`, along memory
};

std::string added(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : cat(a, " + ", b);
}
std::string times(const std::string& a, const std::string& b) { return a.empty() ? "" : cat("(", a, ") * ", b); }

// Then a vector is a number of the thread's, and a place that data or lanes name is one pointer as well.
bool has_one_lane(const function_emitter& f) { return f.lanes > 0 && f.held(f.lanes) == 1; }

class places {
 public:
  places(const function_emitter& f, const ir::statement& loop) : f_(f), loop_(loop) {}

  std::optional<moving_place> operator()(ir::value v) const {
    const ir::instruction& i = f_.instruction(v);
    if (i.type != element::i64 || (i.vector && !has_one_lane(f_))) return std::nullopt;
    if (i.code == ir::opcode::counter && i.target == loop_.loop)
      return moving_place{f_.ref(loop_.low), loop_.how_loop == ir::loop_kind::vector ? cat(loop_.lanes, "ll") : "1ll"};
    if (i.code == ir::opcode::constant || i.code == ir::opcode::counter || is_outside(v))
      return moving_place{f_.ref(v), ""};
    if (i.code == ir::opcode::lanes) return std::nullopt;
    if (i.code != ir::opcode::elementwise) return std::nullopt;
    if (i.what != op::add && i.what != op::sub && i.what != op::mul) return std::nullopt;
    const auto a = (*this)(i.args[0]), b = (*this)(i.args[1]);
    if (!a || !b) return std::nullopt;
    if (i.what == op::add) return moving_place{cat("(", a->first, " + ", b->first, ")"), added(a->step, b->step)};
    if (i.what == op::sub)
      return moving_place{cat("(", a->first, " - ", b->first, ")"),
                          b->step.empty() ? a->step : cat(a->step.empty() ? "0ll" : a->step, " - (", b->step, ")")};
    if (!a->step.empty() && !b->step.empty()) return std::nullopt;
    return moving_place{cat("(", a->first, " * ", b->first, ")"),
                        a->step.empty() ? times(b->step, a->first) : times(a->step, b->first)};
  }

 private:
  bool is_outside(ir::value v) const {
    return f_.made[static_cast<std::size_t>(v)] || f_.home[static_cast<std::size_t>(v)] != &loop_.body;
  }
  const function_emitter& f_;
  const ir::statement& loop_;
};

// Takes constants that are added to a subscript away from it: what they come to.
std::int64_t taken_constants(const function_emitter& f, ir::value& subscript) {
  std::int64_t all = 0;
  for (;;) {
    const ir::instruction& i = f.instruction(subscript);
    if (i.code != ir::opcode::elementwise || i.what != op::add || i.vector) return all;
    const auto is_constant = [&](ir::value v) { return f.instruction(v).code == ir::opcode::constant; };
    const auto which = std::find_if(i.args.begin(), i.args.end(), is_constant);
    if (which == i.args.end()) return all;
    all += f.instruction(*which).bits;
    subscript = i.args[which == i.args.begin() ? 1 : 0];
  }
}

// The element that lane 0 is at in the first iteration, from the buffer's begin.
std::optional<moving_place> place_of(const function_emitter& f, const ir::statement& loop, std::int32_t buffer,
                                     const std::vector<ir::value>& subscripts) {
  const places of(f, loop);
  const ir::buffer& b = f.buffer(buffer);
  moving_place all;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    if (f.instruction(subscripts[d]).vector && (!has_one_lane(f) || b.where == ir::role::local)) continue;
    const bool unit = (b.unit_inner || b.where == ir::role::local) && static_cast<int>(d) + 1 == b.rank;
    ir::value subscript = subscripts[d];
    if (unit) all.offset = taken_constants(f, subscript);
    const auto one = of(subscript);
    if (!one) return std::nullopt;
    const std::string stride = unit ? "1ll" : cat("b", buffer, "_s", d);
    all.first = added(all.first, unit ? one->first : times(one->first, stride));
    all.step = added(all.step, unit ? one->step : times(one->step, stride));
  }
  return all;
}

}  // namespace

std::vector<moving_pointer> find_pointers(const function_emitter& f, const ir::statement& loop) {
  std::vector<moving_pointer> found;
  if (loop.backward) return found;
  for (const ir::statement& s : loop.body) {
    const bool stores = s.kind == ir::statement_kind::store || s.kind == ir::statement_kind::copy;
    const bool loads = s.kind == ir::statement_kind::instruct && f.instruction(s.id).code == ir::opcode::load;
    if (!stores && !loads) continue;
    if (loads && f.made[static_cast<std::size_t>(s.id)]) continue;
    const register_rows& rows = f.place.rows;
    const bool in_registers = loads ? rows.loads.contains(s.id) : f.stored_row < 0 && rows.stores.contains(&s);
    if (in_registers) continue;
    const std::int32_t buffer = stores ? s.target : f.instruction(s.id).target;
    const auto at = place_of(f, loop, buffer, stores ? s.subscripts : f.instruction(s.id).args);
    if (!at || at->step.empty()) continue;
    const auto same = std::find_if(found.begin(), found.end(), [&](const moving_pointer& p) {
      return p.buffer == buffer && p.first == at->first && p.step == at->step;
    });
    if (same != found.end())
      same->at.push_back({&s, at->offset});
    else
      found.push_back({{{&s, at->offset}}, buffer, at->first, at->step, {}});
  }
  // Each takes two registers, and more would be spilled.
  const int most = (f.has_all_registers ? 2 : 1) * tuning::emit::most_pointers;
  if (found.size() > static_cast<std::size_t>(most)) found.clear();
  return found;
}

void declare_pointers(function_emitter& f, std::vector<moving_pointer>& pointers) {
  for (moving_pointer& p : pointers) {
    p.name = cat("q", f.pointers_made++);
    const ir::buffer& b = f.buffer(p.buffer);
    const std::int64_t base = p.at.front().offset;
    f.line(cat(b.where == ir::role::input ? "const " : "", stored_type(b.type), "* ", p.name, " = b", p.buffer, " + ",
               p.first, base == 0 ? "" : cat(" + ", base), ";"));
    f.line(cat("const i64 ", p.name, "_step = ", p.step, ";"));
    for (const auto& [at, offset] : p.at)
      f.pointer_of[at] = offset == base ? p.name : cat("(", p.name, " + ", offset - base, ")");
  }
}

void move_pointers(function_emitter& f, const std::vector<moving_pointer>& pointers) {
  for (const moving_pointer& p : pointers) {
    if (p.along.empty()) f.line(cat(p.name, " += ", p.name, "_step;"));
    for (const auto& [at, offset] : p.at) f.pointer_of.erase(at);
  }
}

}  // namespace sheaf::inline v0_1::cuda
