#include <algorithm>

#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::inline v0_1::plan {

read_table::read_table(const graph& g, const std::vector<stage>& stages) {
  // Producers stand before consumers.
  for (const stage& s : stages) {
    auto& direct = direct_[s.define];
    for_each_root(s, [&](node_id root, root_kind what) {
      if (what == root_kind::made) direct.insert(root);
      if (what != root_kind::read) return;
      for_each_node(g, root, [&](node_id n) {
        if (g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::define) direct.insert(g.arg(n, 0));
      });
    });
  }
  close(stages);
}

bool read_table::reaches(node_id reader, node_id writer, std::unordered_set<node_id>& seen) const {
  const auto found = direct_.find(reader);
  if (reader == writer || found == direct_.end() || !seen.insert(reader).second) return reader == writer;
  return std::ranges::any_of(found->second, [&](node_id next) { return reaches(next, writer, seen); });
}

void read_table::add(node_id later, node_id first) {
  std::unordered_set<node_id> seen;
  if (!reaches(first, later, seen)) direct_[later].insert(first);
}

void read_table::close(const std::vector<stage>& stages) {
  for (const stage& s : stages) {
    auto& all = all_[s.define];
    for (const node_id writer : direct_[s.define]) {
      all.insert(writer);
      if (const auto before = all_.find(writer); before != all_.end() && writer != s.define)
        all.insert(before->second.begin(), before->second.end());
    }
  }
}

}  // namespace sheaf::inline v0_1::plan
