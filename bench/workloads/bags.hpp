// The data of W10, and what it should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct bag_data {
  static constexpr std::int64_t words = 1000000, features = 64, bag_count = 4096;
  array<float, 2> table = noise(-1, 1, words, features), dtable = touched(words, features),
                  y = touched(bag_count, features), dy = noise(-1, 1, bag_count, features);
  array<std::int64_t, 1> off{bag_count + 1}, ids;
  array<float, 1> weight, dweight;
  std::vector<std::int64_t> bag_of, first_use, uses;  // of each pick its bag; the picks of each word, word by word
  double distinct = 0;

  bag_data() {
    for (std::int64_t k = 0; k < bag_count; ++k)
      off(k + 1) = off(k) + 1 + static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(k)) % 100);
    const std::int64_t picks = off(bag_count);
    ids = array<std::int64_t, 1>(picks);
    weight = noise(0, 1, picks);
    dweight = touched(picks);
    draw();
    bag_of.resize(static_cast<std::size_t>(picks));
    for (std::int64_t k = 0; k < bag_count; ++k) std::fill(bag_of.begin() + off(k), bag_of.begin() + off(k + 1), k);
    first_use.assign(static_cast<std::size_t>(words + 1), 0);
    for (std::int64_t n = 0; n < picks; ++n) ++first_use[at(ids(n) + 1)];
    for (std::int64_t v = 0; v < words; ++v) {
      distinct += first_use[at(v + 1)] > 0 ? 1 : 0;
      first_use[at(v + 1)] += first_use[at(v)];
    }
    uses.resize(at(picks));
    auto next = first_use;
    for (std::int64_t n = 0; n < picks; ++n) uses[at(next[at(ids(n))]++)] = n;
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

  // The word of rank r has a share of 1 / r; frequent words lie anywhere in the table.
  void draw() {
    std::vector<double> upto(at(words));
    double total = 0;
    for (std::int64_t r = 0; r < words; ++r) upto[at(r)] = total += 1.0 / static_cast<double>(r + 1);
    for (std::int64_t n = 0; n < ids.size(); ++n) {
      const double u = uniform_at(static_cast<std::uint64_t>(n) + 1000000) * total;
      const auto rank = std::lower_bound(upto.begin(), upto.end(), u) - upto.begin();
      ids(n) = rank * 611953 % words;  // a prime: every rank has a place of its own
    }
  }

  // Rows of the table that are named, each once, the ids and the offsets; the whole gradient of the table is written.
  traffic forward() const { return traffic{distinct * features * 4, 0} + reads(ids, off) + writes(y); }
  traffic both() const { return forward() + reads(dy) + writes(dtable); }

  // What pick n adds to its bag, as a function of its place: share(n).
  template <class Share>
  double sum_error(Share share) const {
    return error_of(y, features, [&](std::int64_t k, double* want) {
      std::fill(want, want + features, 0.0);
      for (std::int64_t n = off(k); n < off(k + 1); ++n)
        for (std::int64_t f = 0; f < features; ++f) want[f] += share(n) * static_cast<double>(table(ids(n), f));
    });
  }
  template <class Share>
  double table_error(Share share) const {
    return error_of(dtable, features, [&](std::int64_t v, double* want) {
      std::fill(want, want + features, 0.0);
      for (std::int64_t u = first_use[at(v)]; u < first_use[at(v + 1)]; ++u) {
        const std::int64_t n = uses[at(u)];
        for (std::int64_t f = 0; f < features; ++f) want[f] += share(n) * static_cast<double>(dy(bag_of[at(n)], f));
      }
    });
  }
  double weight_error() const {
    return error_of(dweight, 1, [&](std::int64_t n, double* want) {
      *want = 0;
      for (std::int64_t f = 0; f < features; ++f)
        *want += static_cast<double>(dy(bag_of[at(n)], f)) * static_cast<double>(table(ids(n), f));
    });
  }
  // The largest of a bag and how many of its picks have it: they share the gradient.
  std::pair<double, double> largest(std::int64_t k, std::int64_t f) const {
    float best = table(ids(off(k)), f);
    double times = 0;
    for (std::int64_t n = off(k); n < off(k + 1); ++n) best = std::max(best, table(ids(n), f));
    for (std::int64_t n = off(k); n < off(k + 1); ++n) times += table(ids(n), f) == best ? 1 : 0;
    return {static_cast<double>(best), times};
  }
  double max_error() const {
    return error_of(y, features, [&](std::int64_t k, double* want) {
      for (std::int64_t f = 0; f < features; ++f) want[f] = largest(k, f).first;
    });
  }
  double max_table_error() const {
    std::vector<std::pair<double, double>> best(at(bag_count * features));
    for (std::int64_t k = 0; k < bag_count; ++k)
      for (std::int64_t f = 0; f < features; ++f) best[at(k * features + f)] = largest(k, f);
    return error_of(dtable, features, [&](std::int64_t v, double* want) {
      std::fill(want, want + features, 0.0);
      for (std::int64_t u = first_use[at(v)]; u < first_use[at(v + 1)]; ++u) {
        const std::int64_t k = bag_of[at(uses[at(u)])];
        for (std::int64_t f = 0; f < features; ++f)
          if (const auto [value, times] = best[at(k * features + f)]; value == static_cast<double>(table(v, f)))
            want[f] += static_cast<double>(dy(k, f)) / times;
      }
    });
  }
};

}  // namespace sheaf::bench
