// The factors of a product, and the product of some of them.
#pragma once
#include <span>
#include <vector>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1::plan {

// A negation is a factor of -1.
inline void collect_factors(graph& g, node_id e, std::vector<node_id>& list) {
  if (g.kind(e) == op::mul) {
    collect_factors(g, g.arg(e, 0), list);
    return collect_factors(g, g.arg(e, 1), list);
  }
  if (g.kind(e) != op::neg) return list.push_back(e);
  list.push_back(number_like(g, e, -1));
  collect_factors(g, g.arg(e, 0), list);
}
inline std::vector<node_id> factors_of(graph& g, node_id e) {
  std::vector<node_id> list;
  collect_factors(g, e, list);
  return list;
}
// like: an expression of the type of the product, which is 1 of no factors.
inline node_id product_of(graph& g, std::span<const node_id> factors, node_id like) {
  node_id product = factors.empty() ? number_like(g, like, 1) : factors.front();
  for (std::size_t k = 1; k < factors.size(); ++k) product = make(g, op::mul, product, factors[k]);
  return product;
}

}  // namespace sheaf::inline v0_1::plan
