#include <sheaf/jit/plan/panels.hpp>

#include <algorithm>

#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::plan {

namespace {

constexpr double beyond_cache = 16 << 20;   // bytes of a map whose rows would leave the caches
constexpr std::int64_t least_columns = 64;  // narrower pieces of rows cost bandwidth,
constexpr std::int64_t most_columns = 128;  //   wider ones bring no more of it and fill the cache
constexpr double enough_panels = 16;

class panels {
 public:
  panels(graph& g, const facts& known, program_plan& plan)
      : g_(g), known_(known), plan_(plan), reads_(g, plan.stages) {}

  void operator()() {
    for (stage& s : plan_.stages)
      if (is_large_map(s)) take(s);
  }

 private:
  bool is_closed(node_id idx) const { return g_.free[g_.arg(idx, 0)].empty() && g_.free[g_.arg(idx, 1)].empty(); }

  // Rows of lanes, along which nothing is reduced.
  bool is_large_map(const stage& s) const {
    return s.how == way::map && s.where == place::output && !s.asked && s.when == no_node && s.order_when == no_node &&
           s.rows.whole == no_node && s.indices.size() == 2 && s.vector == s.indices.back() && !holds(g_, s.body, op::reduce) &&
           is_closed(s.vector) && (s.bytes >= beyond_cache || known_.call().eager);
  }

  // A result for each of the columns, or for each of them and each block of rows; computed down the column.
  bool is_of_columns(const stage& s, node_id columns) const {
    if (s.how != way::map || s.asked || s.when != no_node || s.order_when != no_node || s.indices.empty()) return false;
    const node_id own = s.indices.back();
    const bool blocks = s.indices.size() == 2 && s.rows.whole != no_node && s.indices.front() == s.rows.block;
    return (s.indices.size() == 1 || blocks) && s.vector == own && same_range(g_, own, columns) && crosses_no_column(s, own);
  }
  // Every reduction keeps the column, and nothing is loaded of another.
  bool crosses_no_column(const stage& s, node_id own) const {
    bool fine = true;
    for_each_node(g_, s.body, [&](node_id n) {
      if (g_.kind(n) == op::reduce) fine = fine && g_.free[n].has(g_.ordinal(own));
      if (g_.kind(n) == op::load && g_.kind(g_.arg(n, 0)) == op::define) fine = fine && g_.arg(n, g_[n].count - 1) == own;
    });
    return fine;
  }

  std::vector<stage*> needed_by(const stage& map) {
    std::vector<stage*> list;
    for (stage& s : plan_.stages)
      if (reads_.waits(map.define, s.define)) list.push_back(&s);
    return list;
  }

  // Other results of the same columns, which would read the rows once more.
  void add_siblings(std::vector<stage*>& list, const stage& map, node_id rows) {
    const auto has = [&](node_id define) {
      return std::any_of(list.begin(), list.end(), [&](const stage* s) { return s->define == define; });
    };
    for (stage& s : plan_.stages) {
      if (has(s.define) || !is_of_columns(s, map.vector)) continue;
      bool same = s.rows.whole != no_node && same_range(g_, s.rows.whole, rows), others = false;
      for (const stage& writer : plan_.stages) {
        if (!reads_.reads(s.define, writer.define)) continue;
        (has(writer.define) ? same : others) = true;
      }
      if (same && !others) list.push_back(&s);
    }
  }

  // Bytes that a column brings to the cache.
  double column_bytes(const std::vector<stage*>& list, node_id& rows) const {
    std::unordered_set<node_id> tensors;
    double bytes = 0;
    for (const stage* s : list) {
      if (s->rows.whole == no_node) continue;
      rows = s->rows.whole;
      for_each_node(g_, s->body, [&](node_id n) {
        const bool whole = g_.kind(n) == op::load && g_.kind(g_.arg(n, 0)) == op::input && g_.free[n].has(g_.ordinal(s->rows.part)) &&
                           g_.free[n].has(g_.ordinal(s->vector));
        if (whole && tensors.insert(g_.arg(n, 0)).second) bytes += known_.trips(rows) * row(g_.type(n)).bytes;
      });
    }
    return bytes;
  }

  void take(stage& map) {
    std::vector<stage*> list = needed_by(map);
    for (const stage* s : list)
      if (!is_of_columns(*s, map.vector)) return;
    if (!crosses_no_column(map, map.vector)) return;
    node_id rows = no_node;
    const double each = column_bytes(list, rows);
    if (each == 0 || !same_range(g_, rows, map.loops.front())) return;
    const auto fits = [&](std::int64_t columns) { return static_cast<double>(columns) * each <= known_.call().cache_share; };
    std::int64_t columns = known_.call().eager ? least_columns : most_columns;
    while (columns > least_columns && !fits(columns)) columns /= 2;
    const bool enough = known_.trips(map.vector) >= enough_panels * static_cast<double>(columns) || known_.call().eager;
    if (!fits(columns) || !enough) return;
    add_siblings(list, map, rows);
    list.push_back(&map);
    for (stage* s : list) {
      s->parallel = s->vector;
      s->chunk = columns;
      s->in_panels = true;
      s->lanes = static_cast<int>(std::min<std::int64_t>(s->lanes, columns));
      std::erase(s->loops, s->vector);
      s->loops.push_back(s->vector);
      s->reasons.push_back("in panels of " + std::to_string(columns) +
                           " columns, which stay in the cache until they are read again");
    }
  }

  graph& g_;
  const facts& known_;
  program_plan& plan_;
  const read_table reads_;
};

}  // namespace

void take_panels(graph& g, const facts& known, program_plan& plan) {
  if (!known.call().gpu) panels(g, known, plan)();
}

}  // namespace sheaf::plan
