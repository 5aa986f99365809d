// Products of matrices: sums whose terms take elements of two tensors, each of which serves many results. They take
// longer than all that is read for them, if each is computed once, in tiles of its own.
// Shown by tests/jit/products.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Is a reduction a product of at least `least` rows and columns? `row`: an index of the one or the other; none: any.
bool is_product(const graph& g, const facts& known, node_id n, double least, node_id row = no_node);

// Is it a product that is worth its tiles, and has not many more values than what is multiplied?
bool is_small_product(const graph& g, const facts& known, node_id n);

// Does the program name a value of two indices or more that takes a reduction for each, and more memory than what it is
// made of? What is folded in tiles need not be read: where nothing else reads it, it is not stored. in_ranges: rows
// walk parts of it, of which tiles skip what none walks, so it is computed anew however small it is.
bool is_recomputed_pair(const context& c, node_id define, bool in_ranges = false);

// Stores products that several stages take, if one of them has them for each of its results.
void store_products(graph& g, const facts& known, std::vector<stage>& stages);

// Rule: what a stage adds up besides a product has no tile, so the product is stored first.
bool take_products(const context& c, stage& s);
// Rule: a factor of a product under a mask is stored as 0 where that is false, if all stays finite.
bool take_masked_product(const context& c, stage& s);
// Rule: what a product computes of an element of its rows is stored, not computed for each register of lanes.
bool take_factor_of_product(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
