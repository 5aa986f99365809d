// Pass `classes`: the plans of a program that serve all its calls. A plan's decisions are a path through a tree: where
// each is another one, extents are found for which it is, and planned, until no branch is open.
// Output: for each of three layouts of arguments its classes; the code that they share, each text once, with arrays at
// slots that codes share.
// Shown by tests/aot/classes.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sheaf/aot/extents.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/shapes/decisions.hpp>
#include <sheaf/jit/target/target.hpp>

namespace sheaf::inline v0_1::aot {

// What a class relies on, each less than the one before: rows without gaps; neighbours in the last dimension; nothing.
enum class layout : std::uint8_t { dense, unit, any };

struct planned_class {
  aot::layout layout = layout::any;
  extent_list served;  // by a call of it: of an example, or found
  std::unique_ptr<shapes::decisions> decided;
  std::unique_ptr<jit::arranged_program> made;
  std::vector<shapes::amount> costs;
  std::vector<std::shared_ptr<const ir::shared_call>> calls;  // of kernels that programs share, in order
  bool reduces_nothing = false;  // none of its calls, because some extent is 0
  int code = -1;  // none: every call of it is refused before
};

struct planned_program {
  const program* of = nullptr;
  bool gpu = false;
  std::vector<planned_class> classes;
  std::vector<ir::module> codes;
  std::vector<std::string> texts;  // of the codes
  std::vector<std::vector<int>> slots;  // by code: see slots.hpp; empty: in order
};

// What a library holds beside the plans for the classes of examples: few plans that serve everything, or the one that
// is made for it for each class.
enum class held : std::uint8_t { general, every_class };

// What kernels are for: processors of a family, or GPUs.
struct planned_for {
  planned_for(const target::family& family) : on(family) {}
  static planned_for gpus() {
    planned_for made(target::families[0]);
    made.gpu = true;
    return made;
  }
  const target::family& on;
  bool gpu = false;
};

// Throws std::runtime_error where a layout has more classes than `most`.
planned_program plan_classes(const program& p, const planned_for& device, held plans, int most = 1000);

// What the planner is told of a call; nothing where the program refuses these extents.
std::optional<jit::call_class> call_of(const program& p, const extent_list& extents, layout as);

}  // namespace sheaf::inline v0_1::aot
