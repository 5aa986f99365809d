// text_program: a program whose text is known at run time only. Arguments and results are named, and carry their
// types with them.
//
//   const text_program step("loss = sum(over(t, f), x(t, f) * x(t, f))\noutput loss, grad(loss, x)");
//   const auto results = step({{"x", rows}});                    // element types and ranks as the arguments have them
//   view<const float, 2> dx = results[1].as<float, 2>();         // in the order of the text's outputs
//   step({{"x", rows}, {"loss", l}, {"dloss_dx", gradient}});    // into the caller's views
//   step({{"x", rows}, named_argument("dloss_dx", sums).added()});  // added to what is there
//
// docs/language.md has the grammar. Shown by tests/text/text_program.cpp.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/jit/engine/program.hpp>
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/error.hpp>
#include <sheaf/runtime/view.hpp>

namespace sheaf::inline v0_1 {

// One argument: a name, and a view of anything that a view can be made of. It refers to the elements for the call's
// duration.
class named_argument {
 public:
  template <class Source>
    requires(runtime::kind_of_source<std::remove_reference_t<Source>> != runtime::source_kind::none &&
             runtime::static_rank<std::remove_reference_t<Source>>() >= 0)
  SHEAF_HIDDEN named_argument(std::string_view name, Source&& source) : name_(name) {
    using own = std::remove_reference_t<Source>;
    take(view<runtime::element_of_source<own>, runtime::static_rank<own>()>(source));
  }
  template <class T, std::size_t Extent>
  SHEAF_HIDDEN named_argument(std::string_view name, T (&source)[Extent]) : name_(name) {
    take(view<std::remove_all_extents_t<T>, static_cast<int>(std::rank_v<T>) + 1>(source));
  }
  // A number; one that is no variable is read only, and lives as long as the call.
  template <class T>
    requires(is_element<std::remove_cvref_t<T>>)
  SHEAF_HIDDEN named_argument(std::string_view name, T&& value) : name_(name) {
    using own = std::conditional_t<std::is_lvalue_reference_v<T>, std::remove_reference_t<T>, const T>;
    take(view<own, 0>(value));
  }

  // Of an output: it is added to what the view holds.
  SHEAF_HIDDEN named_argument added() const {
    named_argument a = *this;
    a.is_added_ = true;
    return a;
  }

  SHEAF_HIDDEN std::string_view name() const { return name_; }
  SHEAF_HIDDEN element type() const { return type_; }
  SHEAF_HIDDEN int rank() const { return rank_; }
  SHEAF_HIDDEN bool writable() const { return writable_; }
  SHEAF_HIDDEN bool is_added() const { return is_added_; }
  SHEAF_HIDDEN sheaf_tensor tensor() const { return {data_, extents_, strides_}; }

 private:
  template <class T, int Rank>
  SHEAF_HIDDEN void take(const view<T, Rank>& v) {
    type_ = element_of<std::remove_const_t<T>>;
    rank_ = Rank;
    writable_ = !std::is_const_v<T>;
    data_ = const_cast<std::remove_const_t<T>*>(v.data);
    for (int d = 0; d < Rank; ++d) extents_[d] = v.extents[d], strides_[d] = v.strides[d];
  }

  std::string_view name_;
  element type_{};
  int rank_ = 0;
  bool writable_ = false, is_added_ = false;
  void* data_ = nullptr;
  std::int64_t extents_[8] = {}, strides_[8] = {};
};

// An output that no argument took: row-major elements of a type known at run time. It can be moved, not copied.
class any_array {
 public:
  // Memory for these extents. Throws code::out_of_memory.
  any_array(std::string name, element type, std::vector<std::int64_t> extents);
  any_array(any_array&& other) noexcept;
  any_array& operator=(any_array&& other) noexcept;
  ~any_array();

  SHEAF_HIDDEN const std::string& name() const { return name_; }
  SHEAF_HIDDEN element type() const { return type_; }
  SHEAF_HIDDEN int rank() const { return static_cast<int>(extents_.size()) - 1; }
  SHEAF_HIDDEN std::int64_t extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  SHEAF_HIDDEN const std::int64_t* extents() const { return extents_.data(); }
  SHEAF_HIDDEN void* data() const { return data_; }

  // Throws code::rank_mismatch where it is of another type or rank. Valid as long as this array.
  template <class T, int Rank>
  SHEAF_HIDDEN view<T, Rank> as() const {
    expect(element_of<std::remove_const_t<T>>, Rank);
    std::int64_t strides[Rank > 0 ? Rank : 1];
    runtime::row_major(extents_.data(), strides, Rank);
    return view<T, Rank>(static_cast<T*>(data_), extents_.data(), strides);
  }

 private:
  void expect(element type, int rank) const;
  std::string name_;
  element type_;
  std::vector<std::int64_t> extents_;  // one more than the rank: never empty
  std::size_t bytes_;
  void* data_;
};

// Calls from several threads at a time are safe; it can be moved, not copied.
class text_program {
 public:
  // The text is read at the first call with arguments of some types, which throws code::bad_argument where it is wrong:
  // "text: line 2, column 14: ...", and code::unsupported where it has more than 256 indices.
  explicit text_program(std::string_view text, const options& wanted = {}, jit::backend runs_on = jit::backend::chosen);
  text_program(text_program&&) noexcept;
  text_program& operator=(text_program&&) noexcept;
  ~text_program();

  // Every input, and any output that goes into memory of the caller's; returns the other outputs in their order. Throws
  // sheaf::error; outputs are then untouched.
  std::vector<any_array> operator()(std::initializer_list<named_argument> arguments) const;
  std::vector<any_array> operator()(const std::vector<named_argument>& arguments) const;

  // The program as the printer writes it, for arguments of these types; and what would run for them and why.
  std::string text(const std::vector<named_argument>& arguments = {}) const;
  std::string explain(const std::vector<named_argument>& arguments) const;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace sheaf::inline v0_1
