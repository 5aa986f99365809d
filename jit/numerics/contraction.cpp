#include <sheaf/jit/numerics/contraction.hpp>

namespace sheaf::inline v0_1::numerics {

namespace {

class products {
 public:
  explicit products(const ir::kernel& k)
      : k_(k), uses_(k.instructions.size()), home_(k.instructions.size()), found_(k.instructions.size()) {}

  std::vector<bool> operator()() {
    count(k_.body);
    find(k_.body);
    return std::move(found_);
  }

 private:
  static std::size_t at(ir::value v) { return static_cast<std::size_t>(v); }

  void count(const ir::block& body) {
    const auto use = [&](ir::value v) {
      if (v != ir::none) ++uses_[at(v)];
    };
    for (const ir::statement& s : body) {
      if (s.kind == ir::statement_kind::instruct) {
        home_[at(s.id)] = &body;
        use(k_.instructions[at(s.id)].mask);
        for (const ir::value v : k_.instructions[at(s.id)].args) use(v);
      } else {
        if (s.kind == ir::statement_kind::guard) use(s.id);
        for (const ir::value v : {s.low, s.high, s.stored, s.mask, s.position}) use(v);
        for (const ir::value v : s.subscripts) use(v);
        for (const ir::value v : s.more) use(v);
      }
      count(s.body);
    }
  }
  void find(const ir::block& body) {
    for (const ir::statement& s : body) {
      if (s.kind == ir::statement_kind::combine) found_[at(s.stored)] = contracts(s, body);
      find(s.body);
    }
  }
  bool contracts(const ir::statement& s, const ir::block& body) const {
    const ir::instruction &sum = k_.instructions[at(s.target_value)], &product = k_.instructions[at(s.stored)];
    return sum.fold == monoid::sum && is_floating(sum.type) && product.code == ir::opcode::elementwise &&
           product.what == op::mul && product.type == sum.type && uses_[at(s.stored)] == 1 &&
           home_[at(s.stored)] == &body;
  }

  const ir::kernel& k_;
  std::vector<int> uses_;
  std::vector<const ir::block*> home_;
  std::vector<bool> found_;
};

}  // namespace

std::vector<bool> contracted(const ir::kernel& k) { return products(k)(); }

}  // namespace sheaf::inline v0_1::numerics
