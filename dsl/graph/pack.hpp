// A graph as an array of 32-bit words: what a compiled program carries. Only nodes that outputs reach are packed, so
// equal programs are equal words. Shown by every compiled program of tests/numeric.
//
//   words = sizes (nodes, inputs, constraints, outputs, names, differentiated), output signatures (name, element,
//   rank),
//           names (length, characters, one a word), inputs (name, element, rank, extents as two words each),
//           nodes (kind | type << 8 | count << 16, attribute as two words, arguments), constraints (left, right, name),
//           outputs (node), differentiated (node), own monoids (count; name, element, identity, combine,
//           component | width << 8 | in order << 16 each),
//           demands (count; what of, operation, expected, wrong, limit, found each)
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

inline constexpr int header_words = 6;

template <int Capacity>
struct packed_words {
  std::int32_t words[Capacity] = {};
  int size = 0;         // may exceed Capacity: then the rest is lost
  bool failed = false;  // the words are the characters of the error
};
// With what only the compiler asks: by input, what stands for it in C++ where its name is automatic.
template <int Capacity>
struct packed_program : packed_words<Capacity> {
  static constexpr int symbol_capacity = 256;
  const char* symbols[symbol_capacity] = {};

  constexpr void add(std::int32_t word) {
    if (this->size < Capacity) this->words[this->size] = word;
    ++this->size;
  }
};
// As many as there are, for programs that are read at run time.
struct packed_list {
  static constexpr int symbol_capacity = 0;
  const char* symbols[1] = {};
  flat<std::int32_t> words;
  bool failed = false;

  constexpr void add(std::int32_t word) { words.push(word); }
};

namespace detail {

template <class Packed>
struct packer {
  const graph& g;
  Packed& out;
  flat<node_id> moved{};
  int count = 0;

  constexpr void word(std::int32_t w) { out.add(w); }
  constexpr void wide(std::int64_t w) {
    word(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(w))));
    word(static_cast<std::int32_t>(w >> 32));
  }

  constexpr void mark() {
    moved.resize(g.size(), no_node);
    for (const node_id o : g.outputs) moved[o] = 0;
    for (const node_id y : g.differentiated) moved[y] = 0;
    for (const own_monoid_row& m : g.monoids) moved[m.identity] = moved[m.combine] = 0;
    for (const constraint& c : g.constraints) moved[c.left] = moved[c.right] = 0;
    for (const demand& d : g.demands)
      for (const node_id n : {d.wrong, d.limit, d.found})
        if (n != no_node) moved[n] = 0;
    for (node_id n = g.size() - 1; n >= 0; --n)
      if (moved[n] != no_node)
        for (int k = 0; k < (is_graft(n) ? 1 : g[n].count); ++k) moved[g.arg(n, k)] = 0;
    // All inputs stay: slots are their order.
    for (node_id n = 0; n < g.size(); ++n)
      if (moved[n] != no_node) moved[n] = is_graft(n) ? moved[g.arg(n, 0)] : count++;
  }
  // Where a derivative comes from is no matter any more, and what must not hold stands among the demands: the value
  // stands for it.
  constexpr bool is_graft(node_id n) const { return g.kind(n) == op::stop_gradient && g[n].count >= 2; }

  constexpr void names_and_inputs() {
    for (const text_range& name : g.names) {
      word(name.size);
      for (int i = 0; i < name.size; ++i) word(g.text[name.first + i]);
    }
    for (int i = 0; i < g.inputs.size() && i < out.symbol_capacity; ++i) out.symbols[i] = g.inputs[i].symbol;
    for (const input_row& input : g.inputs) {
      word(input.name);
      word(static_cast<std::int32_t>(input.type));
      word(input.rank);
      for (int d = 0; d < input.rank; ++d) wide(g.static_extents[input.first_extent + d]);
    }
  }

  constexpr void run() {
    mark();
    word(count);
    word(g.inputs.size());
    word(g.constraints.size());
    word(g.outputs.size());
    word(g.names.size());
    word(g.differentiated.size());
    for (const node_id o : g.outputs) {
      word(static_cast<std::int32_t>(g[o].attribute));
      word(static_cast<std::int32_t>(g.type(o)));
      word(tensor_rank(g, o));
    }
    names_and_inputs();
    for (node_id n = 0; n < g.size(); ++n) {
      if (moved[n] == no_node || is_graft(n)) continue;
      word(static_cast<std::int32_t>(g[n].kind) | static_cast<std::int32_t>(g[n].type) << 8 | g[n].count << 16);
      wide(g[n].attribute);
      for (int k = 0; k < g[n].count; ++k) word(moved[g.arg(n, k)]);
    }
    for (const constraint& c : g.constraints) {
      word(moved[c.left]);
      word(moved[c.right]);
      word(c.axis);
    }
    for (const node_id o : g.outputs) word(moved[o]);
    for (const node_id y : g.differentiated) word(moved[y]);
    word(g.monoids.size());
    for (const own_monoid_row& m : g.monoids) {
      word(m.name);
      word(static_cast<std::int32_t>(m.type));
      word(moved[m.identity]);
      word(moved[m.combine]);
      word(m.component | m.width << 8 | m.in_order << 16);
    }
    word(g.demands.size());
    for (const demand& d : g.demands) {
      word(static_cast<std::int32_t>(d.of));
      word(d.operation);
      word(d.expected);
      for (const node_id n : {d.wrong, d.limit, d.found}) word(n == no_node ? no_node : moved[n]);
    }
  }
};

template <class Packed>
constexpr Packed packed_as(const graph& g) {
  Packed out;
  packer<Packed> p{g, out};
  out.failed = g.failed();
  if (!g.failed()) p.run();
  else
    for (const char c : g.error) p.word(c);
  return out;
}

}  // namespace detail

template <int Capacity>
constexpr packed_program<Capacity> pack(const graph& g) {
  return detail::packed_as<packed_program<Capacity>>(g);
}
constexpr packed_list pack(const graph& g) { return detail::packed_as<packed_list>(g); }

// What a caller must know of a packed program without unpacking it: its arguments in slot order, inputs then outputs.
struct signature_row {
  const std::int32_t* name = nullptr;  // characters, one a word
  int name_size = 0;
  element type = element::f32;
  int rank = 0;

  constexpr bool called(const char* text, int size) const {
    if (size != name_size) return false;
    for (int i = 0; i < size; ++i)
      if (name[i] != text[i]) return false;
    return true;
  }
};

template <int Count>
struct signature {
  signature_row rows[Count > 0 ? Count : 1];
  int inputs = 0;
};

template <int Count>
constexpr signature<Count> signature_of(const std::int32_t* words) {
  const int inputs = words[1], outputs = words[3], names = words[4];
  const std::int32_t* w = words + header_words + 3 * outputs;
  flat<const std::int32_t*> at;
  for (int i = 0; i < names; ++i, w += 1 + *w) at.push(w);
  signature<Count> s;
  s.inputs = inputs;
  const auto put = [&](int slot, const std::int32_t* row) {
    s.rows[slot] = {at[row[0]] + 1, at[row[0]][0], static_cast<element>(row[1]), row[2]};
  };
  for (int i = 0; i < inputs; ++i, w += 3 + 2 * w[2]) put(i, w);
  for (int i = 0; i < outputs; ++i) put(inputs + i, words + header_words + 3 * i);
  return s;
}

constexpr graph unpack(const std::int32_t* w) {
  graph g;
  const auto wide = [&] {
    const std::uint32_t low = static_cast<std::uint32_t>(*w++);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) |
                                     static_cast<std::uint64_t>(static_cast<std::uint32_t>(*w++)) << 32);
  };
  const int nodes = *w++, inputs = *w++, constraints = *w++, outputs = *w++, names = *w++, differentiated = *w++;
  w += 3 * outputs;
  for (int i = 0; i < names; ++i) {
    const int size = *w++;
    g.names.push({g.text.size(), size});
    for (int k = 0; k < size; ++k) g.text.push(static_cast<char>(*w++));
  }
  for (int i = 0; i < inputs; ++i) {
    const std::int32_t name = *w++;
    const element type = static_cast<element>(*w++);
    const int rank = *w++;
    g.inputs.push({name, type, rank, g.static_extents.size()});
    for (int d = 0; d < rank; ++d) g.static_extents.push(wide());
  }
  flat<node_id> ids;  // without grafts two nodes may have become one
  for (int i = 0; i < nodes; ++i) {
    const std::uint32_t head = static_cast<std::uint32_t>(*w++);
    const std::int64_t attribute = wide();
    const int count = static_cast<int>(head >> 16);
    flat<node_id> list;
    for (int k = 0; k < count; ++k) list.push(ids[*w++]);
    ids.push(
        g.intern(static_cast<op>(head & 255), static_cast<element>((head >> 8) & 255), attribute, list.data(), count));
  }
  for (int i = 0; i < constraints; ++i, w += 3) g.constraints.push({ids[w[0]], ids[w[1]], w[2]});
  for (int i = 0; i < outputs; ++i) g.outputs.push(ids[*w++]);
  for (int i = 0; i < differentiated; ++i) g.differentiated.push(ids[*w++]);
  const int monoids = *w++;
  for (int i = 0; i < monoids; ++i, w += 5)
    g.monoids.push({w[0], static_cast<element>(w[1]), ids[w[2]], ids[w[3]], no_node, w[4] & 255, (w[4] >> 8) & 255,
                    w[4] >> 16 != 0});
  const auto node_at = [&](std::int32_t at) { return at == no_node ? no_node : ids[at]; };
  const int demands = *w++;
  for (int i = 0; i < demands; ++i, w += 6)
    g.demands.push({static_cast<demanded>(w[0]), w[1], w[2], node_at(w[3]), node_at(w[4]), node_at(w[5])});
  return g;
}

}  // namespace sheaf::inline v0_1
