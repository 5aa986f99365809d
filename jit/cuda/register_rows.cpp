#include <sheaf/jit/cuda/register_rows.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <sheaf/jit/cuda/grid_tiles.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::cuda {

namespace {

using namespace tuning::register_rows;
using kind = register_rows::kind;

// A vector loop that may be written out, and where it stands.
struct plain_loop {
  const ir::statement* at;
  const ir::block* block;                   // that it stands in
  std::vector<const ir::statement*> around;  // loops, outermost first
};
// A load or store, one of both.
struct access {
  const ir::instruction* load = nullptr;
  const ir::statement* store = nullptr;
  ir::value id = ir::none;  // of the load
  int loop = -1;            // plain, -1: elsewhere
  bool placed = false;      // in its lanes, element by element
  std::int32_t buffer() const { return load != nullptr ? load->target : store->target; }
  const std::vector<ir::value>& subscripts() const { return load != nullptr ? load->args : store->subscripts; }
};

class finder {
 public:
  finder(const ir::module& m, const ir::kernel& k, call_extents extents, extent_bounds bounds)
      : m_(m), k_(k), extents_(extents), bounds_(bounds) {}

  register_rows operator()(int run) {
    walk(k_.body);
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(m_.buffers.size()); ++b) add_partial(b);
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(m_.buffers.size()); ++b) add_local(b);
    for (std::size_t a = 0; a < accesses_.size(); ++a) add_load(a);
    for (std::size_t r = found_.rows.size(); r-- > 0;)
      if (!is_known(found_.rows[r], run)) found_.drop(static_cast<int>(r));
    return std::move(found_);
  }

 private:
  const ir::instruction& at(ir::value v) const { return k_.instructions[static_cast<std::size_t>(v)]; }
  const ir::buffer& buffer(std::int32_t b) const { return m_.buffers[static_cast<std::size_t>(b)]; }
  const plain_loop& loop_of(const access& a) const { return loops_[static_cast<std::size_t>(a.loop)]; }

  // Loads, computes, combines and stores, from place 0 on.
  bool is_plain(const ir::statement& s) const {
    if (s.how_loop != ir::loop_kind::vector || s.backward || s.body.size() > most_statements) return false;
    const ir::instruction& low = at(s.low);
    if (low.code != ir::opcode::constant || low.bits != 0) return false;
    return std::ranges::all_of(s.body, [&](const ir::statement& inner) {
      if (inner.kind == ir::statement_kind::instruct) return at(inner.id).code < ir::opcode::accumulator;
      if (inner.kind == ir::statement_kind::store) return !inner.adds;
      return inner.kind == ir::statement_kind::combine || inner.kind == ir::statement_kind::prefetch;
    });
  }
  void walk(const ir::block& body) {
    for (const ir::statement& s : body) {
      const bool loop = s.kind == ir::statement_kind::loop, plain = loop && is_plain(s);
      if (plain) loops_.push_back({&s, &body, around_});
      const int outside = std::exchange(loop_, plain ? static_cast<int>(loops_.size()) - 1 : -1);
      if (loop) around_.push_back(&s);
      walk(s.body);
      if (loop) around_.pop_back();
      loop_ = outside;
      if (s.kind == ir::statement_kind::copy) elsewhere_.insert(s.target), elsewhere_.insert(s.to);
      if (s.kind == ir::statement_kind::append) elsewhere_.insert(s.target);
      if (s.kind == ir::statement_kind::store) add({.store = &s});
      if (s.kind != ir::statement_kind::instruct) continue;
      if (at(s.id).code == ir::opcode::next_places) elsewhere_.insert(at(s.id).target);
      if (at(s.id).code == ir::opcode::load) add({.load = &at(s.id), .id = s.id});
    }
  }
  void add(access a) {
    a.loop = loop_;
    const ir::access how = a.load != nullptr ? a.load->how : a.store->how;
    const ir::value mask = a.load != nullptr ? a.load->mask : a.store->mask;
    if (loop_ >= 0 && how == ir::access::contiguous && mask == ir::none && !a.subscripts().empty()) {
      const ir::instruction& last = at(a.subscripts().back());
      a.placed = last.code == ir::opcode::counter && last.target == loop_of(a).at->loop;
    }
    accesses_.push_back(a);
  }

  // The same wherever they are computed.
  bool alike(ir::value a, ir::value b) const {
    if (a == b) return true;
    const ir::instruction &x = at(a), &y = at(b);
    if (x.code != y.code || x.type != y.type || x.vector || y.vector || x.args.size() != y.args.size()) return false;
    if (x.code == ir::opcode::constant) return x.bits == y.bits;
    if (x.code == ir::opcode::counter) return x.target == y.target;
    if (x.code == ir::opcode::extent) return x.target == y.target && x.dimension == y.dimension;
    if (x.code != ir::opcode::elementwise || x.what != y.what) return false;
    for (std::size_t n = 0; n < x.args.size(); ++n)
      if (!alike(x.args[n], y.args[n])) return false;
    return true;
  }
  bool same_row(const access& a, const access& b) const {
    const auto &x = a.subscripts(), &y = b.subscripts();
    if (a.buffer() != b.buffer() || !alike(loop_of(a).at->high, loop_of(b).at->high)) return false;
    for (std::size_t d = 0; d + 1 < x.size(); ++d)
      if (!alike(x[d], y[d])) return false;
    return true;
  }
  // Made of constants, extents and counters of these loops.
  bool is_of(ir::value v, std::span<const ir::statement* const> loops) const {
    const ir::instruction& i = at(v);
    if (i.code == ir::opcode::constant || i.code == ir::opcode::extent) return true;
    if (i.code == ir::opcode::counter)
      return std::ranges::any_of(loops, [&](const ir::statement* l) { return l->loop == i.target; });
    return i.code == ir::opcode::elementwise && !i.vector &&
           std::ranges::all_of(i.args, [&](ir::value x) { return is_of(x, loops); });
  }
  bool varies(const access& a) const {
    const auto& list = a.subscripts();
    return std::any_of(list.begin(), list.end() - 1, [&](ir::value v) { return !is_of(v, {}); });
  }

  // All of them, in order, or none where one is not in the lanes of a plain loop.
  std::vector<access> all_of(std::int32_t b) const {
    std::vector<access> list;
    for (const access& a : accesses_) {
      if (a.buffer() != b) continue;
      if (!a.placed || elsewhere_.contains(b)) return {};
      list.push_back(a);
    }
    return list;
  }
  static bool is_word(element type) { return row(type).bytes >= 4; }

  int add_row(kind what, const access& first, element type) {
    found_.rows.push_back({what, first.buffer(), type, first.loop, first.loop});
    return static_cast<int>(found_.rows.size()) - 1;
  }
  void meet(int r, const access& a, bool fills) {
    register_rows::row& row = found_.rows[static_cast<std::size_t>(r)];
    row.last = std::max(row.last, a.loop);
    if (std::ranges::find(row.in, loop_of(a).at) == row.in.end()) row.in.push_back(loop_of(a).at);
    if (a.store != nullptr)
      found_.stores[a.store] = r;
    else
      (fills ? found_.filled_by : found_.loads)[a.id] = r;
  }

  void add_partial(std::int32_t b) {
    const std::vector<access> list = buffer(b).where == ir::role::workspace ? all_of(b) : std::vector<access>();
    if (list.size() < 3 || list.front().store == nullptr || !is_word(buffer(b).type)) return;
    const plain_loop& fill = loop_of(list.front());
    const auto stores = std::ranges::count_if(
        fill.at->body, [](const ir::statement& s) { return s.kind == ir::statement_kind::store; });
    const auto& place = list.front().subscripts();
    const bool in_task = !fill.around.empty() && fill.around.front() == parallel_loop(k_);
    if (stores != 1 || !in_task || fill.block != &fill.around.back()->body) return;
    if (!std::all_of(place.begin(), place.end() - 1, [&](ir::value v) { return is_of(v, fill.around); })) return;
    bool updated = false;
    for (const access& a : list) {
      const auto& around = loop_of(a).around;
      const std::size_t depth = fill.around.size();
      if (around.size() < depth || !std::ranges::equal(fill.around, std::span(around).first(depth))) return;
      if (!same_row(list.front(), a)) return;
      updated = updated || (a.load != nullptr && around.size() > depth);
    }
    if (!updated) return;
    const int r = add_row(kind::partial, list.front(), buffer(b).type);
    for (const access& a : list) meet(r, a, false);
    found_.rows.back().home = fill.block;
    found_.rows.back().last = std::numeric_limits<int>::max();
  }
  void add_local(std::int32_t b) {
    const std::vector<access> list =
        buffer(b).where == ir::role::local && buffer(b).rank == 1 ? all_of(b) : std::vector<access>();
    if (list.size() < 2 || list.front().store == nullptr || !is_word(buffer(b).type)) return;
    for (const access& a : list)
      if (!same_row(list.front(), a)) return;
    const int r = add_row(kind::local, list.front(), buffer(b).type);
    for (const access& a : list) meet(r, a, false);
  }
  // What a loop loads of an input, and loops beside it do again.
  void add_load(std::size_t n) {
    const access& first = accesses_[n];
    const auto is_row = [&](const access& a) {
      return a.load != nullptr && a.placed && !found_.loads.contains(a.id) && !found_.filled_by.contains(a.id);
    };
    if (!is_row(first) || buffer(first.buffer()).where != ir::role::input || !varies(first)) return;
    int r = -1;
    for (std::size_t k = n + 1; k < accesses_.size(); ++k) {
      const access& a = accesses_[k];
      if (!is_row(a) || a.loop == first.loop || loop_of(a).block != loop_of(first).block) continue;
      if (!same_row(first, a)) continue;
      if (r < 0) {
        r = add_row(kind::load, first, first.load->type);
        if (const int bytes = row(buffer(first.buffer()).type).bytes; bytes < 4) found_.rows.back().narrow = bytes;
        meet(r, first, true);
      }
      meet(r, a, false);
    }
  }

  // How many iterations the loops have that meet it, and so how long it is.
  bool is_known(register_rows::row& row, int run) {
    for (const ir::statement* loop : row.in) {
      if (run > 1 && loop->lanes != row.in.front()->lanes) return false;
      const auto iterations = iterations_of(*loop);
      if (!iterations) return false;
      found_.loops[loop] = *iterations;
      row.elements = std::max(row.elements, iterations->iterations * loop->lanes);
    }
    row.run = run;
    row.lanes = row.in.front()->lanes;
    return true;
  }
  std::optional<register_rows::written_loop> iterations_of(const ir::statement& loop) const {
    if (!bounds_.empty()) {
      const auto high = closed_intervals(m_, k_, bounds_)(loop.high);
      if (!high || !high->is_point()) return std::nullopt;
    }
    const auto known = closed_values(m_, k_, extents_).iterations(loop);
    if (!known || known->is_of_class() || !(*known >= 1) || !(*known <= std::ranges::end(steps)[-1]))
      return std::nullopt;
    const auto step = std::ranges::find_if(steps, [&](std::int64_t n) { return *known <= n; });
    return register_rows::written_loop{*step, *known == *step};
  }

  const ir::module& m_;
  const ir::kernel& k_;
  call_extents extents_;
  extent_bounds bounds_;
  std::vector<plain_loop> loops_;
  std::vector<access> accesses_;
  std::set<std::int32_t> elsewhere_;
  std::vector<const ir::statement*> around_;
  int loop_ = -1;
  register_rows found_;
};

}  // namespace

bool register_rows::holds(std::int32_t buffer) const {
  return std::ranges::any_of(rows, [&](const row& r) { return r.what != kind::load && r.buffer == buffer; });
}

std::int64_t register_rows::registers(int group) const {
  std::int64_t most = 0;
  for (const row& at : rows) {
    std::int64_t all = 0;
    for (const row& r : rows)
      if (r.first <= at.first && (at.first < r.last || &at == &r))
        all += ((r.elements + group - 1) / group * r.bytes(group) + 3) / 4;
    most = std::max(most, all);
  }
  return most;
}

void register_rows::drop(int which) {
  const auto leave = [which](auto& map) {
    std::erase_if(map, [which](const auto& entry) { return entry.second == which; });
    for (auto& [at, r] : map) r -= r > which;
  };
  leave(filled_by), leave(loads), leave(stores);
  rows.erase(rows.begin() + which);
  std::erase_if(loops, [&](const auto& entry) {
    return std::ranges::none_of(rows, [&](const row& r) { return std::ranges::find(r.in, entry.first) != r.in.end(); });
  });
}

register_rows find_register_rows(const ir::module& m, const ir::kernel& k, call_extents extents, extent_bounds bounds,
                                 int run, int group) {
  if (extents.empty() || parallel_loop(k) == nullptr) return {};
  register_rows found = finder(m, k, extents, bounds)(run);
  const std::int64_t most = group == threads_of_long ? most_of_long : most_registers;
  while (found.registers(group) > most) found.drop(static_cast<int>(found.rows.size()) - 1);
  const auto fits = [&](const auto& loop) { return loop.first->lanes % group == 0; };
  return std::ranges::all_of(found.loops, fits) ? found : register_rows{};
}

}  // namespace sheaf::inline v0_1::cuda
