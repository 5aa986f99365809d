// Subscripts of data where they are evaluated: behind conditions, in loops that data leaves empty, in gradients of
// either. A bad one is an error, one that is not read is none; by kernels as by the reference.
#include "answers.hpp"

namespace sheaf::test::guarded_data_tests {
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

// A read that is checked elsewhere, for other rows or behind other conditions, hides no other one.
TEST(guarded_data, several_reads_at_one_subscript) {
  const auto w = four;
  const auto off = of<std::int64_t>({1, 2, 2, 2, 2}), ends = of<std::int64_t>({0, 2, 2, 6}),
             of_slices = of<std::int64_t>({0, 9, 1, 0}), out = of<std::int64_t>({-1, 2, 1, 3});
  const std::string other_rows = of_ids +
                                 "a(t.in(0, 2)) = x(ids(t)) * 2\nl = sum(t, a(t))\n"
                                 "z(t.in(0, 4)) = select(w(t) > 0, x(ids(t)), 0)\noutput grad(l, x), z";
  expect(other_rows.c_str(), with_ids({0, 1, 5, 3}), "2 2 0 0 0 0 1 2 6 4 ");
  expect_outside(other_rows.c_str(), with_ids({0, 1, 9, 3}));
  const std::string own = of_ids +
                          "input off: i64[?]\ny(s.in(0, 4)) = select(0 <= ids(s), sum(t.in(off(s), off(s + 1)), "
                          "x(ids(t)) * x(ids(s))), 0)\nl = sum(s.in(0, 4), y(s) * w(s))\noutput l, grad(l, x)";
  expect(own.c_str(), {{"x", six}, {"ids", out}, {"w", w}, {"off", off}}, "0 0 0 0 0 0 0 ");
  const std::string slices = of_ids +
                             "input off: i64[?]\ny(s.in(0, 3)) = sum(t.in(off(s), off(s + 1)), x(t) * x(ids(s)))\n"
                             "z(s.in(0, 3)) = select(w(s) > 2, x(ids(s)), 0)\n";
  expect((slices + "output y").c_str(), {{"x", six}, {"ids", of_slices}, {"w", w}, {"off", ends}}, "3 0 36 ");
  expect((slices + "output y, z").c_str(), {{"x", six}, {"ids", of_slices}, {"w", w}, {"off", ends}},
         "3 0 36 0 0 2 ");
  const std::string guarded = slices + "u(s.in(0, 3)) = select(w(s) > 1, x(ids(s)), 0)\noutput y, u";
  expect_outside(guarded.c_str(), {{"x", six}, {"ids", of_slices}, {"w", w}, {"off", ends}});
}

TEST(guarded_data, conditions_that_name_an_index_twice) {
  const char* text =
      "input x: f64[?]\ninput ids: i64[?]\ninput c: f64[?, ?]\ninput d: f64[?, ?]\n"
      "y(t) = sum(a.in(0, 2), select(c(t, a) > 0 && d(t, a) > 0, x(ids(t)), 0))\n"
      "z(t) = sum(over(a.in(0, 2), b.in(0, 2)), select(c(t, a) > 0 && d(t, b) > 0, x(ids(t)), 0))\noutput y, z";
  array<double, 2> c(2, 2), d(2, 2);
  c(0, 0) = c(1, 0) = 1, c(0, 1) = c(1, 1) = 0;
  d(0, 0) = d(1, 0) = 0, d(0, 1) = d(1, 1) = 1;
  const auto good = of<std::int64_t>({1, 2}), bad = of<std::int64_t>({1, 9});
  expect(text, {{"x", six}, {"ids", good}, {"c", c}, {"d", d}}, "0 0 2 3 ");
  expect_outside(text, {{"x", six}, {"ids", bad}, {"c", c}, {"d", d}});
}

// A slice that ends behind the tensor is named as it is.
TEST(guarded_data, where_a_slice_leaves_the_tensor) {
  const auto three = of({1.0, 2.0, 3.0}), w = of({1.0, 2.0, 3.0});
  const auto off = of<std::int64_t>({0, 2, 2, 4});
  const std::string words =
      worth("input x: f64[?]\ninput off: i64[?]\ninput w: f64[?]\n"
            "y(s.in(0, 3)) = sum(t.in(off(s), off(s + 1)).where(w(s) < 4), x(t))\noutput y",
            {{"x", three}, {"off", off}, {"w", w}}, jit::backend::chosen);
  EXPECT_NE(words.find("expected a subscript from 0 to 2, found 3"), std::string::npos) << words;
  EXPECT_NE(words.find("s = 2"), std::string::npos) << words;
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
}  // namespace sheaf::test::guarded_data_tests
