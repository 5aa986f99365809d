// What programs are drawn with: numbers, inputs and the families of programs. See programs.hpp.
#pragma once
#include <algorithm>
#include <cmath>

#include "programs.hpp"

namespace sheaf::bench {

using size = std::int64_t;
inline std::string text_of(size n) { return std::to_string(n); }

class drawing {
 public:
  drawing(std::uint64_t seed, const drawing_limits& limits) : bits_(seed * 0x9E3779B97F4A7C15u + 7), limits_(limits) {}
  drawn_program draw();

 private:
  // ---- numbers
  size below(size n) { return static_cast<size>(bits_() % static_cast<std::uint64_t>(std::max<size>(1, n))); }
  bool chance(int percent) { return below(100) < percent; }
  size between(double low, double high) {
    const double u = static_cast<double>(bits_() >> 11) * 0x1p-53;
    return std::max<size>(1, std::llround(low * std::pow(std::max(1.0, high / low), u)));
  }
  std::string of(std::initializer_list<std::string> list) {
    return *(list.begin() + below(static_cast<size>(list.size())));
  }
  bool integers() const { return !is_floating(value_type_); }
  std::string value_cast() const { return "cast<" + std::string(row(value_type_).name) + ">"; }

  // ---- inputs
  std::string input(const std::string& name, std::vector<size> extents, data_kind kind = data_kind::values,
                    size range = 0, element type = element::f64) {
    const spread how = chance(60) ? spread::uniform : chance(60) ? spread::zipf : spread::giant;
    if (type == element::f64)
      type = kind == data_kind::values || kind == data_kind::positive ? value_type_
             : kind == data_kind::mask                                ? element::boolean
                                                                      : place_type_;
    p_.text += "input " + name + ": " + std::string(row(type).name);
    for (std::size_t d = 0; d < extents.size(); ++d) p_.text += d == 0 ? "[?" : ", ?";
    p_.text += extents.empty() ? "\n" : "]\n";
    p_.inputs.push_back({name, type, extents, kind, range, how});
    return name;
  }
  void line(const std::string& s) { p_.text += s + "\n"; }
  void family(const std::string& name) { p_.family = name; }

  // ---- parts
  void shape();
  std::string term(const std::string& x);
  std::string fold();
  std::string after(const std::string& e);
  void result(const std::string& name, const std::string& axes, const std::string& by);
  std::string matrix(const std::string& t, const std::string& f);

  void dense();
  void dense3();
  void slices();
  void keyed();
  void running();
  void windows();
  void pooling();
  void bags();
  void masked();
  void normal();
  void normal_of_slices();
  void losses();
  void product();
  void pairwise();
  void attention();
  void convolution();
  void stencil();
  void histogram();
  void sparse();
  void regression();
  void mapped();
  void moved();
  void layouts();
  void joined();
  void chain();

  std::mt19937_64 bits_;
  drawing_limits limits_;
  drawn_program p_;
  element value_type_ = element::f32, place_type_ = element::i64;
  size rows_ = 1, columns_ = 1;
  bool derived_ = false;
};

}  // namespace sheaf::bench
