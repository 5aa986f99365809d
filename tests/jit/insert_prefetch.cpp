// The pass that prefetches, by the text of kernels before and after.
#include <optional>

#include <sheaf/jit/ir/passes/insert_prefetch.hpp>

#include "ir_passes.hpp"

namespace sheaf::test::insert_prefetch_tests {
namespace {

constexpr ir::bytes_of_caches caches{.from_last_cache = many_bytes, .from_memory = many_bytes};

std::int32_t add_places(ir::module& m, int rank) {
  const auto id = add_vector(m, "places", role::input, 0);
  m.buffers[static_cast<std::size_t>(id)].type = element::i64;
  m.buffers[static_cast<std::size_t>(id)].rank = rank;
  return id;
}

// y[j] = sum over k of x[places[k], j], of rows of 1 KB; in rows of places, of x[places[r, k], j].
struct places_are {
  bool in_rows = false, guarded = false, masked = false;
  double trips = 1000;
};
ir::module gathered(const places_are& how) {
  const bool in_rows = how.in_rows;
  ir::module m{.name = "gathered", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), places = add_places(m, in_rows ? 2 : 1),
             y = add_vector(m, "y", role::output, 0);
  ir::kernel_builder b("sum");
  auto& top = b.top();
  const value zero = top.i64(0), columns = top.extent(x, 1), count = top.extent(places, in_rows ? 1 : 0);
  auto r = open(top, loop_kind::parallel, "r", zero, count, 100);
  const value row = r.counter();
  auto j = open(r, loop_kind::vector, "j", zero, columns, 256);
  const value column = j.counter(), sum = j.accumulator(element::f32, monoid::sum, true);
  auto k = open(j, loop_kind::serial, "k", zero, count, how.trips);
  const value at = k.counter();
  std::optional<ir::block_builder> some;
  if (how.guarded) some.emplace(k.guard(k.emit(op::not_equal, {at, row})));
  ir::block_builder& in = how.guarded ? *some : k;
  const value mask = how.masked ? in.emit(op::less, {at, count}) : ir::none;
  const value place = in.load(places, element::i64, in_rows ? std::vector<value>{row, at} : std::vector<value>{at},
                              access::uniform, mask);
  in.combine(sum, in.load(x, element::f32, {place, column}, access::contiguous));
  if (some) some->close();
  k.close();
  j.store(y, {column}, j.read(sum), access::contiguous);
  j.close();
  r.close();
  m.kernels.push_back(std::move(b).finish());
  return m;
}
// The text between these words, the first included.
std::string part(const std::string& text, const char* from, const char* to) {
  const std::size_t begin = text.find(from);
  return begin == std::string::npos ? text : text.substr(begin, text.find(to, begin) - begin);
}
std::string prefetched(ir::module m) {
  ir::insert_prefetch(m, caches);
  return kernels_of(m);
}

TEST(insert_prefetch, rows_whose_places_are_loaded) {
  EXPECT_EQ(part(prefetched(gathered({})), "  %3", "        combine"), R"(  %3 i64 = constant 24
  %4 i64 = extent places 0
  %5 i64 = constant 1
  %6 i64 = sub %4, %5
  parallel r.0 in %0 .. %2
    %7 i64 = counter r.0
    vector j.1 in %0 .. %1 lanes 16
      %8 i64 = counter j.1
      %9 f32v = accumulator sum
      serial k.2 in %0 .. %2
        %10 i64 = counter k.2
        %11 i64 = load uniform places[%10]
        %12 i64 = add %10, %3
        %13 i64 = minimum %12, %6
        %14 i64 = load uniform places[%13]
        prefetch l2 x[%14, %8]
        %15 f32v = load contiguous x[%11, %8]
)");
}

TEST(insert_prefetch, beyond_a_row_of_places_those_of_the_next_row) {
  const std::string text = prefetched(gathered({.in_rows = true}));
  EXPECT_EQ(part(text, "      serial", "        combine"), R"(      serial k.2 in %0 .. %2
        %13 i64 = counter k.2
        %14 i64 = load uniform places[%8, %13]
        %15 i64 = add %13, %5
        %16 i64 = sub %15, %3
        %17 bool = less_equal %2, %15
        %18 i64 = select %17, %16, %15
        %19 i64 = select %17, %10, %8
        %20 i64 = load uniform places[%19, %18]
        prefetch l2 x[%20, %11]
        %21 f32v = load contiguous x[%14, %11]
)") << text;
}

// The list may be empty where the program does not load it at all.
TEST(insert_prefetch, places_under_a_mask) {
  const std::string text = prefetched(gathered({.masked = true}));
  EXPECT_NE(text.find("%6 i64 = sub %4, %5\n  %7 i64 = constant 0\n  %8 bool = less_equal %7, %6"), std::string::npos)
      << text;
  EXPECT_NE(text.find("maximum %7, %16\n        %18 i64 = load uniform places[%17] mask"), std::string::npos) << text;
  EXPECT_NE(text.find("prefetch l2 x[%18,"), std::string::npos) << text;
}

TEST(insert_prefetch, not_of_few_rows_or_small_data_or_places_that_are_guarded) {
  const auto stays = [](ir::module m) {
    const std::string before = kernels_of(m);
    EXPECT_EQ(before, prefetched(m));
  };
  stays(gathered({.trips = 3}));
  ir::module small = gathered({});
  small.buffers[0].bytes = 1;
  stays(small);
  // Where the condition does not hold there may be no such place.
  stays(gathered({.in_rows = true, .guarded = true}));
}

// y[i, j] = x[i, j] - the sum of row i: two loops over a row.
ir::module rows_twice(double columns_in_row) {
  ir::module m{.name = "twice", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_vector(m, "y", role::output, 0);
  m.buffers[static_cast<std::size_t>(y)].rank = 2;
  ir::kernel_builder b("centred");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto i = open(top, loop_kind::parallel, "i", zero, rows, 1000);
  const value row = i.counter(), sum = i.accumulator(element::f32, monoid::sum, true);
  auto first = open(i, loop_kind::vector, "j", zero, columns, columns_in_row);
  const value place = first.counter();
  first.combine(sum, first.load(x, element::f32, {row, place}, access::contiguous));
  first.close();
  const value total = i.fold_lanes(sum);
  auto second = open(i, loop_kind::vector, "j", zero, columns, columns_in_row);
  const value again = second.counter(), read = second.load(x, element::f32, {row, again}, access::contiguous);
  second.store(y, {row, again}, second.emit(op::sub, {read, total}), access::contiguous);
  second.close();
  i.close();
  m.kernels.push_back(std::move(b).finish());
  return m;
}

TEST(insert_prefetch, the_next_row_where_a_row_is_read_again) {
  EXPECT_EQ(part(prefetched(rows_twice(8192)), "    vector j.2", "kernel"), R"(    vector j.2 in %0 .. %2 lanes 16
      %10 i64 = counter j.2
      %11 f32v = load contiguous x[%4, %10]
      %12 f32v = sub %11, %8
      store contiguous y[%4, %10] = %12
      prefetch l2 x[%9, %10]
)");
  const std::string halves = prefetched(rows_twice(1024));
  EXPECT_NE(halves.find("prefetch half_line x["), std::string::npos) << halves;
}

// y[j] = sum over k of x[k, j], or, where the same rows are read for each r, none: they are in a cache.
// A row that fewer lanes hold than a group has is loaded under a mask.
TEST(insert_prefetch, rows_ahead_where_a_row_is_shorter_than_its_lanes) {
  for (const double trips : {5.0, 16.0, 100.0}) {
    ir::module m{.name = "rows", .buffers = {}, .folds = {}, .kernels = {}};
    const auto x = add_matrix(m, "x"), y = add_vector(m, "y", role::output, 0);
    ir::kernel_builder b("rows");
    auto& top = b.top();
    const value zero = top.i64(0), columns = top.extent(x, 1), count = top.extent(x, 0);
    auto i = open(top, loop_kind::parallel, "i", zero, count, 100000);
    const value row = i.counter(), sum = i.accumulator(element::f32, monoid::sum, true);
    auto j = open(i, loop_kind::vector, "j", zero, columns, trips);
    const value column = j.counter();
    j.combine(sum, j.load(x, element::f32, {row, column}, access::contiguous));
    j.close();
    i.store(y, {row}, i.fold_lanes(sum));
    i.close();
    m.kernels.push_back(std::move(b).finish());
    const std::string text = prefetched(m);
    EXPECT_EQ(text.find("prefetch x[") != std::string::npos, trips < 8) << text;
  }
}

TEST(insert_prefetch, rows_ahead_where_columns_are_in_lanes) {
  for (const bool once : {true, false}) {
    ir::module m{.name = "columns", .buffers = {}, .folds = {}, .kernels = {}};
    const auto x = add_matrix(m, "x"), y = add_vector(m, "y", role::output, 0);
    ir::kernel_builder b("columns");
    auto& top = b.top();
    const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
    auto r = open(top, loop_kind::parallel, "r", zero, rows, 100);
    const value low = once ? r.counter() : zero;
    auto j = open(r, loop_kind::vector, "j", zero, columns, 256);
    const value lane = j.counter(), sum = j.accumulator(element::f32, monoid::sum, true);
    auto k = open(j, loop_kind::serial, "k", low, rows, 1000);
    k.combine(sum, k.load(x, element::f32, {k.counter(), lane}, access::contiguous));
    k.close();
    j.store(y, {lane}, j.read(sum), access::contiguous);
    j.close();
    r.close();
    m.kernels.push_back(std::move(b).finish());
    const std::string text = prefetched(m);
    EXPECT_EQ(text.find("prefetch l2 x[") != std::string::npos, once) << text;
  }
}

// Two sums down columns, in lanes: the second loop over rows prefetches the lanes beside.
TEST(insert_prefetch, the_lanes_beside_where_columns_are_read_again) {
  ir::module m{.name = "columns", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_vector(m, "y", role::output, 0);
  ir::kernel_builder b("columns");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto j = open(top, loop_kind::vector, "j", zero, columns, 256);
  const value lane = j.counter();
  value sums[2];
  for (value& sum : sums) {
    sum = j.accumulator(element::f32, monoid::sum, true);
    auto i = open(j, loop_kind::serial, "i", zero, rows, 1000);
    const value row = i.counter();
    i.combine(sum, i.load(x, element::f32, {row, lane}, access::contiguous));
    i.close();
  }
  const value first = j.read(sums[0]), second = j.read(sums[1]);
  j.store(y, {lane}, j.emit(op::add, {first, second}), access::contiguous);
  j.close();
  m.kernels.push_back(std::move(b).finish());
  EXPECT_EQ(part(prefetched(m), "    %9 i64", "    %12"), R"(    %9 i64 = add %4, %3
    serial i.2 in %0 .. %1
      %10 i64 = counter i.2
      %11 f32v = load contiguous x[%10, %4]
      combine %8 with %11
      prefetch x[%10, %9]
)");
}

// Slices off[i] .. off[i + 1] of a list, each read twice.
TEST(insert_prefetch, the_next_slice_where_slices_are_adjacent) {
  for (const bool adjacent : {true, false}) {
    ir::module m{.name = "slices", .buffers = {}, .folds = {}, .kernels = {}};
    const auto x = add_vector(m, "x", role::input, many_bytes), off = add_places(m, 1),
               y = add_vector(m, "y", role::output, 0);
    ir::kernel_builder b("slices");
    auto& top = b.top();
    const value zero = top.i64(0), one = top.i64(adjacent ? 1 : 2), count = top.extent(y, 0);
    auto i = open(top, loop_kind::parallel, "i", zero, count, 1000);
    const value slice = i.counter(), low = i.load(off, element::i64, {slice}), next = i.emit(op::add, {slice, one}),
                high = i.load(off, element::i64, {next});
    value sums[2];
    for (value& sum : sums) {
      sum = i.accumulator(element::f32, monoid::sum, true);
      auto t = open(i, loop_kind::vector, "t", low, high, 100);
      const value at = t.counter();
      t.combine(sum, t.load(x, element::f32, {at}, access::contiguous));
      t.close();
      sum = i.fold_lanes(sum);
    }
    i.store(y, {slice}, i.emit(op::add, {sums[0], sums[1]}));
    i.close();
    m.kernels.push_back(std::move(b).finish());
    const std::string text = prefetched(m);
    EXPECT_EQ(text.find("prefetch l2 x[") != std::string::npos, adjacent) << text;
  }
}

}  // namespace
}  // namespace sheaf::test::insert_prefetch_tests
