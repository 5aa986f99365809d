// Pass `build`: turns expression types into graph nodes, visiting each type once; pass `resolve` gives their indices
// ranges. Input: expression types (expression.hpp, tensor.hpp, reduction.hpp, define.hpp, gradient.hpp). Output: a
// graph whose outputs are define nodes without unbound indices, or graph::error. Shown by tests/numeric, tests/reject.
#pragma once
#include <sheaf/dsl/passes/demands.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>
#include <sheaf/dsl/passes/tangent.hpp>
#include <sheaf/dsl/passes/unique_names.hpp>
#include <sheaf/dsl/surface/extrema.hpp>
#include <sheaf/dsl/surface/members.hpp>

namespace sheaf::inline v0_1 {

class builder : public extrema {
 public:
  template <class E>
  constexpr built operator()(E) {
    for (int i = 0; i < memo_.size(); ++i)
      if (memo_[i].tag == &type_tag<E>) return memo_[i].result;
    const built result = E::build(*this);
    memo_.push({&type_tag<E>, result});
    return result;
  }

  // Sentences advise what text accepts.
  constexpr void speaks_of_text() { is_text_ = true; }

  // ---- leaves and elementwise expressions

  constexpr built literal(double value) { return {number(g, element::f64, value), true}; }
  constexpr built literal(std::int64_t value) { return {integer(g, value), true}; }
  constexpr built literal(int value) { return {integer(g, value), true}; }

  template <int N>
  constexpr built apply(op kind, const built (&args)[N]) {
    node_id list[3] = {no_node, no_node, no_node};
    const int first = kind == op::select ? 1 : 0;
    element strong = element::boolean;
    bool any_strong = false;
    for (int k = first; k < N; ++k)
      if (!args[k].weak) {
        strong = any_strong ? promote(strong, g.type(args[k].id)) : g.type(args[k].id);
        any_strong = true;
      }
    for (int k = 0; k < N; ++k)
      list[k] = k >= first && args[k].weak && any_strong ? adopt(args[k].id, strong) : args[k].id;
    for (int k = 0; k < N && kind >= op::bit_and && kind <= op::shift_right; ++k) expect_bits(kind, list[k]);
    if (kind == op::bit_not) expect_bits(kind, list[0]);
    // Integers divide with floor, as their subscripts need it.
    if (kind == op::div && !is_floating(g.type(list[0])) && !is_floating(g.type(list[1])) && any_strong)
      kind = op::quotient;
    if (kind == op::mul)
      for (int k = 0; k < 2; ++k)
        if (const node_id masked = masked_by(args[k].id, list[1 - k]); masked != no_node) return {masked, false};
    // Numbers alone have no type yet: 1 / 3 is rounded to what it meets, as 0.25 is.
    for (int k = 0; k < N && !any_strong && row(kind).result == result_type::floating; ++k)
      list[k] = cast_to(g, element::f64, list[k]);
    return {make(g, kind, list[0], list[1], list[2]), !any_strong && first == 0};
  }
  // What a mask that is known leaves of a factor, infinities included; no_node: it is none.
  constexpr node_id masked_by(node_id mask, node_id factor) {
    if (g.type(mask) != element::boolean || !is_constant(g, mask) || g.type(factor) == element::boolean) return no_node;
    return is_true(g, mask) ? factor : number_like(g, factor, 0);
  }
  constexpr built cast(element type, built e) { return {cast_to(g, type, e.id), false}; }
  constexpr built stop_gradient(built e) { return {g.intern(op::stop_gradient, g.type(e.id), 0, &e.id, 1), false}; }
  constexpr node_id graft(node_id value, node_id path) { return sheaf::graft(g, value, path); }

  // Worth `value`; an error where it is evaluated and `wrong` holds.
  constexpr node_id required(node_id value, node_id wrong, const detail::sentence& operation) {
    if (is_false(g, wrong)) return value;
    if (is_true(g, wrong)) fail() << operation.text << ": expected at least one element, there is none";
    requires_ = true;
    const node_id list[3] = {value, value, wrong};
    return g.intern(op::stop_gradient, g.type(value), g.name(operation.text, operation.size), list, 3);
  }
  // What must hold of every call: `wrong` is as in graph::demands.
  constexpr void demand_not(node_id wrong, demanded of, const detail::sentence& operation,
                            const detail::sentence& expected, node_id limit = no_node, node_id found = no_node) {
    if (is_false(g, wrong)) return;
    for (const demand& other : g.demands)
      if (other.wrong == wrong) return;
    g.demands.push(
        {of, g.name(operation.text, operation.size), g.name(expected.text, expected.size), wrong, limit, found});
  }

  // ---- tensors

  constexpr built axis(name_id name, std::int64_t declared) {
    const node_id idx = unbound_axis(g, name);
    if (declared != dynamic) declared_.push({idx, integer(g, declared)});
    return {idx, false};
  }
  constexpr void declare(node_id axis, node_id size) { declared_.push({axis, size}); }

  constexpr built tensor(name_id name, element type, int rank, const std::int64_t* extents) {
    for (const input_row& other : g.inputs)
      if (other.name == name && other.symbol == nullptr) same_declaration(other, type, rank, extents);
    if (is_given(name)) fail() << "definition " << text(name) << ": an input has this name";
    return {input(g, name, type, rank, extents), false};
  }

  // access: 0 checked, 1 guarded, 2 skipping (tensor.hpp)
  constexpr built load(built tensor, const built* subscripts, int rank, int access = 0) {
    // Said by operator() already; what is built must be whole all the same.
    if (tensor_rank(g, tensor.id) != rank) {
      fail() << "subscript: tensor " << tensor_name(tensor.id) << " has rank " << tensor_rank(g, tensor.id) << ", got "
             << rank << " subscripts";
      return {number(g, g.type(tensor.id), 0), false};
    }
    flat<node_id> list;
    list.push(tensor.id);
    for (int d = 0; d < rank; ++d) {
      if (is_floating(g.type(subscripts[d].id)) || g.type(subscripts[d].id) == element::boolean)
        fail() << "tensor " << tensor_name(tensor.id) << ": subscript " << d << " is "
               << row(g.type(subscripts[d].id)).name << ", expected an integer";
      list.push(cast_to(g, element::i64, subscripts[d].id));
      if (access == checked && is_unbound(g, list.back())) written_.push({list.back(), tensor.id, d});
      // What is guarded may never be read.
      if (access == checked) check_static_subscript(tensor.id, d, list.back());
    }
    const node_id id = g.intern(op::load, g.type(tensor.id), access, list.data(), list.size());
    if (access == skipping && !skips_.contains(id)) skips_.push(id);
    return {id, false};
  }

  constexpr built extent_of(built tensor, int dimension) { return {extent(g, tensor.id, dimension), false}; }

  // ---- reductions and definitions

  constexpr built reduction(monoid kind, const bound_axis* axes, int count, node_id body) {
    resolved r = resolve(axes, count, body, {row(kind).name});
    if (r.indices.size() != count) return {body, false};
    return {reduce(g, kind, r.body, r.condition, r.indices.data(), count), false};
  }
  // What is made while `width` operands of these types stand in each of so many groups.
  template <class Make>
  constexpr void of_operands(const element* types, int width, int groups, Make make_expressions) {
    operands_.clear();
    for (int k = 0; k < groups * width; ++k)
      operands_.push({g.intern(op::operand, types[k % width], k, nullptr, 0), false});
    const int kept = memo_.size();
    make_expressions();
    while (memo_.size() > kept) memo_.pop();  // the operands have another type the next time
  }
  constexpr built operand(int k) const { return operands_[k]; }
  // How many times `like` would be folded: its loads help to find the ranges.
  constexpr node_id counted(const bound_axis* axes, int count, node_id like) {
    resolved r = resolve(axes, count, like, {"count"});
    return reduce(g, monoid::sum, integer(g, 1), r.condition, r.indices.data(), r.indices.size());
  }

  // ---- tensors that are built once each

  template <class Make>
  constexpr node_id tensor_of(const char* tag, Make make_node) {
    for (int i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].tag == tag) return tensors_[i].result.id;
    const node_id id = make_node(*this);
    tensors_.push({tag, {id, false}});
    return id;
  }
  // An input shaped like a definition, with an automatic name.
  constexpr built tensor_like(name_id name, node_id model, const char* symbol) {
    for (int i = 0; i < g.inputs.size(); ++i)
      if (g.inputs[i].symbol == symbol) return {input(g, name, g.type(model), 0, nullptr, symbol), false};
    const int rank = tensor_rank(g, model);
    flat<std::int64_t> extents;
    extents.resize(rank + 1, dynamic);
    for (int d = 0; d < rank; ++d) {
      const node_id size = extent(g, model, d);
      if (is_constant(g, size)) extents[d] = g[size].attribute;
    }
    const node_id id = input(g, name, g.type(model), rank, extents.data(), symbol);
    for (int d = 0; d < rank; ++d)
      if (!known_equal(g, extent(g, id, d), extent(g, model, d)))
        constrain(extent(g, model, d), extent(g, id, d), index_name_of(model, d));
    return {id, false};
  }
  // A define node for an output or a y of grad: tensors other than inputs are one, other expressions become one. One
  // expression given as two outputs becomes two definitions.
  template <class E>
  constexpr node_id output(E e, const char* label, int length, bool added = false) {
    if constexpr (detail::has_node<E>)
      return output_of(E::node(*this).id, label, length);
    else
      return scalar_output((*this)(e).id, label, length, added);
  }
  constexpr node_id output_of(node_id tensor, const char* label, int length) {
    return g.kind(tensor) == op::define ? tensor : copy_of(tensor, name(label, length));
  }
  constexpr node_id scalar_output(node_id body, const char* label, int length, bool added) {
    for (const node_id idx : g.indices)
      if (is_unbound(g, idx) && g.free[body].has(g.ordinal(idx)))
        fail() << "output: index " << text(index_name(g, idx))
               << " is free; name the output and order its indices: define<\"name\">(" << text(index_name(g, idx))
               << ", ...) = expression";
    return unnamed(body, label, length, added);
  }
  // The definition of a scalar without a name. What is an output already becomes another of a name that is free.
  constexpr node_id unnamed(node_id body, const char* label, int length, bool added) {
    const node_id made = define(g, name(label, length), body, nullptr, 0);
    return added ? another(made) : made;
  }
  // The definition, or where that is an output already, one like it of another name.
  constexpr node_id another(node_id definition) {
    const name_id called = static_cast<name_id>(g[definition].attribute);
    const detail::sentence stem = detail::sentence{} << text(called);
    node_id made = definition;
    for (int k = 1; g.outputs.contains(made); ++k) {
      const detail::sentence words = detail::sentence(stem) << k;
      made = define(g, name(words.text, words.size), g.arg(definition, 0), g.args.data() + g[definition].first + 1,
                    g[definition].count - 1);
    }
    if (made != definition) copies_.push({made, called});
    return made;
  }
  constexpr node_id gradient_of(node_id y, node_id x, node_id cotangent, name_id called) {
    const node_id body = g.arg(y, 0);
    if (!is_floating(g.type(body)) && !g.failed())
      fail() << "gradient of " << tensor_name(y) << ": it is " << row(g.type(body)).name
             << ", expected a floating type";
    if (g.failed()) return y;
    if (!g.differentiated.contains(y)) g.differentiated.push(y);
    node_id seed = number_like(g, body, 1);
    if (cotangent != no_node) {
      flat<node_id> indices;
      for (int d = 0; d < tensor_rank(g, y); ++d) indices.push(g.arg(y, 1 + d));
      same_shape(y, cotangent, y);
      seed = cast_to(g, g.type(body), sheaf::load(g, cotangent, indices.data(), indices.size()));
    }
    return gradient(g, sweeps_, y, x, seed, called);
  }

  // The derivative of y along `direction`, a tensor shaped like x.
  constexpr node_id tangent_of(node_id y, node_id x, node_id direction, name_id called) {
    if (!is_floating(g.type(y)) && !g.failed())
      fail() << "jvp of " << tensor_name(y) << ": it is " << row(g.type(y)).name << ", expected a floating type";
    if (g.failed()) return y;
    if (!g.differentiated.contains(y)) g.differentiated.push(y);
    same_shape(x, direction, x);
    forward_mode along(g, x, direction, y + 1);
    const node_id result = along(y, called);
    if (along.failed())
      fail() << "jvp of " << tensor_name(y) << ": definition " << tensor_name(along.opaque())
             << " has a custom gradient, which says its vjp only";
    return result;
  }

  // ---- custom gradients

  // Is this the first time that the rules of a definition are asked for?
  constexpr bool starts_rules(node_id definition) {
    if (ruled_.contains(definition)) return false;
    ruled_.push(definition);
    return true;
  }
  // What stands for a definition's cotangent in its rules.
  constexpr node_id placeholder(node_id like, name_id called) {
    flat<node_id> indices;
    for (int d = 0; d < tensor_rank(g, like); ++d) indices.push(g.arg(like, 1 + d));
    return define(g, called, number_like(g, like, 0), indices.data(), indices.size());
  }
  constexpr void add_rule(node_id definition, node_id by, node_id cotangent, node_id contribution) {
    if (g.failed()) return;
    same_shape(by, contribution, contribution);
    g.rules.push({definition, by, cotangent, contribution});
  }

  constexpr node_id definition(name_id name, node_id body, const node_id* axes, int rank) {
    flat<bound_axis> list;
    for (int d = 0; d < rank; ++d) list.push({axes[d]});
    return definition(name, body, list.data(), rank);
  }
  // An automatic one, of the familiar layer, gives way to others of its name in pass `unique_names`.
  constexpr node_id definition(name_id name, node_id body, const bound_axis* axes, int rank, bool automatic = false) {
    for (const input_row& input : g.inputs)
      if (input.name == name && input.symbol == nullptr && !automatic)
        fail() << "definition " << text(name) << ": an input has this name";
    flat<node_id> indices;
    for (int d = 0; d < rank; ++d) {
      node_id value = no_node;
      const node_id idx = ranged(axes[d], &body, 1, {"definition ", name}, value);
      if (idx == no_node) return define(g, name, integer(g, 0), nullptr, 0);
      if (reads_data(idx))
        fail() << "definition " << text(name) << ": the size of index " << text(index_name(g, idx))
               << " depends on data or another index, expected numbers and extents";
      body = substitute(g, body, axes[d].axis, idx);
      indices.push(idx);
    }
    for (const node_id idx : g.indices)
      if (!g.failed() && is_unbound(g, idx) && g.free[body].has(g.ordinal(idx))) {
        fail() << "definition " << text(name) << ": index " << text(index_name(g, idx))
               << " is free in its expression and not among its indices ";
        append_indices(axes, rank);
        break;
      }
    written_.clear();
    const node_id result = define(g, name, body, indices.data(), rank);
    if (automatic || given_.contains(result)) return result;
    if (is_given(name)) fail() << "definition " << text(name) << ": two different definitions have this name";
    given_.push(result);
    return result;
  }

  // Is this the first time that a symbol is asked for as an output?
  constexpr bool asks_for(const char* tag) {
    if (asked_.contains(tag)) return false;
    asked_.push(tag);
    return true;
  }
  // The author named this one, which was made with the name.
  constexpr void give_name(node_id definition) {
    if (!given_.contains(definition)) given_.push(definition);
  }

  // What can only be asked of the whole program.
  constexpr void finish() {
    expect_readable_names();
    for (const node_id n : skips_)
      if (!skipped_.contains(n))
        fail() << "tensor " << tensor_name(g.arg(n, 0)) << ": skipping stands in no reduction over one of its indices; "
               << "write padded(value)(...) for a value outside";
    if (requires_ && !g.failed()) collect_demands(g);
    if (!g.failed()) unique_names(g, given_, copies_);
  }

 private:
  constexpr void expect_bits(op kind, node_id e) {
    if (is_floating(g.type(e)))
      fail() << row(kind).name << ": a value is " << row(g.type(e)).name << ", expected integers or booleans";
  }
  constexpr bool is_given(name_id name) const {
    for (const node_id n : given_)
      if (g[n].attribute == name) return true;
    return false;
  }
  constexpr void same_declaration(const input_row& other, element type, int rank, const std::int64_t* extents) {
    const auto extent_text = [](std::int64_t e) {
      return e == dynamic ? detail::sentence{} << "any extent" : detail::sentence{} << "extent " << e;
    };
    if (other.type != type || other.rank != rank) {
      fail() << "tensor " << text(other.name) << ": declared twice, as " << row(other.type).name << " of rank "
             << other.rank << " and as " << row(type).name << " of rank " << rank;
      return;
    }
    for (int d = 0; d < rank; ++d)
      if (const std::int64_t before = g.static_extents[other.first_extent + d]; before != extents[d])
        fail() << "tensor " << text(other.name) << ": declared twice, with " << extent_text(before).text << " and with "
               << extent_text(extents[d]).text << " in dimension " << d;
  }

  // Two tensors of one rank must have equal extents; a mistake is said with the index names of `named`.
  constexpr void same_shape(node_id own, node_id given, node_id named) {
    for (int d = 0; d < tensor_rank(g, own); ++d) {
      const node_id a = extent(g, own, d), b = extent(g, given, d);
      if (!known_equal(g, a, b)) constrain(a, b, index_name_of(named, d));
    }
  }
  constexpr name_id index_name_of(node_id tensor, int d) {
    return g.kind(tensor) == op::define ? index_name(g, g.arg(tensor, 1 + d)) : g.name("", 0);
  }
  // An input that is asked for as an output: a definition that copies it.
  constexpr node_id copy_of(node_id input, name_id called) {
    flat<node_id> indices;
    for (int d = 0; d < tensor_rank(g, input); ++d) {
      const char letter = static_cast<char>('i' + d);
      indices.push(index(g, g.name(&letter, 1), 0, integer(g, 0), extent(g, input, d)));
    }
    return define(g, called, sheaf::load(g, input, indices.data(), indices.size()), indices.data(), indices.size());
  }

  struct memo {
    const char* tag = nullptr;
    built result;
  };
  constexpr void check_static_subscript(node_id tensor, int d, node_id e) {
    const std::int64_t size = static_extent(g, tensor, d);
    if (is_outside(g, tensor, d, e))
      fail() << "tensor " << tensor_name(tensor) << ": subscript " << d << " is " << g[e].attribute
             << ", expected 0 to " << (size != dynamic ? (detail::sentence{} << size - 1).text : "its extent - 1");
  }

  bool requires_ = false;  // is there a node that only some evaluations may meet?
  reverse_sweeps sweeps_;
  flat<built> operands_;
  flat<memo> memo_, tensors_;
  flat<node_id> ruled_;  // definitions whose rules are built
  flat<const char*> asked_;
  flat<named_copy> copies_;
};

}  // namespace sheaf::inline v0_1
