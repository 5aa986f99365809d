// The names of tensors and indices in the text of a definition: `quoted` where they are no plain names, and told apart
// where several have one. Private header of print.hpp.
#pragma once
#include <sheaf/dsl/graph/decimal.hpp>
#include <sheaf/dsl/graph/print_axes.hpp>
#include <sheaf/dsl/graph/words.hpp>

namespace sheaf::inline v0_1 {

class name_printer {
 public:
  constexpr explicit name_printer(const graph& g) : g_(g), bare_(g) { primes_.resize(g.indices.size(), -1); }

 protected:
  constexpr bool is_axis(node_id idx) const { return bare_.is_bare(idx); }

  constexpr void name(name_id id) {
    const char* const text = g_.text.data() + g_.names[id].first;
    const bool plain = is_plain_name(text, g_.names[id].size);
    if (!plain) out_.push('`');
    for (int i = 0; i < g_.names[id].size; ++i) out_.push(text[i]);
    if (!plain) out_.push('`');
  }

  constexpr void tensor_name(node_id tensor) {
    const bool defined = g_.kind(tensor) == op::define;
    const auto at = static_cast<int>(g_[tensor].attribute);
    const name_id id = defined ? at : g_.inputs[at].name;
    name(id);
    int before = 0;  // tensors of the same name that stand before this one; what is left over takes no name
    for (node_id n = 0; defined && n < tensor; ++n) {
      if (!bare_.is_printed(n)) continue;
      before += g_.kind(n) == op::define && g_[n].attribute == g_[tensor].attribute;
      before += g_.kind(n) == op::input && g_.inputs[static_cast<int>(g_[n].attribute)].name == id;
    }
    if (before == 0) return;
    out_.push('\'');
    append_integer(out_, before + 1);
  }

  constexpr void index_name_of(node_id idx) {
    const int o = g_.ordinal(idx);
    give_primes(idx);
    name(index_name(g_, idx));
    if (primes_[o] > 3) {
      out_.push('\'');
      append_integer(out_, primes_[o]);
    } else {
      for (int i = 0; i < primes_[o]; ++i) out_.push('\'');
    }
  }
  constexpr void give_primes(node_id idx) {
    const int o = g_.ordinal(idx);
    if (primes_[o] >= 0) return;
    primes_[o] = free_primes(idx);
    order_.push(idx);
  }
  constexpr int free_primes(node_id idx) const {
    const int serial = index_serial(g_, idx);
    for (int p = serial == 0 && bare_.names_tensor(index_name(g_, idx)) ? 1 : serial;; ++p) {
      bool taken = false;
      for (int o = 0; o < g_.indices.size(); ++o)
        taken = taken || (primes_[o] == p && index_name(g_, g_.indices[o]) == index_name(g_, idx));
      if (!taken) return p;
    }
  }
  constexpr void forget_primes() {
    for (int o = 0; o < primes_.size(); ++o) primes_[o] = -1;
    order_.clear();
  }

  const graph& g_;
  flat<char> out_;
  bare_indices bare_;
  flat<int> primes_;     // by ordinal; -1: not named yet
  flat<node_id> order_;  // indices that have primes
};

}  // namespace sheaf::inline v0_1
