// The whole of Sheaf's language and its compiled programs.
#pragma once
#include <sheaf/api/compile.hpp>
#include <sheaf/api/gpu.hpp>
#include <sheaf/api/reference.hpp>
#include <sheaf/dsl/sugar/sugar.hpp>
