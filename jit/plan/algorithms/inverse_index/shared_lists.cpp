// Scatters whose updates go to the same rows, as sums, counts and extrema by one key, walk one list. Shown by
// tests/cuda/shared_lists.cpp.
#include <algorithm>

#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class list_of_several {
 public:
  list_of_several(const context& c, stage& s, const wanted_list& wanted) : c_(c), g_(c.g), s_(s), wanted_(wanted) {}

  bool operator()() {
    for (const stage& t : c_.before) {
      if (!goes_to_same_rows(t)) continue;
      stage& lists = *behind(t.inverse.array);
      replacement to_own = renaming(t.inverse.walk, wanted_.form.walk);
      std::vector<node_id> planes;
      for (const node_id n : t.inverse.named) planes.push_back(to_own(n));
      const bool all = std::ranges::all_of(wanted_.needed, [&](node_id n) {
        return std::ranges::find(planes, n) != planes.end();
      });
      if (!all && !takes_more(lists)) continue;
      const node_id array = all ? t.inverse.array : with_more(t.inverse.array, planes);
      if (array == no_node) continue;
      take(*std::ranges::find_if(c_.before, [&](const stage& u) { return u.inverse.array == array; }), array, planes);
      return true;
    }
    return false;
  }

 private:
  std::vector<stage>::iterator behind(node_id array) const {
    return std::ranges::find(c_.before, array, &stage::define);
  }
  // The indices of one walk as those of another, outermost first.
  replacement renaming(const std::vector<node_id>& from, const std::vector<node_id>& to) const {
    replacement put(g_, proofs::kept);
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k] != to[k]) put.rename(from[k], to[k]);
    return put;
  }

  bool goes_to_same_rows(const stage& t) const {
    const inverse_index_form &own = wanted_.form, &l = t.inverse;
    if (t.how != way::scatter || l.array == no_node || !l.by_row || t.when != s_.when) return false;
    if (l.walk.size() != own.walk.size() || !same_range(g_, l.owned, own.owned)) return false;
    if (g_.type(behind(l.array)->define) != wanted_.type) return false;
    replacement put = renaming(l.walk, own.walk);
    for (std::size_t k = 0; k < own.walk.size(); ++k)
      for (const int end : {0, 1})
        if (!known_equal(g_, put(g_.arg(l.walk[k], end)), g_.arg(own.walk[k], end))) return false;
    return is_same(g_, put(l.at), own.at);
  }
  // One that is sorted anew in each call, and goes the way of its scatters.
  bool takes_more(const stage& lists) const {
    return lists.sort.passes > 0 && lists.inverse.values.empty() && lists.inverse.walk.size() == 1;
  }

  bool reads(const stage& t, node_id plane) const {
    const term_of_row term = in_row(g_, t);
    replacement put(g_, proofs::kept);
    for (const node_id n : t.inverse.named)
      if (n != plane && g_.kind(n) != op::index) put.rename(n, identity_of(g_, monoid::sum, g_.type(n)));
    for (const node_id root : {put(term.value), put(term.rest)})
      if (g_.kind(plane) == op::index ? uses(g_, root, plane)
                                      : any_node(g_, root, [&](node_id n) { return n == plane; }))
        return true;
    return false;
  }

  // The list of an array made anew, with the planes that some of its scatters read and those that this one needs;
  // planes: those then, by this one's walk. no_node: there is none, and nothing was done.
  node_id with_more(node_id array, std::vector<node_id>& planes) {
    std::vector<stage*> scatters;
    for (stage& t : c_.before)
      if (t.inverse.array == array) scatters.push_back(&t);
    std::vector<node_id> needed;
    for (std::size_t p = 0; p < planes.size(); ++p)
      if (std::ranges::any_of(scatters, [&](const stage* t) { return reads(*t, t->inverse.named[p]); }))
        needed.push_back(planes[p]);
    for (const node_id n : wanted_.needed)
      if (std::ranges::find(needed, n) == needed.end()) needed.push_back(n);
    const stage old = *behind(array);
    inverse_index_form l = old.inverse;
    l.named = in_walk(needed, l.walk);
    stage lists = stage_of_list(g_, l, l.walk.front(), static_cast<std::int64_t>(needed.size()), g_.type(old.define));
    const double more = static_cast<double>(needed.size()) - static_cast<double>(planes.size());
    lists.when = old.when;
    lists.operations = old.operations;
    lists.bytes = old.bytes + more * row(g_.type(old.define)).bytes * c_.known.value(l.room).value_or(0);
    lists.reasons.push_back(old.reasons.front());
    std::vector<stage> memory;
    if (!sort_list_on_device({g_, c_.known, memory}, lists, l)) return no_node;
    *behind(old.sort.memory) = std::move(memory.front());
    const node_id made = lists.define;
    *behind(array) = std::move(lists);
    for (stage* t : scatters) {
      t->inverse.named = in_walk(needed, t->inverse.walk);
      t->inverse.array = made;
      read_parts_anew(c_, *t);
    }
    planes = needed;
    return made;
  }
  std::vector<node_id> in_walk(const std::vector<node_id>& planes, const std::vector<node_id>& walk) const {
    replacement put = renaming(wanted_.form.walk, walk);
    std::vector<node_id> list;
    for (const node_id n : planes) list.push_back(put(n));
    return list;
  }

  void take(const stage& t, node_id array, const std::vector<node_id>& planes) {
    inverse_index_form used = wanted_.form;
    used.named = planes;
    used.chunk = t.inverse.chunk, used.all_fit = t.inverse.all_fit, used.room = t.inverse.room;
    used.blocks = t.inverse.blocks;
    used.array = array;
    s_.reasons.push_back("walks the updates of its own rows by the list of " + name_of(g_, t.define));
    s_.inverse = used;
    fold_parts_of_rows(c_, s_);
  }

  const context& c_;
  graph& g_;
  stage& s_;
  const wanted_list& wanted_;
};

}  // namespace

bool share_list(const context& c, stage& s, const wanted_list& wanted) { return list_of_several(c, s, wanted)(); }

}  // namespace sheaf::inline v0_1::plan
