// How often an index runs at most, whatever the data of a call: of a range made of data, no more than the extent of
// what it subscripts. Infinite where nothing is known. facts::trips is what it usually is. Shown by
// tests/jit/error_bound.cpp.
#pragma once
#include <unordered_map>

#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

class most_trips {
 public:
  most_trips(const graph& g, const facts& known) : g_(g), known_(known) {}
  double operator()(node_id idx);

 private:
  // Values that an integer expression can have.
  struct values {
    double low, high;
  };
  values of(node_id n);
  values applied(op kind, const values& a, const values& b) const;
  double difference(node_id high, node_id low);
  double walked(node_id idx);

  const graph& g_;
  const facts& known_;
  std::unordered_map<node_id, double> done_;
  std::unordered_map<node_id, values> values_;
};

}  // namespace sheaf::inline v0_1::plan
