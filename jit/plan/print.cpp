#include <sheaf/jit/plan/plan.hpp>

#include <cstdio>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

std::string index_text(const graph& g, node_id idx) {
  std::string text = text_of(g, index_name(g, idx));
  for (int k = index_serial(g, idx); k > 0; --k) text += '\'';
  return text;
}

std::string list_text(const graph& g, const std::vector<node_id>& list) {
  std::string text;
  for (const node_id idx : list) text += (text.empty() ? "" : ", ") + index_text(g, idx);
  return text;
}

std::string short_number(const amount& x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x.estimate());
  return text;
}

std::string stage_text(const graph& g, const stage& s) {
  static const char* const places[] = {"output", "workspace", "check"};
  std::string text = "  stage " + name_of(g, s.define) + "(" + list_text(g, s.indices) + ") -> " +
                     places[static_cast<int>(s.where)] + " " + std::to_string(s.ordinal) + ", " + way_name(s.how);
  if (!s.loops.empty()) text += "\n    loops: " + list_text(g, s.loops);
  if (s.vector != no_node) text += "; " + index_text(g, s.vector) + " in " + std::to_string(s.lanes) + " lanes";
  if (s.short_rows) text += " along short rows";
  if (const pair_tile_form* const f = std::get_if<pair_tile_form>(&s.form))
    text += "\n    tiles: " + std::to_string(tuning::pair_tiles::rows_of_task) + " " + index_text(g, f->rows) + " x " +
            std::to_string(numerics::pair_tiles::places) + " " + index_text(g, f->walk);
  text +=
      "\n    predicted: " + short_number(s.bytes) + " bytes stored, " + short_number(s.operations) + " operations\n";
  std::string rules;
  for (const char* const name : s.rules) rules += (rules.empty() ? "" : ", ") + std::string(name);
  if (!rules.empty()) text += "    rules: " + rules + "\n";
  for (const std::string& reason : s.reasons) text += "    because: " + reason + "\n";
  return text;
}

std::string task_text(const graph& g, const task_size& task) {
  if (task.second != no_node) return " and " + std::to_string(task.parts) + " parts of " + index_text(g, task.second);
  const bool grows = task.most_tasks != 0 || task.of_extents != no_node;
  const std::string chunks = grows ? " in chunks of a multiple of " : " in chunks of ";
  return task.chunk > 0 ? chunks + std::to_string(task.chunk) : "";
}

}  // namespace

std::string text_of(const graph& g, name_id name) {
  const text_range t = g.names[name];
  return std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size));
}

std::string name_of(const graph& g, node_id define) { return text_of(g, static_cast<name_id>(g[define].attribute)); }

const char* way_name(way how) {
  static const char* const names[] = {"map",     "partial",       "scatter",        "range scatter",   "scan",
                                      "stencil", "window",        "slice lists",    "slice endpoints", "sweep",
                                      "space",   "inverse index", "tile starts",    "segmented tiles", "order",
                                      "pair tiles"};
  return names[static_cast<int>(how)];
}

std::string demand_name(const graph& g, int demand) { return text_of(g, g.demands[demand].operation); }

std::string print(const graph& g, const program_plan& p) {
  std::string text;
  for (const check& c : p.checks)
    text += "check " +
            (c.demand < 0 ? "subscript " + std::to_string(c.dimension) + " of " + c.tensor : demand_name(g, c.demand)) +
            (c.uniform ? ", once before the call\n" : " over (" + list_text(g, c.indices) + ")\n");
  if (p.kernels.empty())  // on the way
    for (const stage& s : p.stages) text += stage_text(g, s);
  for (const kernel_plan& k : p.kernels) {
    text += "kernel " + k.name;
    if (k.parallel != no_node) text += ", parallel over " + index_text(g, k.parallel);
    text += task_text(g, k.task);
    for (std::size_t t = 0; t < k.tile.size(); ++t)
      text += (t == 0 ? ", register tile " : " x ") + std::to_string(k.tile[t].iterations) + " " +
              index_text(g, k.tile[t].index) + (k.tile[t].equal.empty() ? "" : " of equal data");
    if (k.cache.rows != no_node)
      text += ", cache tile " + std::to_string(k.task.rows) + " " + index_text(g, k.cache.rows) + " x " +
              std::to_string(k.cache.block) + " " + index_text(g, k.cache.walk) + ", " +
              std::to_string(k.cache.packed.size()) + " packed";
    for (const node_id idx : k.cache.inner)
      text += (idx == k.cache.inner.front() ? ", for all " : " and ") + index_text(g, idx);
    for (const node_id idx : k.cache.batch)
      text += (idx == k.cache.batch.front() ? ", of each " : " and ") + index_text(g, idx);
    if (k.group.rows != no_node) {
      text += ", tile " + std::to_string(k.group.rows_of_tile()) + " " + index_text(g, k.group.rows) + " x " +
              std::to_string(k.group.lanes_of_tile()) + " " + index_text(g, k.group.lane) + " in shared memory, " +
              std::to_string(k.group.terms_of_block()) + " " +
              index_text(g, k.group.walk) + " at a time, " + std::to_string(k.group.results_of_rows) + " x " +
              std::to_string(k.group.results_of_lanes) + " a thread";
      if (k.group.mma) text += ", multiplied by tensor cores";
      if (k.group.warpgroups) text += ", four warps at once";
    }
    if (k.promised) text += ", in the first call only";
    if (k.interleaved.with >= 0)
      text += ", in " + std::to_string(k.interleaved.iterations) + " iterations with " +
              p.kernels[static_cast<std::size_t>(k.interleaved.with)].name +
              ": memory does both faster than one after the other";
    if (k.part > 0) {  // the first of several stands for all
      text += "\n";
      continue;
    }
    text += "\n  predicted: " + short_number(k.read) + " bytes read, " + short_number(k.written) + " written, " +
            short_number(k.operations) + " operations\n";
    for (const int i : k.stages) text += stage_text(g, p.at(i));
  }
  return text;
}

}  // namespace sheaf::inline v0_1::plan
