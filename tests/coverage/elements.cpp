// Element types: halves, integers and booleans, and integers of other types as subscripts and bounds.
#include <coverage/elements.hpp>

#include <cmath>

#include <support/both.hpp>

namespace sheaf::elements {

namespace {

using test::by_name;
using test::table;
using test::values;

// Numbers of a 16-bit type in order, as integers.
std::int64_t place_of(std::uint16_t bits) { return bits & 0x8000 ? -std::int64_t{bits & 0x7fff} : std::int64_t{bits}; }

// The floating inputs rounded to a type, so that both programs see the same numbers.
table rounded_data(element type) {
  table data = test::some_data(5, test::shape::wide);
  for (auto& [name, v] : data)
    if (is_floating(v.type)) v = test::rounded(v, type);
  return data;
}

values run(const test::subject& s, const table& data) {
  const by_name program(s.value, jit::backend::chosen);
  const by_name slow(s.value, jit::backend::reference);
  const values found = program(data)[0], expected = slow(data)[0];
  EXPECT_EQ(found.extents, expected.extents) << s.name;
  for (std::size_t i = 0; i < found.numbers.size() && i < expected.numbers.size(); ++i) {
    const double a = found.numbers[i], b = expected.numbers[i];
    const bool half = found.type == element::f16 || found.type == element::bf16;
    const double unit = found.type == element::f32 ? 0x1p-10 * 0x1p-10 : found.type == element::f64 ? 0x1p-40 : 0;
    const bool same =
        half ? places_between(found.type, a, b) <= 1
             : a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= unit * std::max(1.0, std::abs(b));
    if (!same) {
      ADD_FAILURE() << s.name << ", element " << i << ": kernel " << a << ", reference " << b << "\n" << program.text();
      break;
    }
  }
  return found;
}

}  // namespace

std::int64_t places_between(element type, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto bits = [&](double v) { return type == element::f16 ? to_float16(v).bits : to_bfloat16(v).bits; };
  return std::abs(place_of(bits(a)) - place_of(bits(b)));
}

void check_halves(const in_types& s) {
  for (const auto& [type, program] : s.others) {
    const table data = rounded_data(type);
    const values narrow = run(program, data), wide = run(s.wide, data);
    ASSERT_EQ(narrow.type, type) << program.name;
    ASSERT_EQ(narrow.extents, wide.extents) << program.name;
    for (std::size_t i = 0; i < wide.numbers.size(); ++i)
      ASSERT_LE(places_between(type, narrow.numbers[i], wide.numbers[i]), 1)
          << program.name << ", element " << i << ": " << narrow.numbers[i] << ", in f32 " << wide.numbers[i];
  }
}

namespace {

// Whole numbers from -3 to 3, of unsigned types from 0 to 3, of booleans 0 and 1.
table whole_data(element type) {
  table data = test::some_data(5, test::shape::wide);
  for (auto& [name, v] : data) {
    if (!is_floating(v.type)) continue;
    const double low = type == element::u8 || type == element::boolean ? 0 : -3,
                 high = type == element::boolean ? 1 : 3;
    v.numbers = test::numbers(77, v.numbers.size(), low - 0.5, high + 0.5);
    for (double& x : v.numbers) x = std::round(x) + 0.0;
  }
  return data;
}
void expect_equal(const values& narrow, const values& wide, const std::string& name) {
  ASSERT_EQ(narrow.extents, wide.extents) << name;
  for (std::size_t i = 0; i < wide.numbers.size(); ++i)
    ASSERT_EQ(narrow.numbers[i], wide.numbers[i]) << name << ", element " << i;
}

}  // namespace

void check_integers(const in_types& s, bool sums) {
  for (const auto& [type, program] : s.others) {
    const table data = whole_data(type);
    const values narrow = run(program, data);
    ASSERT_EQ(narrow.type, sums ? element::i64 : type) << program.name;
    expect_equal(narrow, run(s.wide, data), program.name);
  }
}

void check_indices(const in_types& s) {
  const table data = test::some_data(5, test::shape::wide);
  const values wide = run(s.wide, data);
  for (const auto& [type, program] : s.others) expect_equal(run(program, data), wide, program.name);
}

namespace {

SHEAF_HALVES(sum, sum(x<T>, dim<0>))
SHEAF_HALVES(mean, mean(x<T>, dim<1>))
SHEAF_HALVES(prod, prod(w<T>, dim<1>))
SHEAF_HALVES(max, max(x<T>, dim<1>))
SHEAF_HALVES(min_first, min<ties::first>(x<T>, dim<0>))
SHEAF_HALVES(logsumexp, logsumexp(x<T>, dim<1>))
SHEAF_HALVES(var, var(x<T>, dim<1>))
SHEAF_HALVES(stddev, stddev(x<T>))
SHEAF_HALVES(norm_1, norm<1>(x<T>, dim<0>))
SHEAF_HALVES(norm_2, norm<2>(x<T>, dim<1>))
SHEAF_HALVES(norm_3, norm<3>(x<T>, dim<1>))
SHEAF_HALVES(norm_infinity, norm<infinity>(x<T>))
SHEAF_HALVES(accumulated, sum<accumulate<double>>(x<T>))
SHEAF_HALVES(compensated_mean, mean<compensated>(x<T>, dim<0>))
SHEAF_HALVES(softmax, softmax(x<T>, dim<1>))
SHEAF_HALVES(log_softmax, log_softmax(x<T>, dim<0>))
SHEAF_HALVES(cross_entropy, cross_entropy(x<T>, target<>))
SHEAF_HALVES(cross_entropy_smoothed,
             cross_entropy<loss_options{.reduction = reduce_losses::none, .smoothing = 0.1}>(x<T>, target<>))
SHEAF_HALVES(mse_loss, mse_loss(x<T>, w<T>))
SHEAF_HALVES(l1_loss, l1_loss<reduce_losses::sum>(x<T>, w<T>))
SHEAF_HALVES(layer_norm, layer_norm(x<T>, features<T>, bias<T>))
SHEAF_HALVES(rms_norm, rms_norm(x<T>, features<T>))
SHEAF_HALVES(batch_norm, batch_norm(v3<T>))
SHEAF_HALVES(group_norm, group_norm<3>(v3<T>))
SHEAF_HALVES(matmul, matmul(x<T>, tensor<"a", T, 2>))
SHEAF_HALVES(cosine_similarity, cosine_similarity(x<T>, w<T>, dim<1>))
SHEAF_HALVES(weighted_mean, weighted_mean(x<T>, w<T>, dim<1>))
SHEAF_HALVES(masked_mean, masked_mean(x<T>, keep<>, dim<0>))
SHEAF_HALVES(cumsum, cumsum(x<T>, dim<0>))
SHEAF_HALVES(cumprod, cumprod<reversed>(w<T>, dim<1>))
SHEAF_HALVES(cummax, cummax(x<T>, dim<0>))
SHEAF_HALVES(logcumsumexp, logcumsumexp(x<T>, dim<1>))
SHEAF_HALVES(avg_pool2d, avg_pool2d<pool{.kernel = {3, 2}, .padding = {1, 1}}>(v4<T>))
SHEAF_HALVES(max_pool2d, max_pool2d<pool{.kernel = {3, 2}}>(v4<T>))
SHEAF_HALVES(lp_pool2d, lp_pool2d<2, pool{.kernel = {2, 2}}>(v4<T>))
SHEAF_HALVES(adaptive_avg_pool, adaptive_avg_pool<3, 4>(v4<T>))
SHEAF_HALVES(window, define<"y">(t.in(0_c, extent(x<T>, dim<0>) - 9_c), f) = mean(u.in(0_c, 10_c), x<T>(t + u, f)))
SHEAF_HALVES(pad, pad<2, 1, padding::reflect>(x<T>, dim<0>))
SHEAF_HALVES(segment_mean, segment_mean(x<T>, offsets(off<>)))
SHEAF_HALVES(segment_logsumexp, segment_logsumexp<4>(x<T>, ids<>))
SHEAF_HALVES(segment_prod, segment_prod(w<T>, bounds(cut<>)))
SHEAF_HALVES(embedding_bag, embedding_bag(picks<>, x<T>))
SHEAF_HALVES(embedding_bag_weighted,
             embedding_bag<bag{.mode = bag_mode::sum}>(order<>, x<T>, offsets(off<>), weight<T>))
SHEAF_HALVES(index_add, index_add(x<T>, order<>, w<T>, dim<0>))
SHEAF_HALVES(scatter_add, scatter_add(x<T>, places<>, w<T>, dim<0>))
SHEAF_HALVES(weighted_mean_of_a_column, weighted_mean(x<T>, weight<T>, dim<0>))
SHEAF_HALVES(bincount, bincount<4>(ids<>, weight<T>))
SHEAF_HALVES(segment_max, segment_max(x<T>, bounds(cut<>)))

// The cotangent is an input of the same type.
SHEAF_HALVES(gradient_of_mean, vjp(mean(x<T>, dim<1>), x<T>, weight<T>))
SHEAF_HALVES(gradient_of_max, vjp(max(x<T>, dim<0>), x<T>, features<T>))
SHEAF_HALVES(gradient_of_logsumexp, vjp(logsumexp(x<T>, dim<1>), x<T>, weight<T>))
SHEAF_HALVES(gradient_of_a_gather, vjp(index_select(x<T>, order<>, dim<0>), x<T>, w<T>))
SHEAF_HALVES(gradient_of_a_running_sum, vjp(cumsum(x<T>, dim<0>), x<T>, w<T>))
SHEAF_HALVES(gradient_of_segments, vjp(segment_mean(x<T>, ids<>, extent(x<T>, dim<0>)), x<T>, w<T>))

SHEAF_INTEGERS(sum, sums, sum(x<T>, dim<0>))
SHEAF_INTEGERS(prod, sums, prod(slice(x<T>, range<0, 7>), dim<0>))
SHEAF_INTEGERS(max, itself, max(x<T>, dim<1>))
SHEAF_INTEGERS(min, itself, min<ties::last>(x<T>, dim<0>))
SHEAF_INTEGERS(argmax, sums, argmax(x<T>, dim<1>))
SHEAF_INTEGERS(argmin_of_all, sums, argmin(x<T>))
SHEAF_INTEGERS(count_nonzero, sums, count_nonzero(x<T>, dim<0>))
SHEAF_INTEGERS(masked_sum, sums, define<"y">(f) = sum(t.where(keep<>(t)), x<T>(t, f)))
SHEAF_INTEGERS(matmul, sums, matmul(x<T>, tensor<"a", T, 2>))
SHEAF_INTEGERS(cumsum, sums, cumsum<reversed>(x<T>, dim<0>))
SHEAF_INTEGERS(cummax, itself, cummax(x<T>, dim<1>))
SHEAF_INTEGERS(slice, itself, slice(x<T>, range<none, none, -2>, range<1, -1>))
SHEAF_INTEGERS(roll_and_pad, itself, roll<3>(pad<1, 2, padding::replicate>(x<T>, dim<1>), dim<0>))
SHEAF_INTEGERS(max_pool2d, itself, max_pool2d<pool{.kernel = {3, 2}, .stride = {2, 1}}>(v4<T>))
SHEAF_INTEGERS(unfold, sums, sum(unfold<3>(x<T>, dim<0>), dim<-1>))
SHEAF_INTEGERS(segment_sum, sums, segment_sum(x<T>, offsets(off<>)))
SHEAF_INTEGERS(segment_max, itself, segment_max(x<T>, bounds(cut<>)))
SHEAF_INTEGERS(segment_min_by_ids, itself, segment_min<4>(x<T>, ids<>))
SHEAF_INTEGERS(take_along_axis, itself, take_along_axis(x<T>, places<>, dim<0>))
SHEAF_INTEGERS(scatter_add, sums, scatter_add(x<T>, places<>, w<T>, dim<0>))

SHEAF_INDICES(index_select, index_select(x<float>, order<T>, dim<0>))
SHEAF_INDICES(take_along_axis, take_along_axis(x<float>, places<T>, dim<0>))
SHEAF_INDICES(offsets, segment_mean(x<float>, offsets(off<T>)))
SHEAF_INDICES(bounds, segment_logsumexp(x<double>, bounds(cut<T>)))
SHEAF_INDICES(segment_ids, segment_sum<4>(x<double>, ids<T>))
SHEAF_INDICES(embedding_bag, embedding_bag<bag{.padding = 2}>(picks<T>, x<float>))
SHEAF_INDICES(cross_entropy, cross_entropy(x<double>, target<T>))
SHEAF_INDICES(mask, masked_mean(x<float>, keep<T>, dim<0>))
SHEAF_INDICES(bincount, bincount<4>(ids<T>, weight<float>))
SHEAF_INDICES(gradient_of_a_gather, vjp(index_select(x<double>, order<T>, dim<0>), x<double>, x<double>))
SHEAF_INDICES(mixed, define<"y">(t) = sum(f, x<float>(t, f) * cast<double>(target<T>(t)) + w<double>(t, f)))

}  // namespace

}  // namespace sheaf::elements
