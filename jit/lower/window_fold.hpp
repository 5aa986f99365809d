// What the loops of windows do to elements: join two, slide over lanes, run on. An element is a value to fold, or,
// where a window sums the values that tie at the extremum of their keys, a value with its key.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

struct folded {
  ir::value value = ir::none, key = ir::none;
};

struct window_fold {
  window_fold(const graph& g, const stage& s)
      : form(s.window()), fold(monoid_of(g, s.window().reduce)), lanes(s.lanes), tied(s.window().key != no_node) {}

  folded joined(ir::block_builder& b, folded first, folded second) const;

  const plan::window_form& form;
  monoid fold;
  int lanes;
  bool tied;
};

// The fold of the `width` lanes that end at each, or in a backward loop begin there.
class sliding_fold {
 public:
  sliding_fold(const window_fold& of, ir::block_builder& b, std::int64_t width);
  folded operator()(ir::block_builder& c, folded x, bool backward) const;

 private:
  folded cells(ir::block_builder& b, std::int64_t by) const;

  const window_fold& of_;
  std::int64_t width_;
  folded slider_;              // of values alone
  std::vector<folded> steps_;  // of ties, in the order of use
};

// What runs over a block, in stretches where the form asks for it.
class running_fold {
 public:
  running_fold(const window_fold& of, ir::block_builder& b);

  // Calls body(scope, range) for the places, stretch by stretch.
  template <class Body>
  void over(scope& at, const range& places, bool backward, Body body) {
    if (of_.form.stretch == 0) return body(at, places);
    scope outer(at, stretches(*at.block, places));
    body(outer, next(*outer.block, places, backward));
    pass_on(*outer.block);
    outer.close();
  }
  // The fold so far, x included.
  folded with(ir::block_builder& c, folded x, bool backward) const;

 private:
  ir::block_builder stretches(ir::block_builder& b, const range& places);
  range next(ir::block_builder& c, const range& places, bool backward);
  void pass_on(ir::block_builder& c) const;

  const window_fold& of_;
  folded whole_;
  ir::value part_ = ir::none, size_ = ir::none;
};

}  // namespace sheaf::inline v0_1::lower
