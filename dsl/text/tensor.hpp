// Of the parser: names of tensors, subscripts and accesses, gradients.
#pragma once
#include <sheaf/dsl/text/reduction.hpp>

namespace sheaf::inline v0_1::detail {

constexpr sentence text_parser::text_of(name_id name) const {
  sentence s;
  const text_range range = b_.g.names[name];
  for (int i = 0; i < range.size && i < 400; ++i) s.text[s.size++] = b_.g.text[range.first + i];
  return s;
}

constexpr text_parser::tensor_row* text_parser::row_of(name_id name) {
  for (int i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].name == name) return &tensors_[i];
  return nullptr;
}
constexpr name_id text_parser::label_of(node_id tensor) const {
  return b_.g.kind(tensor) == op::input ? b_.g.inputs[static_cast<int>(b_.g[tensor].attribute)].name
                                        : static_cast<name_id>(b_.g[tensor].attribute);
}

// A name, or grad(...) and its kin.
constexpr text_parser::tensor_part text_parser::tensor_here() {
  if (failed()) return {};
  if (at_derivative()) return derivative_call(-1);
  if (!now().quoted && is(ahead(1), "(")) {
    for (const char* word : {"cotangent", "tangent"})
      if (at(word)) return companion(word);
  }
  return named_tensor();
}

constexpr text_parser::tensor_part text_parser::named_tensor() {
  if (now().kind != token_kind::name) {
    wrong(at_) << "expected a tensor, found " << spelled(now()).text;
    return {};
  }
  const int start = at_++;
  const token t = tokens_[start];
  const name_id called = name_of(t);
  if (tensor_row* row = row_of(called); row != nullptr && t.primes == 0) {
    row->used = true;
    return {row->node, true};
  }
  constexpr std::int64_t any[max_rank] = {dynamic, dynamic, dynamic, dynamic, dynamic, dynamic, dynamic, dynamic};
  for (int i = 0; i < argument_count_ && t.primes == 0; ++i) {
    const text_argument& a = arguments_[i];
    if (b_.name(a.name, a.size) != called) continue;
    const node_id made = b_.tensor(called, a.type, a.rank, any).id;
    tensors_.push({called, made, false, true});
    return {made, true};
  }
  const sentence name = text_of(called);
  if (is_word(t))
    wrong(start) << name.text << ": a word of the language, not expected here";
  else if (is(tokens_[at_], "("))
    wrong(start) << "tensor " << name.text << ": " << (called == defining_ ? "its own line reads it; " : "")
                 << "no function has this name, and its element type and rank are not known; declare it, as in input "
                 << name.text << ": f32[?, ?], or define it above this line";
  else
    wrong(start) << name.text << ": no index around here has this name, and no tensor";
  return {};
}

// What to differentiate: a definition, or a scalar expression, which is called y.
constexpr node_id text_parser::differentiated_part(sentence& label) {
  const int start = at_;
  const bool plain = now().kind == token_kind::name && (is(ahead(1), ",") || is(ahead(1), "("));
  bool tensor = plain && row_of(known_name(now())) != nullptr && is(ahead(1), ",");
  tensor = tensor || at_derivative();
  if (tensor) {
    const tensor_part t = tensor_here();
    if (!failed() && at(",")) {
      label = text_of(label_of(t.node));
      return b_.output_of(t.node, label.text, label.size);
    }
    at_ = start;  // more of an expression follows
  }
  const built e = expression();
  if (failed()) return no_node;
  label << "y";
  const node_id y = b_.scalar_output(e.id, label.text, label.size, false);
  settle(start);
  return y;
}
constexpr node_id text_parser::by_part(const sentence& label) {
  const int start = at_;
  const tensor_part x = tensor_here();
  if (failed()) return no_node;
  if (!is_floating(b_.g.type(x.node))) {
    const sentence name = text_of(label_of(x.node));
    wrong(start) << "gradient of " << label.text << " with respect to " << name.text << ": tensor " << name.text
                 << " is " << row(b_.g.type(x.node)).name << "; gradients exist for floating tensors only";
  }
  return x.node;
}

// grad(y, x), vjp(y, x), vjp(y, x, c), jvp(y, x), jvp(y, x, v); called: its name, -1 for an automatic one.
constexpr text_parser::tensor_part text_parser::derivative_call(name_id called) {
  const int start = at_;
  const bool grad = at("grad"), forward = at("jvp");
  at_ += 2;
  sentence label;
  const node_id y = differentiated_part(label);
  expect(",");
  const node_id x = failed() ? no_node : by_part(label);
  node_id along = no_node;
  if (!failed() && !grad && accept(",")) along = tensor_here().node;
  expect(")");
  if (failed()) return {};
  const int rank = tensor_rank(b_.g, y), x_rank = tensor_rank(b_.g, x);
  if (grad && rank != 0)
    wrong(start) << "grad of " << label.text << ": it has rank " << rank
                 << ", expected a scalar; vjp takes a cotangent";
  if (along != no_node && !forward && tensor_rank(b_.g, along) != rank)
    wrong(start) << "vjp of " << label.text << ": its rank is " << rank << ", the cotangent "
                 << text_of(label_of(along)).text << " has rank " << tensor_rank(b_.g, along);
  if (along != no_node && forward && tensor_rank(b_.g, along) != x_rank)
    wrong(start) << "jvp by " << text_of(label_of(x)).text << ": its rank is " << x_rank << ", the direction "
                 << text_of(label_of(along)).text << " has rank " << tensor_rank(b_.g, along);
  if (failed()) return {};
  if (along == no_node && !grad) along = companion_of(forward ? x : y, forward);
  const bool unnamed = called < 0;
  for (const written_derivative& d : derivatives_)
    if (unnamed && d.y == y && d.x == x && d.along == along && d.forward == forward) return {d.made, true};
  if (unnamed) {
    sentence automatic;
    automatic << "d" << label.text << (forward ? "_along_" : "_d") << text_of(label_of(forward ? along : x)).text;
    called = b_.name(automatic.text, automatic.size);
  }
  const node_id made = forward ? b_.tangent_of(y, x, along, called) : b_.gradient_of(y, x, along, called);
  settle(start);
  if (unnamed) derivatives_.push({y, x, along, forward, made});
  return {made, true};
}

// cotangent(y) and tangent(x), inputs shaped like y and x; in a line `custom`, what stands for the cotangent.
constexpr text_parser::tensor_part text_parser::companion(const char* stem) {
  const int start = at_;
  const bool forward = is(now(), "tangent");
  at_ += 2;
  const tensor_part t = tensor_here();
  expect(")");
  if (failed()) return {};
  if (!forward && t.node == custom_) return {custom_cotangent_, true};
  if (b_.g.kind(t.node) == op::input && !forward) {
    wrong(start) << stem << ": expected a definition, found the input " << text_of(label_of(t.node)).text;
    return {};
  }
  return {companion_of(t.node, forward), true};
}
constexpr node_id text_parser::companion_of(node_id of, bool forward) {
  const node_id key = forward ? -2 - of : of;
  int place = -1;
  for (int i = 0; i < companions_.size(); ++i)
    if (companions_[i] == key) place = i;
  if (place < 0) place = companions_.push(key);
  if (place >= static_cast<int>(sizeof(text_symbols))) {
    wrong(at_ - 1) << "cotangent: at most " << static_cast<int>(sizeof(text_symbols))
                   << " of them and tangents in a text";
    return of;
  }
  const sentence label = sentence{} << (forward ? "tangent_" : "cotangent_") << text_of(label_of(of)).text;
  return b_.tensor_like(b_.name(label.text, label.size), of, text_symbols + place).id;
}

// What follows a tensor: subscripts, an access such as .padded(0)(i), or nothing where its rank is 0.
constexpr built text_parser::value_of(tensor_part t, int start) {
  if (at(".")) return access_of(t, start);
  const int rank = tensor_rank(b_.g, t.node);
  flat<built> list;
  if (at("(")) subscripts(list);
  if (failed()) return nothing_built;
  if (list.empty() && rank != 0) {
    wrong(start) << "expression: tensor " << text_of(label_of(t.node)).text << " has rank " << rank
                 << ", got no subscripts";
    return nothing_built;
  }
  list.push({});  // never empty
  const built result = b_.load({t.node, false}, list.data(), list.size() - 1);
  settle(start);
  return result;
}

constexpr void text_parser::subscripts(flat<built>& list) {
  expect("(");
  if (accept(")")) return;
  do list.push(expression());
  while (!failed() && accept(","));
  expect(")");
}

// 0 <= s && s < n of each subscript, from the first on, as the surface nests them.
constexpr node_id text_parser::inside(node_id tensor, const flat<built>& list, int first) {
  graph& g = b_.g;
  const node_id s = list[first].id, zero = cast_to(g, g.type(s), integer(g, 0));
  const node_id here =
      make(g, op::logical_and, make(g, op::less_equal, zero, s), make(g, op::less, s, extent(g, tensor, first)));
  return first + 1 == list.size() ? here : make(g, op::logical_and, here, inside(tensor, list, first + 1));
}

constexpr built text_parser::access_of(tensor_part t, int start) {
  ++at_;
  const token word = now();
  ++at_;
  const bool padded = is(word, "padded");
  built instead = nothing_built;
  if (padded) {
    expect("(");
    instead = expression();
    expect(")");
  }
  const bool moves = is(word, "clamped") || is(word, "reflected") || is(word, "wrapped");
  const bool known =
      padded || moves || is(word, "skipping") || is(word, "checked") || is(word, "guarded") || is(word, "inside");
  if (!known)
    wrong(at_ - 1) << "tensor " << text_of(label_of(t.node)).text << ": expected padded, clamped, reflected, wrapped, "
                   << "skipping, checked or inside after the point, found " << spelled(word).text;
  flat<built> list;
  if (!failed()) subscripts(list);
  if (failed()) return nothing_built;
  const int rank = tensor_rank(b_.g, t.node);
  if (list.size() != rank) {
    wrong(start) << "subscript: tensor " << text_of(label_of(t.node)).text << " has rank " << rank << ", got "
                 << list.size() << " subscripts";
    return nothing_built;
  }
  if (rank == 0) return b_.load({t.node, false}, nullptr, 0);
  if (is(word, "inside")) return {inside(t.node, list, 0), false};
  const outside rule = is(word, "clamped")     ? outside::to_the_edge
                       : is(word, "reflected") ? outside::back_and_forth
                                               : outside::around;
  for (int d = 0; moves && d < rank; ++d)
    list[d] = {moved_inside(b_.g, rule, list[d].id, extent(b_.g, t.node, d)), false};
  const int kind = is(word, "checked") ? 0 : is(word, "skipping") ? 2 : 1;  // enum class access
  built result = b_.load({t.node, false}, list.data(), rank, kind);
  if (padded) {
    const built args[] = {{inside(t.node, list, 0), false}, result, instead};
    result = applied(op::select, args, 3);
  }
  settle(start);
  return result;
}

}  // namespace sheaf::inline v0_1::detail
