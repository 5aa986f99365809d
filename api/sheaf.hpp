// The whole of Sheaf's language and its compiled programs.
#pragma once
#include <sheaf/api/needs.hpp>
#ifndef SHEAF_UNREADABLE
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ says it of templates' names and those that their user declares later
#endif
// Those that speak of mistakes come first, or each mistake would begin with the way to them.
#include <sheaf/dsl/surface/fixed_string.hpp>
#include <sheaf/dsl/surface/expression.hpp>
#include <sheaf/dsl/surface/tensor.hpp>
#include <sheaf/dsl/surface/reduction.hpp>
#include <sheaf/dsl/surface/fold.hpp>
#include <sheaf/dsl/surface/custom_gradient.hpp>
#include <sheaf/api/compile.hpp>
#include <sheaf/api/gpu.hpp>
#include <sheaf/api/reference.hpp>
#include <sheaf/dsl/sugar/sugar.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif
