// The familiar layer: thin functions that return the core's expressions, under the names the field uses. See
// docs/catalogue.md.
#pragma once
#include <sheaf/dsl/sugar/counts.hpp>
#include <sheaf/dsl/sugar/joins.hpp>
#include <sheaf/dsl/sugar/losses.hpp>
#include <sheaf/dsl/sugar/misplaced.hpp>
#include <sheaf/dsl/sugar/normalise.hpp>
#include <sheaf/dsl/sugar/positions.hpp>
#include <sheaf/dsl/sugar/products.hpp>
#include <sheaf/dsl/sugar/reductions.hpp>
#include <sheaf/dsl/sugar/scans.hpp>
#include <sheaf/dsl/sugar/segments.hpp>
#include <sheaf/dsl/sugar/slices.hpp>
#include <sheaf/dsl/sugar/windows.hpp>
