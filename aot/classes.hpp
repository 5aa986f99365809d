// Pass `classes`: the plans of a program that serve the calls that are expected. Extents are sampled over their
// ranges, the same ones in every build; where no plan that is there serves a sample, it is planned.
// Output: for each of three layouts of arguments its classes; the code that they share, each text once.
// Shown by tests/aot/classes.cpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <sheaf/aot/program.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/shapes/decisions.hpp>
#include <sheaf/jit/target/target.hpp>

namespace sheaf::inline v0_1::aot {

// What a class relies on, each less than the one before: rows without gaps; neighbours in the last dimension; nothing.
enum class layout : std::uint8_t { dense, unit, any };

struct planned_class {
  aot::layout layout = layout::any;
  std::unique_ptr<shapes::decisions> decided;
  std::unique_ptr<jit::arranged_program> made;
  std::vector<shapes::amount> costs;
  int code = 0;
};

struct planned_program {
  const program* of = nullptr;
  std::vector<planned_class> classes;
  std::vector<ir::module> codes;
  std::vector<std::string> texts;  // of the codes
  int samples = 0;                 // that no example named
  int served = 0;                  // by a class that was there before them
};

struct sampling {
  int samples = 400;  // of each layout, at most
  int quiet = 150;    // so many in a row need no new class: enough
  int classes = 64;   // of each layout, at most
};

planned_program plan_classes(const program& p, const target::family& on, const sampling& how);

}  // namespace sheaf::inline v0_1::aot
