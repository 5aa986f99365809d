#include <sheaf/jit/ir/passes/contract_fma.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

class contraction {
 public:
  explicit contraction(kernel& k) : k_(k), uses_(k.instructions.size()), home_(k.instructions.size()) {}

  void run() {
    count(k_.body);
    mark(k_.body);
  }

 private:
  static std::size_t at(value v) { return static_cast<std::size_t>(v); }

  void count(const block& body) {
    const auto use = [&](value v) {
      if (v != none) ++uses_[at(v)];
    };
    for (const statement& s : body) {
      if (s.kind == statement_kind::instruct) {
        home_[at(s.id)] = &body;
        use(k_.instructions[at(s.id)].mask);
        for (const value v : k_.instructions[at(s.id)].args) use(v);
      } else {
        if (s.kind == statement_kind::guard) use(s.id);
        for (const value v : {s.low, s.high, s.stored, s.mask, s.position}) use(v);
        for (const value v : s.subscripts) use(v);
        for (const value v : s.more) use(v);
        for (const value v : s.places) use(v);
      }
      count(s.body);
    }
  }
  void mark(block& body) {
    for (statement& s : body) {
      if (s.kind == statement_kind::combine) s.fma = contracts(s, body);
      mark(s.body);
    }
  }
  bool contracts(const statement& s, const block& body) const {
    const instruction &sum = k_.instructions[at(s.target_value)], &product = k_.instructions[at(s.stored)];
    return sum.fold == monoid::sum && is_floating(sum.type) && product.code == opcode::elementwise &&
           product.what == op::mul && product.type == sum.type && uses_[at(s.stored)] == 1 &&
           home_[at(s.stored)] == &body;
  }

  kernel& k_;
  std::vector<int> uses_;
  std::vector<const block*> home_;
};

}  // namespace

void contract_fma(module& m) {
  for (kernel& k : m.kernels) contraction(k).run();
}

}  // namespace sheaf::inline v0_1::ir
