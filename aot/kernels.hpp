// Programs of C++ as kernels ahead of time. sheaf_add_kernels compiles a file of them for the machine that builds, and
// runs it: it writes what sheaf-aot reads (program.hpp).
//
//   #include <sheaf/kernels.hpp>
//   SHEAF_KERNEL(step, loss, grad(loss, x), serving(x = like(100000, 64), cut = like(256, 2)))
//
// Outputs, then options, and examples of the extents that it shall serve. Shown by tests/aot/project.
#pragma once
#include <cstdio>
#include <string>
#include <tuple>

#include <sheaf/sheaf.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <class... Arguments>
struct extents_served {
  std::tuple<Arguments...> arguments;
};
template <class Symbol, int Rank>
struct extents_of_symbol {
  extents_alone<Rank> is;
};

template <class T>
inline constexpr bool is_kernel_setting = std::same_as<T, options> || std::same_as<T, determinism>;
template <class... Arguments>
inline constexpr bool is_kernel_setting<extents_served<Arguments...>> = true;

template <class Output, class Input>
struct updated_output {};
template <class Output, class Input>
inline constexpr bool is_kernel_setting<updated_output<Output, Input>> = true;
template <class... Outputs>
struct added_outputs {};
template <class... Outputs>
inline constexpr bool is_kernel_setting<added_outputs<Outputs...>> = true;

inline std::string& kernel_texts() {
  static std::string all;
  return all;
}

// A kernel of outputs, which come first among what the macro was given.
class kernel_text {
 public:
  template <class... Given>
  explicit kernel_text(const char* name, Given... given) {
    constexpr std::size_t outputs = (static_cast<std::size_t>(!is_kernel_setting<Given>) + ... + 0);
    static_assert(outputs > 0, "SHEAF_KERNEL: expected at least one output");
    text_ = std::string("kernel ") + name + "\n";
    const std::tuple<Given...> all(given...);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      static_assert((!is_kernel_setting<std::tuple_element_t<K, std::tuple<Given...>>> && ...),
                    "SHEAF_KERNEL: outputs come first, then options");
      using signature = call_signature<std::tuple_element_t<K, std::tuple<Given...>>...>;
      (add<signature>(given), ...);
      constexpr auto words = signature::program::words;
      text_ += "packed";
      for (int k = 0; k < words.size; ++k) text_ += " " + std::to_string(words.words[k]);
    }(std::make_index_sequence<outputs>());
    kernel_texts() += text_ + "\n";
  }

 private:
  template <class Signature, class T>
  void add(const T&) {}
  template <class Signature>
  void add(const options& o) {
    add<Signature>(o.determinism);
    if (o.fusion == fusion::off) text_ += "option fusion off\n";
    if (o.lanes != 0) text_ += "option lanes " + std::to_string(o.lanes) + "\n";
  }
  template <class Signature>
  void add(determinism d) {
    if (d == determinism::strict) text_ += "option determinism strict\n";
  }
  template <class Signature, class... Arguments>
  void add(const extents_served<Arguments...>& served) {
    std::string list;
    std::apply([&](const auto&... a) { (add_extents<Signature>(list, a), ...); }, served.arguments);
    text_ += "like " + list + "\n";
  }
  template <class Signature, class Output>
  static std::string output_number() {
    constexpr int slot = Signature::template slot<Output> - Signature::inputs;
    static_assert(slot >= 0, "updates, adding: expected an output of this kernel");
    return std::to_string(slot);
  }
  template <class Signature, class Output, class Input>
  void add(const updated_output<Output, Input>&) {
    constexpr int input = Signature::template slot<Input>;
    static_assert(input >= 0 && input < Signature::inputs, "updates: expected an output and an input of this kernel");
    text_ += "update " + output_number<Signature, Output>() + " " + std::to_string(input) + "\n";
  }
  template <class Signature, class... Outputs>
  void add(const added_outputs<Outputs...>&) {
    ((text_ += "add " + output_number<Signature, Outputs>() + "\n"), ...);
  }
  template <class Signature, class Symbol, int Rank>
  void add_extents(std::string& list, const extents_of_symbol<Symbol, Rank>& a) {
    constexpr int slot = Signature::template slot<Symbol>;
    static_assert(slot >= 0 && slot < Signature::inputs, "serving: the symbol is no input of this program");
    if constexpr (slot >= 0 && slot < Signature::inputs)
      static_assert(Signature::template rank<slot> == Rank, "serving: one extent for each dimension");
    list += (list.empty() ? "" : ", ") + std::to_string(slot);
    for (int d = 0; d < Rank; ++d) list += " " + std::to_string(a.is.extents[d]);
  }

  std::string text_;
};

template <class Symbol, int Rank>
extents_of_symbol<Symbol, Rank> extents_of(binding<Symbol, extents_alone<Rank>>&& b) {
  return {b.value};
}

}  // namespace detail

// Extents of a call that a kernel shall serve: serving(x = like(100000, 64), cut = like(256, 2)).
template <class... Bindings>
auto serving(Bindings&&... bindings) {
  auto list = std::make_tuple(detail::extents_of(std::move(bindings))...);
  return [&]<class... A>(std::tuple<A...>& all) { return detail::extents_served<A...>{all}; }(list);
}

// The output may lie exactly where the input lies: SHEAF_KERNEL(step, w_next, updates(w_next, w)).
template <class Output, class Input>
detail::updated_output<Output, Input> updates(Output, Input) {
  return {};
}
// The outputs are added to what is there, which is a further input for each, called `NAME_before`, and may lie where
// the output lies: SHEAF_KERNEL(step, loss, grad(loss, x), adding(grad(loss, x))).
template <class... Outputs>
detail::added_outputs<Outputs...> adding(Outputs...) {
  return {};
}

// Of the file that sheaf_add_kernels makes: writes all kernels to the path it is given.
inline int write_kernels(int count, char** words) {
  std::FILE* file = count == 2 ? std::fopen(words[1], "w") : nullptr;
  if (file == nullptr) return 1;
  std::fputs(detail::kernel_texts().c_str(), file);
  return std::fclose(file) == 0 ? 0 : 1;
}

}  // namespace sheaf::inline v0_1

#define SHEAF_KERNEL(name, ...) static const ::sheaf::detail::kernel_text sheaf_kernel_of_##name(#name, __VA_ARGS__);
