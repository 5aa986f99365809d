// Rules of accumulators, and of the program's own folds.
#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/jit/ir/verifier.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

bool is_position(monoid fold) { return row(fold).position; }
bool is_logic(monoid fold) { return row(fold).boolean; }

}  // namespace

void check_folds(const module& m) {
  for (std::size_t n = 0; n < m.folds.size(); ++n) {
    const own_fold& f = m.folds[n];
    const auto require = [&](bool holds, const char* why) {
      if (!holds) throw bad_ir("folds: module " + m.name + ", fold " + std::to_string(n) + ": " + why);
    };
    require(f.width > 0 && f.component >= 0 && f.component < f.width, "its value is none of the state's");
    const auto first = static_cast<std::size_t>(f.component);
    require(first <= n && n - first + static_cast<std::size_t>(f.width) <= m.folds.size(), "a state of too few folds");
    const own_fold& whole = m.folds[n - first];
    require(whole.component == 0 && whole.width == f.width, "the folds of a state do not stand in order");
    const std::int32_t given = 2 * f.width;
    const auto steps = static_cast<std::int32_t>(f.steps.size());
    for (std::int32_t k = 0; k < steps; ++k)
      for (const std::int32_t a : f.steps[static_cast<std::size_t>(k)].args)
        require(a >= 0 && a < given + k, "a step takes what is not made before it");
    require(f.result >= 0 && f.result < given + steps, "its result is no value");
  }
}

void kernel_verifier::declare(const instruction& i, value id) {
  require(!is_own(i.fold) || own_number(i.fold) < static_cast<int>(m_.folds.size()), "accumulators", "no such monoid");
  if (is_own(i.fold)) {
    const own_fold& f = part_of(i, 0);
    require(f.component == 0, "accumulators", "expected the first of the folds of a state");
    require(i.type == f.type, "types", "expected the fold's type");
    require(f.width == 1 || i.dimension == 0, "accumulators", "a state of several values does not slide");
  }
  require(is_logic(i.fold) ? i.type == element::boolean : i.type != element::boolean || i.fold >= monoid::max, "types",
          "any and all fold booleans, sum and prod numbers");
  if (i.vector) width_[static_cast<std::size_t>(id)] = lanes_;
}
// How many values an accumulator's state has, and the fold that makes one of them.
std::int32_t kernel_verifier::values_of(const instruction& a) const { return is_own(a.fold) ? part_of(a, 0).width : 1; }

const own_fold& kernel_verifier::part_of(const instruction& a, std::int32_t k) const {
  return m_.folds[static_cast<std::size_t>(own_number(a.fold) + k)];
}

void kernel_verifier::read(const instruction& i) {
  require(i.args.size() == 1, "arity", "expected one accumulator");
  const instruction& a = accumulator(i.args[0]);
  require(i.dimension >= 0 && i.dimension < values_of(a), "accumulators", "no such value of the state");
  const element type = is_position(a.fold) ? element::i64 : is_own(a.fold) ? part_of(a, i.dimension).type : a.type;
  const bool folded = i.code == opcode::fold_lanes;
  const bool wider = folded && a.fold == monoid::sum && a.type == element::f32 && i.type == element::f64;
  require(wider || i.type == type, "types", "expected the accumulator's type, or i64 for a position");
  // Inside, the lanes beyond the end of a tail would be folded in.
  require(!folded || !lanes_, "accumulators", "fold_lanes inside a vector loop");
  require(!folded || a.vector, "accumulators", "fold_lanes of a scalar accumulator");
  require(i.vector == (a.vector && !folded), "vectorness", "read keeps the lanes, fold_lanes gives a scalar");
  const int width = width_[static_cast<std::size_t>(i.args[0])];
  require(!i.vector || !width || width == lanes_, "accumulators", "read in a loop of other lanes");
}

void kernel_verifier::scan_state(const instruction& i, const instruction& a) {
  require(static_cast<std::int32_t>(i.args.size()) == 1 + values_of(a), "arity", "expected as many vectors as values");
  require(i.dimension >= 1 && i.dimension <= values_of(a), "accumulators", "no such value of the state");
  require(lanes_ != 0 && i.vector && !a.vector, "vectorness", "scan_lanes takes a scalar accumulator in a vector loop");
  require(i.mask == none, "masks", "scan_lanes of a state with a mask");
  require(i.type == part_of(a, i.dimension - 1).type, "types", "expected the type of the state's value");
  for (std::int32_t k = 0; k < values_of(a); ++k)
    require(operand(i.args[static_cast<std::size_t>(k) + 1]).type == part_of(a, k).type, "types",
            "expected the type of the state's value");
}

void kernel_verifier::scan(const instruction& i) {
  if (i.dimension > 0 && !i.args.empty()) return scan_state(i, accumulator(i.args[0]));
  require(i.args.size() == 2 || i.args.size() == 3, "arity",
          "expected an accumulator, a vector and perhaps where to begin");
  const instruction& a = accumulator(i.args[0]);
  const instruction& x = operand(i.args[1]);
  if (i.args.size() == 3) {
    const instruction& begins = operand(i.args[2]);
    require(begins.vector && begins.type == element::boolean && a.type == x.type, "types",
            "expected lanes of booleans, and an accumulator of the values' type");
  }
  require(lanes_ != 0 && i.vector && x.vector && !a.vector, "vectorness",
          "scan_lanes takes a scalar accumulator and a vector in a vector loop");
  require(!is_position(a.fold), "accumulators", "scan_lanes of positions");
  require(values_of(a) == 1, "accumulators", "scan_lanes of a state of several values");
  const bool wider = is_floating(a.type) && is_floating(x.type);
  require(x.type == i.type && (a.type == x.type || wider), "types",
          "expected the accumulator's type, or both floating");
  mask(i.mask, true);
}

void kernel_verifier::recur(const instruction& i) {
  require(i.args.size() == 3, "arity", "expected an accumulator, a factor and a value");
  const instruction& a = accumulator(i.args[0]);
  const instruction &factor = operand(i.args[1]), &x = operand(i.args[2]);
  require(lanes_ != 0 && i.vector && !a.vector, "vectorness",
          "recur_lanes takes a scalar accumulator in a vector loop");
  require(i.type == element::f64 && a.type == i.type && x.type == i.type && a.fold == monoid::sum, "types",
          "expected sums of f64");
  require(factor.type == element::f64 || factor.type == element::boolean, "types",
          "expected a factor of f64 or boolean");
}

void kernel_verifier::slide(const instruction& i) {
  require(i.args.size() == 2, "arity", "expected an accumulator and a vector");
  const instruction& a = accumulator(i.args[0]);
  const instruction& x = operand(i.args[1]);
  require(lanes_ != 0 && i.vector && x.vector && a.vector, "vectorness",
          "slide_lanes and shift_lanes take vectors in a vector loop");
  require(!is_position(a.fold) && !is_logic(a.fold), "accumulators",
          "slide_lanes or shift_lanes of positions or booleans");
  require(x.type == i.type && a.type == x.type, "types", "expected the accumulator's type");
  require(i.dimension == a.dimension && i.dimension >= 1 && i.dimension <= lanes_, "accumulators",
          "slide_lanes, shift_lanes: expected the accumulator's width, 1 to the lanes");
  one_width(i.args[0]);
}

void kernel_verifier::one_width(value accumulator) {
  int& width = width_[static_cast<std::size_t>(accumulator)];
  require(!width || width == lanes_, "accumulators", "combined by loops of different lanes");
  width = lanes_;
}

void kernel_verifier::combine(const statement& s) {
  place_ = "combine";
  const instruction& a = accumulator(s.target_value);
  const instruction& x = operand(s.stored);
  require(x.type == a.type, "types", "expected the accumulator's type");
  require(a.vector || !x.vector, "vectorness", "a vector combined into a scalar accumulator");
  require(values_of(a) == 1 + static_cast<std::int32_t>(s.more.size()), "accumulators",
          "expected as many values as the state has");
  for (std::size_t k = 0; k < s.more.size(); ++k) {
    const instruction& y = operand(s.more[k]);
    require(y.type == part_of(a, static_cast<std::int32_t>(k) + 1).type, "types",
            "expected the type of the state's value");
    require(a.vector || !y.vector, "vectorness", "a vector combined into a scalar accumulator");
  }
  require(is_position(a.fold) == (s.position != none), "accumulators",
          "argmax and argmin, and only they, need a position");
  if (s.position != none) {
    const instruction& p = operand(s.position);
    require(p.type == element::i64 && (a.vector || !p.vector), "types",
            "expected an i64 position, a vector only for a vector");
  }
  require(!s.fma || (a.fold == monoid::sum && is_floating(a.type) && x.what == op::mul), "accumulators",
          "fma of what is no sum of a product");
  mask(s.mask, a.vector);
  if (!a.vector) return;
  require(lanes_ != 0, "accumulators", "a vector accumulator combined outside a vector loop");
  require(a.dimension == 0, "accumulators", "combine into one that slides");
  one_width(s.target_value);
}

}  // namespace sheaf::inline v0_1::ir
