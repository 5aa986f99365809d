// Tasks of mixtures: what is read, what is folded of it at an index, and what with. See mixture.hpp.
#pragma once
#include <coverage/by_name.hpp>

namespace sheaf::mixtures {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u", 3>;
constexpr auto x = tensor<"x", double, 2>;
constexpr auto w = tensor<"w", double, 2>;
constexpr auto weight = tensor<"weight", double, 1>;
constexpr auto keep = tensor<"keep", bool, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto order = tensor<"order", std::int64_t, 1>;
constexpr auto places = tensor<"places", std::int64_t, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto share = tensor<"share", double, 2>;
constexpr auto small = tensor<"small", std::int64_t, 1>;
constexpr auto a = tensor<"a", double, 2>;
constexpr auto rows = extent(x, dim<0>);

template <int N>
using number = std::integral_constant<int, N>;

// A name for each level, as two tasks of one kind may stand in a mixture.
template <fixed_string Name, int Level>
constexpr auto at_level() {
  auto name = Name;
  name.text[Name.length() - 1] = static_cast<char>('0' + Level);
  return name;
}

// ---- elements: of the value v at the index i and its weight

template <class D>
struct element_map {
  template <class V, class I>
  static constexpr auto of(number<0>, V v, I) {
    return v;
  }
  template <class V, class I>
  static constexpr auto of(number<1>, V v, I i) {
    return v * D::scale(i);
  }
  template <class V, class I>
  static constexpr auto of(number<2>, V v, I) {
    return exp(v);
  }
  template <class V, class I>
  static constexpr auto of(number<3>, V v, I i) {
    return v * v * D::scale(i) - v;
  }
  template <class V, class I>
  static constexpr auto of(number<4>, V v, I i) {
    return tanh(v) - D::scale(i);
  }
  template <class V, class I>
  static constexpr auto of(number<5>, V v, I) {
    return select(v > 0.1_c, v, 0.25_c * v - 0.3_c);
  }
  template <class V, class I>
  static constexpr auto of(number<6>, V v, I i) {
    return abs(v - 0.05_c) * D::scale(i) + v;
  }
  static constexpr int tasks = 7;
};

// ---- reductions: of e(i), the element at an index

constexpr auto hypotenuse = own_monoid<"hypotenuse">(0_c, [](auto b, auto c) {
                              return sqrt(b * b + c * c);
                            }).adjoint([](auto element, auto result) { return element / result; });

constexpr auto welford = own_monoid<"welford">(tuple(0_c, 0_c, 0_c), [](auto b, auto c) {
  const auto n = get<0>(b) + get<0>(c);
  const auto part = get<0>(c) / maximum(n, 1_c);
  const auto gap = get<1>(c) - get<1>(b);
  return tuple(n, get<1>(b) + gap * part, get<2>(b) + get<2>(c) + gap * gap * get<0>(b) * part);
});
constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto b, auto c) {
                          return tuple(get<0>(b) * get<0>(c), get<0>(c) * get<1>(b) + get<1>(c));
                        }).in_order();

template <class D>
struct reduction {
  static constexpr auto over = D::over;
  static constexpr auto i = D::index;
  template <class E>
  static constexpr auto of(number<0>, E e) {
    return sum(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<1>, E e) {
    return mean(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<2>, E e) {
    return max(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<3>, E e) {
    return min(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<4>, E e) {
    return prod(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<5>, E e) {
    return logsumexp(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<6>, E e) {
    return sqrt(sum(over, e(i) * e(i)) + 0.1_c);
  }
  template <class E>
  static constexpr auto of(number<7>, E e) {
    return max<ties::first, empty::zero>(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<8>, E e) {
    return mean<empty::zero>(over, e(i)) * cast<double>(count(over, e(i) > 0_c));
  }
  template <class E>
  static constexpr auto of(number<9>, E e) {  // what stands where the maximum of something else is
    return e(maximum(argmax<empty::value<0>>(over, -e(i)), 0_c));
  }
  template <class E>
  static constexpr auto of(number<10>, E e) {  // variance
    const auto centre = define<"centre">(D::results, f) = mean(over, e(i));
    return mean(over, (e(i) - centre(m, f)) * (e(i) - centre(m, f)));
  }
  template <class E>
  static constexpr auto of(number<11>, E e) {  // attention: the mean by softmax weights
    return sum(over, exp(e(i)) * e(i)) / sum(over, exp(e(i)));
  }
  template <class E>
  static constexpr auto of(number<12>, E e) {
    return min<ties::last>(over, e(i)) + sum<empty::value<2>>(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<13>, E e) {
    return fold(hypotenuse, over, e(i) + 3_c);
  }
  // Not drawn: tuples, and positions.
  template <class E>
  static constexpr auto of(number<14>, E e) {
    return argmax(over, e(i));
  }
  template <class E>
  static constexpr auto of(number<15>, E e) {  // the variance, and how many
    const auto state = fold(welford, over, tuple(1_c, e(i), 0_c));
    return get<2>(state) / maximum(get<0>(state), 1_c) + 0.1_c * get<0>(state);
  }
  template <class E>
  static constexpr auto of(number<16>, E e) {  // h = h / 2 + e, one after the other
    return get<1>(fold(affine, over, tuple(0.5_c + 0.1_c * e(i), e(i))));
  }
  static constexpr int tasks = 14;
};

}  // namespace sheaf::mixtures
