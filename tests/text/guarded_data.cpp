// Subscripts of data where they are evaluated: behind conditions, in loops that data leaves empty, in gradients of
// either. A bad one is an error, one that is not read is none; by kernels as by the reference.
#include "answers.hpp"

namespace sheaf::test {
namespace {

template <class T>
array<T, 1> of(std::initializer_list<T> values) {
  array<T, 1> a(static_cast<std::int64_t>(values.size()));
  std::ranges::copy(values, a.data());
  return a;
}
using ints = std::initializer_list<std::int64_t>;

const array<double, 1> six = of({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}), four = of({1.0, 2.0, 3.0, 4.0});

// Arguments are views: what owns the arrays lives as long as the call.
struct with_ids {
  array<std::int64_t, 1> ids;
  with_ids(ints list) : ids(of(list)) {}
  operator arguments() const { return {{"x", six}, {"ids", ids}, {"w", four}}; }
};
const std::string of_ids = "input x: f64[?]\ninput ids: i64[?]\ninput w: f64[?]\n";

TEST(guarded_data, padding_is_skipped_and_a_bad_id_is_an_error) {
  const std::string l = of_ids + "l = sum(t.where(ids(t) >= 0), x(ids(t)) * w(t))\n";
  for (const auto& [out, words] : {std::pair{"output l", "13 "},
                                   {"output grad(l, x)", "1 0 0 3 0 0 "},
                                   {"output l, grad(l, w)", "13 1 0 4 0 "},
                                   {"output jvp(l, x, x)", "13 "},
                                   {"m = sum(i, grad(l, w)(i) * w(i))\noutput grad(m, x)", "1 0 0 3 0 0 "}}) {
    expect((l + out).c_str(), with_ids({0, -1, 3, -1}), words);
    expect_outside((l + out).c_str(), with_ids({0, -1, 6, -1}));
  }
  expect_outside((l + "output l").c_str(), with_ids({0, -1, INT64_MAX, -1}));
  // What the condition doesn't say is asked.
  const std::string most = of_ids + "output sum(t.where(ids(t) < 6), x(ids(t)) * w(t))";
  expect(most.c_str(), with_ids({0, 9, 3, 6}), "13 ");
  expect_outside(most.c_str(), with_ids({0, 9, -1, 6}));
  expect((of_ids + "y(t) = x.padded(0)(ids(t))\noutput y").c_str(), with_ids({0, -1, 9, 5}), "1 0 0 6 ");
}

TEST(guarded_data, masks_guard_what_they_mask) {
  for (const char* l : {"l = sum(t.where(w(t) > 1), x(ids(t)))", "l = sum(t, select(w(t) > 1, x(ids(t)), 0))",
                        "d(t) = x(ids(t))\nl = sum(t.where(w(t) > 1 && x(ids(t)) > 0), d(t))",
                        "l = sum(t.where(w(t) <= 1 || x(ids(t)) > 0), select(w(t) > 1, x(ids(t)), 0))"})
    for (const char* out : {"\noutput l", "\noutput grad(l, x)"}) {
      const std::string text = of_ids + l + out;
      const bool whole = std::string(out) == "\noutput l";
      expect(text.c_str(), with_ids({0, 1, 1, 5}), whole ? "10 " : "0 2 0 0 0 1 ");
      expect_outside(text.c_str(), with_ids({0, 1, 7, 5}));
    }
  const std::string masked = of_ids + "output sum(t.where(w(t) > 1), x(ids(t)))";
  expect(masked.c_str(), with_ids({-7, 1, 1, 5}), "10 ");
  const std::string pairs = of_ids + "y(t, s) = select(w(t) > w(s) + 2, x(ids(t)), 0)\noutput y";
  expect(pairs.c_str(), with_ids({8, -8, 8, 5}), "0 0 0 0 0 0 0 0 0 0 0 0 6 0 0 0 ");
  expect_outside(pairs.c_str(), with_ids({8, -8, 8, 6}));
}

// A key outside of the groups has no row that it is read for.
TEST(guarded_data, keys_guard_what_groups_read) {
  const std::string text =
      of_ids + "input key: i64[?]\ny(j.in(0, 3)) = sum(t.where(key(t) == j), x(ids(t)) * w(t))\noutput y";
  const auto ids = of<std::int64_t>({0, 1, 9, 3}), in = of<std::int64_t>({0, 1, 2, 1}),
             out = of<std::int64_t>({0, 1, 7, 1});
  expect(text.c_str(), {{"x", six}, {"ids", ids}, {"w", four}, {"key", out}}, "1 20 0 ");
  expect_outside(text.c_str(), {{"x", six}, {"ids", ids}, {"w", four}, {"key", in}});
}

TEST(guarded_data, what_a_slice_reads_as_a_whole_waits_for_its_elements) {
  const std::string of_slices = "input x: f64[?]\ninput off: i64[?]\n";
  const std::string first =
      of_slices + "y(s.in(0, extent(off, 0) - 1)) = sum(t.in(off(s), off(s + 1)), x(t) * x(off(s)))\n";
  const std::string gradient = first + "l = sum(s.in(0, extent(off, 0) - 1), y(s))\noutput grad(l, x)";
  const auto off = of<std::int64_t>({0, 2, 2, 6, 6}), far = of<std::int64_t>({0, 2, 7, 7}),
             nowhere = filled<std::int64_t>(3, 0);
  const auto nothing = filled<double>(0, 0);
  const arguments ends{{"x", six}, {"off", off}};
  expect((first + "output y").c_str(), ends, "3 0 54 0 ");
  expect(gradient.c_str(), ends, "4 1 21 3 3 3 ");
  const arguments beyond{{"x", six}, {"off", far}};
  expect_outside((first + "output y").c_str(), beyond);
  expect_outside(gradient.c_str(), beyond);
  const arguments none{{"x", nothing}, {"off", nowhere}};
  expect((first + "output y").c_str(), none, "0 0 ");
  // A row of another tensor, read for each column.
  const char* rows =
      "input x: f64[?]\ninput off: i64[?]\ninput e: i64[?]\ninput w: f64[?, ?]\n"
      "y(s.in(0, extent(off, 0) - 1)) = sum(t.in(off(s), off(s + 1)), x(t) * sum(j, w(e(s), j)))\noutput y";
  const auto slices = of<std::int64_t>({0, 2, 2, 6}), experts = of<std::int64_t>({0, 5, 1}),
             bad = of<std::int64_t>({0, 1, 5});
  const auto w = filled<double>(2, 3, 1);
  expect(rows, {{"x", six}, {"off", slices}, {"e", experts}, {"w", w}}, "9 0 54 ");
  expect_outside(rows, {{"x", six}, {"off", slices}, {"e", bad}, {"w", w}});
}

// What a row's slice reads is read for some row of it.
TEST(guarded_data, slices_that_rows_look_for) {
  const char* text =
      "input x: f64[?]\ninput off: i64[?]\ntotal(s.in(0, extent(off, 0) - 1)) = sum(t.in(off(s), off(s + 1)), x(t))\n"
      "y(t) = sum(s.in(0, extent(off, 0) - 1).where(off(s) <= t && t < off(s + 1)), x(t) * total(s))\noutput y";
  const auto within = of<std::int64_t>({0, 2, 2, 6}), across = of<std::int64_t>({0, 2, 2, 7});
  expect(text, {{"x", six}, {"off", within}}, "3 6 54 72 90 108 ");
  expect_outside(text, {{"x", six}, {"off", across}});
}

// Each dimension of a box waits for the other's loop.
TEST(guarded_data, boxes_that_are_empty_in_one_dimension) {
  const char* boxes =
      "input x: f64[?, ?]\ninput b: i64[?, 4]\n"
      "y(s) = sum(over(i.in(b(s, 0), b(s, 1)), j.in(b(s, 2), b(s, 3))), x(i, j))\noutput y";
  array<std::int64_t, 2> b(2, 4);
  std::ranges::copy(ints{0, 2, 1, 3, 0, 9, 4, 4}, b.data());
  expect(boxes, {{"x", filled<double>(3, 4, 2)}, {"b", b}}, "8 0 ");
  b(1, 3) = 5;
  expect_outside(boxes, {{"x", filled<double>(3, 4, 2)}, {"b", b}});
  std::ranges::copy(ints{0, 2, 1, 3, 3, 3, 4, 9}, b.data());
  expect(boxes, {{"x", filled<double>(3, 4, 2)}, {"b", b}}, "8 0 ");
}

}  // namespace
}  // namespace sheaf::test
