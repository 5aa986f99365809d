// Products of matrices that a scatter adds up, as in the gradients of heads that share keys: of each update a product
// of its own, in tiles, before it is added to its row. Shown by tests/jit/products.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// A sum over updates and more, whose rows are `owned`, as one of stored products over the updates; n itself where it
// is none.
node_id with_products_apart(const context& c, const stage& s, node_id n, node_id owned);

}  // namespace sheaf::inline v0_1::plan
