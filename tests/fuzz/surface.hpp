// What a program that was written in C++ is called with. Input: views by name; output: the program's text. The
// translation units that include this are written by the generator (main.cpp --surface). Shown by
// tests/fuzz/surface.cpp.
#pragma once
#include <array>
#include <map>
#include <set>
#include <string>

#include <sheaf/sheaf.hpp>

namespace sheaf::fuzz {

// Sources with strides, with the members of Eigen's maps, of xtensor's views and of std::mdspan.
template <class T, int Rank>
struct matrix_source {
  static constexpr bool IsVectorAtCompileTime = Rank == 1;
  view<T, Rank> v;
  T* data() { return v.data; }
  std::int64_t size() const { return v.size(); }
  std::int64_t rows() const { return v.extents[0]; }
  std::int64_t cols() const { return Rank == 1 ? 1 : v.extents[Rank - 1]; }
  std::int64_t rowStride() const { return v.strides[0]; }
  std::int64_t colStride() const { return v.strides[Rank - 1]; }
  std::int64_t innerStride() const { return v.strides[Rank - 1]; }
};
template <class T, int Rank>
struct xtensor_source {
  view<T, Rank> v;
  T* data() { return v.data; }
  std::int64_t size() const { return v.size(); }
  std::int64_t dimension() const { return Rank; }
  std::int64_t data_offset() const { return 0; }
  std::array<std::int64_t, Rank> shape() const { return all(v.extents); }
  std::array<std::int64_t, Rank> strides() const { return all(v.strides); }

 private:
  static std::array<std::int64_t, Rank> all(const std::int64_t* list) {
    std::array<std::int64_t, Rank> a;
    for (int d = 0; d < Rank; ++d) a[static_cast<std::size_t>(d)] = list[d];
    return a;
  }
};
template <class T, int Rank>
struct mdspan_source {
  view<T, Rank> v;
  T* data_handle() { return v.data; }
  static constexpr int rank() { return Rank; }
  std::int64_t extent(int d) const { return v.extents[d]; }
  std::int64_t stride(int d) const { return v.strides[d]; }
};

struct surface_call {
  std::map<std::string, sheaf_tensor> slots;
  std::string text;
  mutable std::set<std::string> given;  // outputs among them; the others are returned

  template <class T, int Rank>
  view<T, Rank> at(const std::string& name) const {
    given.insert(name);
    const sheaf_tensor& t = slots.at(name);
    return view<T, Rank>(static_cast<T*>(t.data), t.extents, t.strides);
  }
  template <class T, int Rank>
  matrix_source<T, Rank> matrix(const char* name) const {
    return {at<T, Rank>(name)};
  }
  template <class T, int Rank>
  xtensor_source<T, Rank> xtensor(const char* name) const {
    return {at<T, Rank>(name)};
  }
  template <class T, int Rank>
  mdspan_source<T, Rank> mdspan(const char* name) const {
    return {at<T, Rank>(name)};
  }
};

// Empty, or what differs from the program of this seed parsed from text.
using surface_run = void (*)(surface_call&);
std::string run_surface(std::uint64_t seed, surface_run run);
// The programs that this executable was compiled with, by seed.
std::map<std::uint64_t, surface_run>& surface_programs();
inline bool add_surface(std::uint64_t seed, surface_run run) { return surface_programs().emplace(seed, run).second; }

}  // namespace sheaf::fuzz
