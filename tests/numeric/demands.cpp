// What must hold of a call beyond subscripts: sentences with names and numbers on both backends, and nothing is
// written.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto z = tensor<"z", double, 2>;
constexpr auto image = tensor<"image", double, 3>;
constexpr auto keep = tensor<"keep", bool, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;

// What both backends say of a call into a view full of -77, which must keep its numbers.
template <int Rank, class Output, class... B>
std::string said(Output y, const array<double, Rank>& shape, B... arguments) {
  const auto on = [&](const auto& program) {
    auto into = shape;
    into.fill(-77);
    const std::string words = sentence_of([&] { program(y = into, arguments...); });
    const bool kept = std::all_of(into.begin(), into.end(), [](double v) { return v == -77; });
    EXPECT_TRUE(words.empty() || kept) << "an output was written by a call that failed: " << words;
    return words;
  };
  const std::string fast = on(compile(y)), slow = on(reference(y));
  EXPECT_EQ(fast, slow);
  return fast;
}
array<double, 1> numbers(int n) { return noise_array<double>(1, 2, n); }
array<std::int64_t, 1> offsets_at(std::initializer_list<double> values) { return list<std::int64_t>(values); }
array<std::int64_t, 2> slices(std::initializer_list<double> ends) {
  return filled(array<std::int64_t, 2>(static_cast<std::int64_t>(ends.size()) / 2, 2), ends);
}

// ---- kernels and inputs

TEST(demands, of_a_kernel_that_fits) {
  EXPECT_EQ(said(avg_pool1d<pool{.kernel = {5}, .padding = {1}}>(x), numbers(1), x = numbers(2)),
            "extent_mismatch: avg_pool1d of x, dimension 0: expected at least 5, which the kernel spans, in the padded "
            "input, found 4");
  EXPECT_EQ(said(avg_pool1d<pool{.kernel = {5}, .padding = {1}}>(x), numbers(1), x = numbers(3)), "");
  EXPECT_EQ(said(max_pool2d<pool{.kernel = {2, 3}, .dilation = {1, 2}}>(image), noise_array<double>(0, 1, 1, 1, 1),
                 image = noise_array<double>(0, 1, 1, 4, 4)),
            "extent_mismatch: max_pool2d of image, dimension 2: expected at least 5, which the kernel spans, in the "
            "padded input, found 4");
  EXPECT_EQ(said(lp_pool1d<2, pool{.kernel = {2}}>(x), numbers(1), x = numbers(1)),
            "extent_mismatch: lp_pool1d of x, dimension 0: expected at least 2, which the kernel spans, in the padded "
            "input, found 1");
  EXPECT_EQ(said(unfold<4>(x, dim<0>), noise_array<double>(0, 1, 1, 4), x = numbers(3)),
            "extent_mismatch: unfold of x, dimension 0: expected at least 4, which the kernel spans, in the padded "
            "input, found 3");
  EXPECT_EQ(said(unfold<4>(x, dim<0>), noise_array<double>(0, 1, 1, 4), x = numbers(4)), "");
}
// A last window may hang over the end, so a kernel that is larger than the input fits.
TEST(demands, of_a_kernel_with_ceil_mode) {
  constexpr auto y = max_pool1d<pool{.kernel = {3}, .stride = {2}, .ceil_mode = true}>(x);
  EXPECT_EQ(said(y, numbers(1), x = numbers(2)), "");
  EXPECT_NE(said(y, numbers(1), x = numbers(0)), "");
}
TEST(demands, in_a_gradient_of_a_pooling) {
  constexpr auto y = avg_pool1d<pool{.kernel = {5}}>(x);
  EXPECT_EQ(said(grad(sum(y), x), numbers(4), x = numbers(4)),
            "extent_mismatch: avg_pool1d of x, dimension 0: expected at least 5, which the kernel spans, in the padded "
            "input, found 4");
}
TEST(demands, of_something_to_pool) {
  EXPECT_EQ(said(adaptive_avg_pool<2>(z), noise_array<double>(0, 1, 3, 2), z = array<double, 2>(3, 0)),
            "extent_mismatch: adaptive_avg_pool of z, dimension 1: expected an extent of at least 1, found 0");
  EXPECT_EQ(said(adaptive_max_pool<2>(z), noise_array<double>(0, 1, 3, 2), z = array<double, 2>(3, 0)),
            "extent_mismatch: adaptive_max_pool of z, dimension 1: expected an extent of at least 1, found 0");
  EXPECT_EQ(said(adaptive_max_pool<2>(z), array<double, 2>(0, 2), z = array<double, 2>(0, 3)), "");
}
TEST(demands, of_something_to_reflect) {
  constexpr auto y = pad<1, 3, padding::reflect>(x, dim<0>);
  EXPECT_EQ(said(y, numbers(7), x = numbers(3)),
            "extent_mismatch: pad of x, dimension 0: expected an extent of at least 4, found 3");
  EXPECT_EQ(said(y, numbers(8), x = numbers(4)), "");
}

// ---- offsets

TEST(demands, of_offsets_that_do_not_go_down) {
  const std::string down =
      "bad_argument: offsets off: expected none that goes down: at least 7, found 5 for off(s + 1) at s = 3";
  const auto wrong = offsets_at({0, 2, 2, 7, 5, 9});
  EXPECT_EQ(said(segment_sum(x, offsets(off)), numbers(5), x = numbers(9), off = wrong), down);
  EXPECT_EQ(said(segment_max(x, offsets(off)), numbers(5), x = numbers(9), off = wrong), down);
  EXPECT_EQ(said(grad(sum(segment_sum(x, offsets(off))), x), numbers(9), x = numbers(9), off = wrong), down);
  EXPECT_EQ(said(segment_sum(x, offsets(off)), numbers(5), x = numbers(9), off = offsets_at({0, 2, 2, 5, 7, 9})), "");
  EXPECT_EQ(said(segment_sum(x, offsets(off)), numbers(0), x = numbers(9), off = offsets_at({})),
            "extent_mismatch: offsets off: expected at least one, the end of the last segment, found 0");
  EXPECT_EQ(said(segment_sum(x, offsets(off)), numbers(0), x = numbers(9), off = offsets_at({4})), "");
}
// The first of many, whatever the number of threads.
TEST(demands, name_the_first_position) {
  array<std::int64_t, 1> many(100001);
  for (int k = 0; k <= 100000; ++k) many(k) = k < 4322 ? 1 : k % 2;
  EXPECT_EQ(said(segment_sum(x, offsets(off)), numbers(100000), x = numbers(9), off = many),
            "bad_argument: offsets off: expected none that goes down: at least 1, found 0 for off(s + 1) at s = 4321");
}
TEST(demands, of_the_ends_of_bags) {
  constexpr auto y = embedding_bag(ids, z, offsets(off));
  const auto call = [&](std::initializer_list<double> ends) {
    return said(y, noise_array<double>(0, 1, 2, 3), z = noise_array<double>(0, 1, 4, 3), ids = offsets_at({3, 1, 0}),
                off = offsets_at(ends));
  };
  EXPECT_EQ(call({0, 2, 3}), "");
  EXPECT_EQ(call({0, 2, 2}), "");
  EXPECT_EQ(call({1, 2, 3}), "bad_argument: offsets off: expected a first one of 0, found 1");
  EXPECT_EQ(call({0, 2, 5}), "bad_argument: offsets off: expected a last one within ids: at most 3, found 5");
  EXPECT_EQ(call({0, 2, 1}),
            "bad_argument: offsets off: expected none that goes down: at least 2, found 1 for off(s + 1) at s = 1");
}

// ---- reductions over nothing

TEST(empty_error, in_ragged_slices) {
  constexpr auto y = define<"y">(m) = mean<empty::error>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t));
  EXPECT_EQ(said(y, numbers(3), x = numbers(9), cut = slices({0, 3, 2, 5, 8, 9})), "");
  EXPECT_EQ(said(y, numbers(3), x = numbers(9), cut = slices({0, 3, 5, 5, 8, 2})),
            "empty_reduction: mean over t: expected at least one element, found none at m = 1");
}
TEST(empty_error, where_no_element_meets_a_condition) {
  constexpr auto y = define<"y">(m) = max<empty::error>(t.in(cut(m, 0_c), cut(m, 1_c)).where(keep(t)), x(t));
  constexpr auto loss = define<"loss">() = sum(m, y(m) * y(m));
  array<bool, 1> some(9), all(9);
  for (int k = 0; k < 9; ++k) some(k) = k < 4, all(k) = true;
  const auto parts = slices({0, 3, 2, 5, 5, 9});
  const std::string none = "empty_reduction: max over t: expected at least one element, found none at m = 2";
  EXPECT_EQ(said(y, numbers(3), x = numbers(9), cut = parts, keep = all), "");
  EXPECT_EQ(said(y, numbers(3), x = numbers(9), cut = parts, keep = some), none);
  EXPECT_EQ(said(loss, array<double, 0>(), x = numbers(9), cut = parts, keep = some), none);
  // A gradient by itself as well, which reads less.
  EXPECT_EQ(said(grad(loss, x), numbers(9), x = numbers(9), cut = parts, keep = some), none);
  EXPECT_EQ(said(grad(loss, x), numbers(9), x = numbers(9), cut = parts, keep = all), "");
  EXPECT_EQ(said(jvp(y, x, x), numbers(3), x = numbers(9), cut = parts, keep = some), none);
}
TEST(empty_error, of_every_reduction) {
  const auto of = [](auto e, const char* name) {
    const auto y = define<"y">(m) = cast<double>(e);
    const std::string none =
        std::string("empty_reduction: ") + name + " over t: expected at least one element, found none at m = 0";
    EXPECT_EQ(said(y, numbers(2), x = numbers(9), cut = slices({3, 3, 2, 5})), none);
    EXPECT_EQ(said(y, numbers(2), x = numbers(9), cut = slices({3, 4, 2, 5})), "");
  };
  constexpr auto in = t.in(cut(m, 0_c), cut(m, 1_c));
  of(sum<empty::error>(in, x(t)), "sum");
  of(prod<empty::error>(in, x(t)), "prod");
  of(min<empty::error, ties::first>(in, x(t)), "min");
  of(logsumexp<empty::error>(in, x(t)), "logsumexp");
  of(argmax<empty::error>(in, x(t)), "argmax");
  of(any<empty::error>(in, x(t) > 0_c), "any");
  of(count<empty::error>(in, x(t) > 0_c), "count");
}
// Over two indices it names both; a row that has no columns at all is none of them.
TEST(empty_error, names_every_index_around) {
  constexpr auto u = axis<"u">;
  constexpr auto y = define<"y">() =
      sum(over(m, t.in(cut(m, 0_c), cut(m, 1_c))), max<empty::error>(u.in(t, 3_c), x(u)));
  EXPECT_EQ(said(y, array<double, 0>(), x = numbers(9), cut = slices({0, 3, 5, 5, 1, 2})), "");
  EXPECT_EQ(said(y, array<double, 0>(), x = numbers(9), cut = slices({0, 3, 5, 5, 1, 5})),
            "empty_reduction: max over u: expected at least one element, found none at m = 2, t = 3");
}
// What a guard keeps from being evaluated is no mistake, and the other branch of it is.
TEST(empty_error, stands_behind_guards) {
  constexpr auto lo = cut(m, 0_c);
  constexpr auto hi = cut(m, 1_c);
  constexpr auto y = define<"y">(m) = select(lo < hi, mean<empty::error>(t.in(lo, hi), x(t)), -1_c);
  constexpr auto w = define<"w">(m) = select(lo < hi, -1_c, mean<empty::error>(t.in(lo, hi), x(t)));
  constexpr auto s = define<"s">() = sum(m.where(lo < hi), mean<empty::error>(t.in(lo, hi), x(t)));
  const auto parts = slices({0, 3, 4, 4, 2, 5});
  EXPECT_EQ(said(y, numbers(3), x = numbers(9), cut = parts), "");
  EXPECT_EQ(said(w, numbers(3), x = numbers(9), cut = parts),
            "empty_reduction: mean over t: expected at least one element, found none at m = 1");
  EXPECT_EQ(said(s, array<double, 0>(), x = numbers(9), cut = parts), "");
  EXPECT_EQ(said(grad(s, x), numbers(9), x = numbers(9), cut = parts), "");
  const auto dx = both(grad(s, x))(x = numbers(9), cut = parts);
  EXPECT_EQ(dx(0), 1.0 / 3);
  EXPECT_EQ(dx(2), 1.0 / 3 + 1.0 / 3);
}
// In a definition that others read, and of whole tensors, whose extents say it before anything is planned.
TEST(empty_error, in_definitions_and_of_extents) {
  constexpr auto inner = define<"inner">(m) = min<empty::error>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t));
  constexpr auto outer = define<"outer">() = sum(m, exp(inner(m)));
  EXPECT_EQ(said(outer, array<double, 0>(), x = numbers(9), cut = slices({0, 3, 4, 4})),
            "empty_reduction: min over t: expected at least one element, found none at m = 1");
  EXPECT_EQ(said(mean<empty::error>(z, dim<1>), numbers(3), z = array<double, 2>(3, 0)),
            "empty_reduction: mean over i1: expected at least one element, found none");
  EXPECT_EQ(said(mean<empty::error>(z, dim<1>), numbers(0), z = array<double, 2>(0, 0)), "");
  EXPECT_EQ(said(mean<empty::error>(z, dim<1>), numbers(3), z = noise_array<double>(0, 1, 3, 2)), "");
}

// ---- extents that do not fit

TEST(demands, of_extents_that_broadcast) {
  constexpr auto y = elementwise([](auto a, auto b) { return a * b; }, z, x);
  EXPECT_EQ(said(y, noise_array<double>(0, 1, 3, 4), z = noise_array<double>(0, 1, 3, 4), x = numbers(5)),
            "extent_mismatch: index i1: expected one extent: dimension 1 of z gives 4, found dimension 0 of x gives 5");
}

}  // namespace
