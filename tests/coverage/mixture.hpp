// Mixtures: expressions put together from a table of tasks by a pseudo-random choice at compile time. mixture<Seed> is
//
//   outer( reduction over a domain of rows of element( map( map( x ) ) ) )
//
// Maps are familiar functions and definitions that keep the shape [T, F]; domains say which rows each result m folds,
// reductions what with, outer tasks what is done with the result. Within 14 seeds that follow one another each domain
// stands once, and so does each reduction. To add a task: a function of the next number in its table, and one more in
// its count.
#pragma once
#include <coverage/mixture_reductions.hpp>

namespace sheaf::mixtures {

// ---- maps: a tensor [T, F] to one of the same shape

template <int Level>
struct map {
  template <class M>
  static constexpr auto of(number<0>, M a) {
    return a;
  }
  template <class M>
  static constexpr auto of(number<1>, M a) {
    return elementwise([](auto e, auto b) { return e * b; }, a, w);
  }
  template <class M>
  static constexpr auto of(number<2>, M a) {
    return softmax(a, dim<1>);
  }
  template <class M>
  static constexpr auto of(number<3>, M a) {
    return log_softmax(a, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<4>, M a) {
    return index_select(a, order, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<5>, M a) {
    return cumsum(a, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<6>, M a) {  // each row and the one before it
    return define<at_level<"shifted_", Level>()>(t, f) = a(t, f) - 0.5_c * a.padded(0_c)(t - 1_c, f);
  }
  template <class M>
  static constexpr auto of(number<7>, M a) {
    return avg_pool1d<pool{.kernel = {3}, .stride = {1}, .padding = {1}}>(a);
  }
  template <class M>
  static constexpr auto of(number<8>, M a) {
    return layer_norm<0.1>(a);
  }
  template <class M>
  static constexpr auto of(number<9>, M a) {
    return logcumsumexp<reversed>(a, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<10>, M a) {
    return take_along_axis(a, places, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<11>, M a) {
    return roll<2>(flip(a, dim<1>), dim<0>);
  }
  template <class M>
  static constexpr auto of(number<12>, M a) {
    return slice(pad<1, 1, padding::reflect>(a, dim<1>), whole, range<0, -2>);
  }
  template <class M>
  static constexpr auto of(number<13>, M a) {
    return elementwise([](auto e) { return tanh(e * 2_c); }, a);
  }
  template <class M>
  static constexpr auto of(number<14>, M a) {  // without the mean of its segment
    constexpr auto centre = segment_mean<4>(M{}, ids);
    return define<at_level<"centred_", Level>()>(t, f) = a(t, f) - centre(ids(t), f);
  }
  template <class M>
  static constexpr auto of(number<15>, M a) {
    return cummax(a, dim<1>);
  }
  template <class M>
  static constexpr auto of(number<16>, M a) {
    return band<2, 1>(a);
  }
  template <class M>
  static constexpr auto of(number<17>, M a) {
    return index_add(a, order, w, dim<0>);
  }
  template <class M>
  static constexpr auto of(number<18>, M a) {  // segment softmax
    constexpr auto total = segment_logsumexp<4>(M{}, ids);
    return define<at_level<"share_", Level>()>(t, f) = exp(a(t, f) - total(ids(t), f));
  }
  template <class M>
  static constexpr auto of(number<19>, M a) {
    return max_pool1d<pool{.kernel = {3}, .stride = {1}, .padding = {1}}>(a);
  }
  template <class M>
  static constexpr auto of(number<20>, M b) {
    return matmul(b, a);
  }
  template <class M>
  static constexpr auto of(number<21>, M a) {
    return rms_norm<0.1>(a);
  }
  static constexpr int tasks = 22;
};

// ---- domains: the rows that result m folds, by an index of theirs

// i: the reduced index; over: its domain; row: the row of the tensor at i; scale: a weight at i; results: how m is
// bound.
struct domain {
  static constexpr auto slots = m.in(0_c, 4_c);
  static constexpr auto every = m.in(0_c, rows);

  struct by_row {  // the index is the row
    static constexpr auto index = t;
    template <class I>
    static constexpr auto row(I i) {
      return i;
    }
    template <class I>
    static constexpr auto scale(I i) {
      return weight(i) * share(m % 4_c, 0_c);
    }
  };
  struct everything : by_row {
    static constexpr auto results = slots;
    static constexpr auto over = t;
  };
  struct ragged : by_row {
    static constexpr auto results = m;
    static constexpr auto over = t.in(cut(m, 0_c), cut(m, 1_c));
  };
  struct masked : by_row {
    static constexpr auto results = slots;
    static constexpr auto over = t.where(keep(t));
  };
  struct ragged_and_masked : by_row {
    static constexpr auto results = m;
    static constexpr auto over = t.in(cut(m, 0_c), cut(m, 1_c)).where(keep(t) || t == cut(m, 0_c));
  };
  struct window {
    static constexpr auto results = m.in(0_c, rows - 2_c);
    static constexpr auto index = u;
    static constexpr auto over = u;
    template <class I>
    static constexpr auto row(I i) {
      return m + i;
    }
    template <class I>
    static constexpr auto scale(I i) {
      return weight(m + i);
    }
  };
  struct edged_window {  // cut at the ends
    static constexpr auto results = every;
    static constexpr auto index = k;
    static constexpr auto over = k.in(maximum(0_c, 1_c - m), minimum(3_c, rows + 1_c - m));
    template <class I>
    static constexpr auto row(I i) {
      return m + i - 1_c;
    }
    template <class I>
    static constexpr auto scale(I i) {
      return share(0_c, i);
    }
  };
  struct gathered {
    static constexpr auto results = m;
    static constexpr auto index = k;
    static constexpr auto over = k;
    template <class I>
    static constexpr auto row(I i) {
      return picks(m, i);
    }
    template <class I>
    static constexpr auto scale(I i) {
      return share(m, i);
    }
  };
  struct bags {
    static constexpr auto results = slots;
    static constexpr auto index = k;
    static constexpr auto over = k.in(off(m), off(m + 1_c));
    template <class I>
    static constexpr auto row(I i) {
      return order(i);
    }
    template <class I>
    static constexpr auto scale(I i) {
      return weight(i);
    }
  };
  struct segments : by_row {
    static constexpr auto results = slots;
    static constexpr auto over = t.where(ids(t) == m);
  };
  struct strided : by_row {
    static constexpr auto results = slots;
    static constexpr auto over = t.in(m, rows, 2_c);
  };
  struct strided_back : by_row {
    static constexpr auto results = slots;
    static constexpr auto over = t.in(rows - 1_c, m, -3_c);
  };
  struct causal : by_row {
    static constexpr auto results = every;
    static constexpr auto over = t.in(0_c, m + 1_c);
  };
  struct band : by_row {
    static constexpr auto results = every;
    static constexpr auto over = t.in(maximum(m - 2_c, 0_c), minimum(m + 4_c, rows));
  };
  struct among : by_row {  // the rows that a list of indices names, once each
    static constexpr auto results = m;
    static constexpr auto over = t.where(any(k, picks(m, k) == t));
  };
  template <int N>
  using at = std::tuple_element_t<N, std::tuple<everything, ragged, masked, ragged_and_masked, window, edged_window,
                                                gathered, bags, segments, strided, strided_back, causal, band, among>>;
  static constexpr int tasks = 14;
};

// ---- outer tasks: of the result, [., F]

struct outer {
  static constexpr auto r = axis<"r">;
  template <class Y>
  static constexpr auto of(number<0>, Y y) {
    return y;
  }
  template <class Y>
  static constexpr auto of(number<1>, Y y) {
    return logsumexp(y, dim<1>);
  }
  template <class Y>
  static constexpr auto of(number<2>, Y y) {
    return max(y, dim<0>);
  }
  template <class Y>
  static constexpr auto of(number<3>, Y y) {
    return softmax(y, dim<0>);
  }
  template <class Y>
  static constexpr auto of(number<4>, Y y) {
    return var<correction<0>>(y, dim<1>);
  }
  template <class Y>
  static constexpr auto of(number<5>, Y y) {
    return norm<2>(y);
  }
  template <class Y>
  static constexpr auto of(number<6>, Y y) {
    return cumsum<reversed>(y, dim<0>);
  }
  template <class Y>
  static constexpr auto of(number<7>, Y y) {
    return index_select(y, small, dim<0>);
  }
  template <class Y>
  static constexpr auto of(number<8>, Y y) {
    return layer_norm<0.1>(y);
  }
  template <class Y>
  static constexpr auto of(number<9>, Y y) {
    return mean(slice(y, range<none, none, -2>, range<1>), dim<0>);
  }
  template <class Y>
  static constexpr auto of(number<10>, Y y) {
    return max(unfold<2>(matmul(y, a), dim<1>), dim<-1>);
  }
  template <class Y>
  static constexpr auto of(number<11>, Y y) {  // the rows up to each, once more gathered
    return define<"again">(r.in(0_c, 4_c)) = logsumexp(over(k.in(0_c, r + 1_c), f), y(small(k), f));
  }
  template <class Y>
  static constexpr auto of(number<12>, Y y) {
    return mse_loss(y, tril(y));
  }
  static constexpr int tasks = 13;
};

// ---- the choice

constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
constexpr int draw(std::uint64_t seed, int which, int choices) {
  return static_cast<int>(mixed(seed * 64 + static_cast<std::uint64_t>(which)) % static_cast<std::uint64_t>(choices));
}
// Each of the choices once among as many seeds in a row: from another start, in another stride for each row of them.
constexpr int deal(std::uint64_t seed, int which, int choices, int stride) {
  const auto n = static_cast<std::uint64_t>(choices);
  const int start = draw(seed / n, which, choices);
  return (start + static_cast<int>(seed % n) * stride) % choices;
}

struct choice {
  int first_map, second_map, domain, element, reduction, outer;
};
constexpr choice chosen(std::uint64_t seed) {
  return {deal(seed, 0, map<0>::tasks, 5),
          draw(seed, 1, 2) == 0 ? 0 : draw(seed, 2, map<0>::tasks),
          deal(seed, 3, domain::tasks, 3),
          draw(seed, 4, 7),
          deal(seed, 5, 14, 9),
          deal(seed, 6, outer::tasks, 4)};
}

// e(i): what is folded at an index.
template <class D, int Kind, class Source>
struct element_of_source {
  template <class I>
  constexpr auto operator()(I i) const {
    return element_map<D>::of(number<Kind>{}, Source{}(D::row(i), f), i);
  }
};

template <choice C>
constexpr auto composed() {
  using D = domain::at<C.domain>;
  const auto source = map<2>::of(number<C.second_map>{}, map<1>::of(number<C.first_map>{}, x));
  const element_of_source<D, C.element, std::remove_const_t<decltype(source)>> element{};
  const auto folded = define<"folded">(D::results, f) = reduction<D>::of(number<C.reduction>{}, element);
  return outer::of(number<C.outer>{}, folded);
}
template <std::uint64_t Seed>
constexpr auto mixture() {
  return composed<chosen(Seed)>();
}

template <std::uint64_t Seed>
SHEAF_INLINE void check(const char* name) {
  constexpr auto y = mixture<Seed>();
  if constexpr (Seed % 3 == 0)
    test::check_everywhere(test::both_orders(name, y, x), Seed);
  else
    test::check_everywhere(test::first_order(name, y, x), Seed);
}

}  // namespace sheaf::mixtures

// Seed by seed: kernels and reference on three sets of data; derivatives of first order, and of second order for every
// third.
#define SHEAF_MIXTURE(seed) \
  TEST(mixture, seed_##seed) { sheaf::mixtures::check<seed>("mixture " #seed); }
