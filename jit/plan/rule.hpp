// What a rule of materialisation is and what it works with; the table is in rules.cpp.
#pragma once
#include <optional>

#include <sheaf/jit/plan/algorithms/extremum/extremum_ties.hpp>

namespace sheaf::inline v0_1::plan {

// A reduction in the body of a stage. Its range along an outer index, and what it sums, are analysed once, when a
// rule first asks.
class site {
 public:
  site(graph& g, node_id reduce) : node(reduce), g_(g) {}
  const sliding& range() {
    if (!range_) range_ = sliding_of(g_, node);
    return *range_;
  }
  bool slides() { return range().over != no_node; }
  const extremum_ties& ties() {
    if (!ties_) ties_ = extremum_ties_of(g_, node);
    return *ties_;
  }

  const node_id node;

 private:
  graph& g_;
  std::optional<sliding> range_;
  std::optional<extremum_ties> ties_;
};

struct rule {
  const char* name;
  const char* why_here;
  bool (*on_stage)(const context&, stage&);
  // Instead of it, for each reduction of the body; rules of one group are tried reduction by reduction.
  bool (*on_reduction)(const context&, stage&, site&) = nullptr;
  enum class order : std::uint8_t { innermost_first, outermost_first } tried = order::innermost_first;
  int group = 0;
};

}  // namespace sheaf::inline v0_1::plan
