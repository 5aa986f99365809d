// Pass `unique_names`: one name for each tensor of a program. Names that the program's author gave stay; automatic
// ones (of the familiar layer, of gradients, of what passes made) are numbered in the order of their nodes, and give
// way. Input: a whole graph and which of its definitions and inputs the author named. Output: no two tensors that the
// program keeps have one name. Nothing is interned afterwards: a definition's name is part of what it is found by.
// Shown by tests/numeric/names.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/dsl/graph/reached.hpp>

namespace sheaf::inline v0_1 {

// An output that is another once more, by the name that the other began with.
struct named_copy {
  node_id definition = no_node;
  name_id called = 0;
};

// A name for an index, after none that the program has.
constexpr name_id unused_letter(graph& g) {
  const char letters[] = "ijklpqrsuvw";
  for (int l = 0; l < 11; ++l) {
    const name_id name = g.name(letters + l, 1);
    bool used = false;
    for (const node_id idx : g.indices) used = used || index_name(g, idx) == name;
    if (!used) return name;
  }
  return g.name("o", 1);
}

class unique_names {
 public:
  constexpr unique_names(graph& g, const flat<node_id>& given, const flat<named_copy>& copies) : g_(g), kept_(g) {
    for (const input_row& i : g.inputs)
      if (i.symbol == nullptr) taken_.push(i.name);
    for (const node_id n : given)
      if (kept_[n]) taken_.push(static_cast<name_id>(g[n].attribute));
    for (const named_copy& c : copies) g.nodes[c.definition].attribute = c.called;
    const int size = g.inputs.size();
    for (int i = 0; i < size; ++i)
      if (g.inputs[i].symbol != nullptr) g.inputs[i].name = untaken(g.inputs[i].name);
    for (node_id n = 0; n < g.size(); ++n)
      if (kept_[n] && g.kind(n) == op::define && !given.contains(n))
        g.nodes[n].attribute = untaken(static_cast<name_id>(g[n].attribute));
    taken_.clear();  // monoids are called by name in another place
    for (int k = 0; k < g.monoids.size(); ++k)
      g.monoids[k].name = g.monoids[k].component == 0 ? untaken(g.monoids[k].name) : g.monoids[k - 1].name;
  }

 private:
  // The name, or name1, name2, ... where that is taken.
  constexpr name_id untaken(name_id called) {
    name_id result = called;
    for (int k = 1; taken_.contains(result); ++k) {
      flat<char> text;
      for (int i = 0; i < g_.names[called].size; ++i) text.push(g_.text[g_.names[called].first + i]);
      char digits[10] = {};
      int count = 0;
      for (int rest = k; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
      while (count > 0) text.push(digits[--count]);
      result = g_.name(text.data(), text.size());
    }
    taken_.push(result);
    return result;
  }

  graph& g_;
  reached_nodes kept_;
  flat<name_id> taken_;
};

}  // namespace sheaf::inline v0_1
