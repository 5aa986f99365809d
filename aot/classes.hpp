// Pass `classes`: the plans of a program that serve all its calls. A plan's decisions are a path through a tree: where
// each is another one, extents are found for which it is, and planned, until no branch is open.
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
  int code = -1;  // none: every call of it is refused before
};

struct planned_program {
  const program* of = nullptr;
  std::vector<planned_class> classes;
  std::vector<ir::module> codes;
  std::vector<std::string> texts;  // of the codes
};

// What a library holds beside the plans for the classes of examples: few plans that serve everything, or the one that
// is made for it for each class.
enum class held : std::uint8_t { general, every_class };

// Throws std::runtime_error where a layout has more classes than `most`.
planned_program plan_classes(const program& p, const target::family& on, held plans, int most = 1000);

}  // namespace sheaf::inline v0_1::aot
