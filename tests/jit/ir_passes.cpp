// The passes over kernel IR, by its text before and after.
#include <optional>

#include <gtest/gtest.h>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/insert_prefetch.hpp>
#include <sheaf/jit/ir/passes/interleave_kernels.hpp>
#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>
#include <sheaf/jit/ir/passes/unroll_and_jam.hpp>
#include <sheaf/jit/ir/passes/unswitch_loops.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>

namespace sheaf::test {
namespace {

using ir::access;
using ir::loop_kind;
using ir::role;
using ir::value;

constexpr double many_bytes = 1 << 20;

std::int32_t add_vector(ir::module& m, const char* name, role where, double bytes) {
  return ir::add_buffer(m, {.name = name,
                            .type = element::f32,
                            .rank = 1,
                            .where = where,
                            .slot = static_cast<int>(m.buffers.size()),
                            .unit_inner = true,
                            .extents = {},
                            .bytes = bytes});
}

// to[i] = from[i], by tasks of one element, or in lanes.
ir::kernel copy(const char* name, std::int32_t from, std::int32_t to, loop_kind kind, bool once = true) {
  ir::kernel_builder k(name);
  auto& top = k.top();
  const value low = top.i64(0), high = top.extent(from, 0);
  const bool lanes = kind == loop_kind::vector;
  const access how = lanes ? access::contiguous : access::uniform;
  auto loop = top.loop(kind, "i", low, high, lanes ? 16 : 1);
  const value i = loop.counter();
  loop.store(to, {i}, loop.load(from, element::f32, {i}, how), how, ir::none, once);
  loop.close();
  return std::move(k).finish();
}

struct copies {
  ir::module m{.name = "copies", .buffers = {}, .folds = {}, .kernels = {}};
  std::int32_t x = add_vector(m, "x", role::input, many_bytes), y = add_vector(m, "y", role::output, many_bytes);
};

// The text of the kernels, without that of the module and its buffers.
std::string kernels_of(const ir::module& m) {
  EXPECT_NO_THROW(ir::verify(m));
  const std::string text = ir::print(m);
  return text.substr(text.find("kernel "));
}

TEST(non_temporal_stores, of_large_outputs) {
  copies c;
  c.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector));
  const std::string before = kernels_of(c.m);
  ir::non_temporal_stores(c.m, many_bytes);
  EXPECT_EQ(kernels_of(c.m), R"(kernel copy
  %0 i64 = constant 0
  %1 i64 = extent x 0
  vector i.0 in %0 .. %1 lanes 16
    %2 i64 = counter i.0
    %3 f32v = load contiguous x[%2]
    store contiguous non_temporal y[%2] = %3
)") << before;
}

TEST(non_temporal_stores, not_of_what_caches_keep) {
  const auto stays = [](copies c, double from) {
    const std::string before = kernels_of(c.m);
    ir::non_temporal_stores(c.m, from);
    EXPECT_EQ(before, kernels_of(c.m));
  };
  copies c, again, rewritten, elements;
  for (copies* each : {&c, &again}) each->m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector));
  rewritten.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::vector, false));
  elements.m.kernels.push_back(copy("copy", c.x, c.y, loop_kind::parallel));
  stays(c, 2 * many_bytes);
  again.m.buffers[static_cast<std::size_t>(again.y)].read_again = true;
  for (const copies& each : {again, rewritten, elements}) stays(each, many_bytes);
}

TEST(interleave_kernels, ranges_alternate) {
  copies c;
  const auto u = add_vector(c.m, "u", role::input, 0), v = add_vector(c.m, "v", role::output, 0);
  c.m.kernels.push_back(copy("first", c.x, c.y, loop_kind::parallel));
  c.m.kernels.push_back(copy("second", u, v, loop_kind::parallel));
  c.m.kernels.front().interleaved = {.with = 1, .iterations = 8, .cost = 1};
  ir::interleave_kernels(c.m);
  ASSERT_EQ(c.m.kernels.size(), 1u);
  const std::string text = kernels_of(c.m);
  EXPECT_NE(text.find("kernel first_and_second"), std::string::npos) << text;
  EXPECT_NE(text.find("parallel iteration.2 in"), std::string::npos) << text;
  EXPECT_LT(text.find("store uniform y"), text.size()) << text;
  EXPECT_LT(text.find("store uniform v"), text.size()) << text;
}

TEST(interleave_kernels, not_without_tasks) {
  copies c;
  const auto u = add_vector(c.m, "u", role::input, 0), v = add_vector(c.m, "v", role::output, 0);
  c.m.kernels.push_back(copy("first", c.x, c.y, loop_kind::parallel));
  c.m.kernels.push_back(copy("second", u, v, loop_kind::serial));
  c.m.kernels.front().interleaved = {.with = 1, .iterations = 8, .cost = 1};
  const std::string before = kernels_of(c.m);
  ir::interleave_kernels(c.m);
  EXPECT_EQ(before, kernels_of(c.m));
}

// ---- prefetch

constexpr ir::bytes_of_caches caches{.from_last_cache = many_bytes, .from_memory = many_bytes};

std::int32_t add_matrix(ir::module& m, const char* name) {
  const auto id = add_vector(m, name, role::input, many_bytes);
  m.buffers[static_cast<std::size_t>(id)].rank = 2;
  return id;
}
std::int32_t add_places(ir::module& m, int rank) {
  const auto id = add_vector(m, "places", role::input, 0);
  m.buffers[static_cast<std::size_t>(id)].type = element::i64;
  m.buffers[static_cast<std::size_t>(id)].rank = rank;
  return id;
}
ir::block_builder open(ir::block_builder& outer, loop_kind kind, const char* name, value low, value high,
                       double trips) {
  auto made = outer.loop(kind, name, low, high, kind == loop_kind::vector ? 16 : 1);
  made.head().trips = trips;
  return made;
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

// ---- unroll and jam

// y[i, j] = sum(k, x[i, k] * x[k, j]), two iterations of i at once. carried: a sum over i as well; local: a row in
// memory of the task's.
std::string jammed_product(bool carried, bool local) {
  ir::module m{.name = "product", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_matrix(m, "y");
  m.buffers[static_cast<std::size_t>(y)].where = role::output;
  const auto row_of = ir::add_buffer(m, {.name = "row", .type = element::f32, .rank = 1, .where = role::local,
                                         .elements = 16, .extents = {}});
  ir::kernel_builder b("product");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  const value all = top.accumulator(element::f32, monoid::sum, false);
  auto i = open(top, loop_kind::serial, "i", zero, rows, 100);
  i.head().jam = 2;
  const value row = i.counter();
  auto j = open(i, loop_kind::vector, "j", zero, columns, 100);
  const value column = j.counter(), sum = j.accumulator(element::f32, monoid::sum, true);
  auto k = open(j, loop_kind::serial, "k", zero, columns, 100);
  const value at = k.counter(), right = k.load(x, element::f32, {at, column}, access::contiguous),
              left = k.load(x, element::f32, {row, at});
  k.combine(sum, k.emit(op::mul, {left, right}));
  k.close();
  const value result = j.read(sum);
  if (local) j.store(row_of, {zero}, result, access::contiguous);
  j.store(y, {row, column}, result, access::contiguous);
  j.close();
  if (carried) i.combine(all, i.load(x, element::f32, {row, zero}));
  i.close();
  if (carried) top.store(y, {zero, zero}, top.read(all));
  m.kernels.push_back(std::move(b).finish());
  ir::unroll_and_jam(m);
  return kernels_of(m);
}

// One load of the row serves both; each has its own load, product and sum. What is left is the loop as it was.
TEST(unroll_and_jam, shares_what_does_not_vary) {
  const std::string text = jammed_product(false, false);
  const std::string tile = text.substr(0, text.find("  serial i.0"));
  EXPECT_NE(tile.find(R"(    vector j.4 in %0 .. %2 lanes 16
)"), std::string::npos) << text;
  EXPECT_NE(tile.find(R"(        %20 f32v = load contiguous x[%19, %16]
        %21 f32 = load uniform x[%13, %19]
        %22 f32v = mul %21, %20
        combine %17 with %22
        %23 f32 = load uniform x[%15, %19]
        %24 f32v = mul %23, %20
        combine %18 with %24
)"), std::string::npos) << text;
  EXPECT_NE(text.find("  serial i.0 in %9 .. %1\n"), std::string::npos) << text;
}

// y[i, j] = sum(k, x[i, k] * x[x[i, 0], j]) where rows run together that name the same one.
TEST(unroll_and_jam, where_data_is_equal) {
  ir::module m{.name = "product", .buffers = {}, .folds = {}, .kernels = {}};
  const auto x = add_matrix(m, "x"), y = add_matrix(m, "y");
  const auto ids = ir::add_buffer(m, {.name = "ids", .type = element::i64, .rank = 1, .where = role::input, .slot = 2,
                                      .unit_inner = true, .extents = {}});
  m.buffers[static_cast<std::size_t>(y)].where = role::output;
  ir::kernel_builder b("product");
  auto& top = b.top();
  const value zero = top.i64(0), rows = top.extent(x, 0), columns = top.extent(x, 1);
  auto i = open(top, loop_kind::serial, "i", zero, rows, 100);
  const value row = i.counter(), id = i.load(ids, element::i64, {row});
  i.head().jam = 2;
  i.head().equal = {id};
  auto j = open(i, loop_kind::vector, "j", zero, columns, 100);
  const value column = j.counter(), right = j.load(x, element::f32, {id, column}, access::contiguous),
              left = j.load(x, element::f32, {row, zero});
  j.store(y, {row, column}, j.emit(op::mul, {left, right}), access::contiguous);
  j.close();
  i.close();
  m.kernels.push_back(std::move(b).finish());
  ir::unroll_and_jam(m);
  ir::verify(m);
  const std::string text = kernels_of(m);
  EXPECT_NE(text.find("serial i_tile"), std::string::npos) << text;
  EXPECT_NE(text.find("logical_not"), std::string::npos) << text;
  std::size_t gathered = 0;
  for (std::size_t at = 0; (at = text.find("load contiguous x", at)) != std::string::npos; ++at) ++gathered;
  EXPECT_EQ(gathered, 2U) << text;  // of both rows at once, and of one alone
  EXPECT_EQ(text.find("where equal"), std::string::npos) << text;
}

TEST(unroll_and_jam, not_what_iterations_share) {
  for (const bool carried : {true, false}) {
    const std::string text = jammed_product(carried, !carried);
    EXPECT_EQ(text.find("_tile"), std::string::npos) << text;
    EXPECT_EQ(text.find("jam"), std::string::npos) << text;
  }
}

// The sum of x[0 .. n) where `given` holds, or where it holds of the element.
ir::kernel guarded_sum(const copies& c, bool of_element) {
  ir::kernel_builder k("sum");
  auto& top = k.top();
  const value low = top.i64(0), high = top.extent(c.x, 0), given = top.emit(op::less, {top.i64(3), high});
  const value all = top.accumulator(element::f32, monoid::sum, false);
  auto loop = top.loop(loop_kind::serial, "i", low, high);
  const value i = loop.counter();
  auto some = loop.guard(of_element ? loop.emit(op::less, {low, i}) : given);
  some.combine(all, some.load(c.x, element::f32, {i}));
  some.close();
  loop.close();
  top.store(c.y, {low}, top.read(all));
  return std::move(k).finish();
}

TEST(unswitch_loops, of_what_no_iteration_changes) {
  copies c;
  c.m.kernels.push_back(guarded_sum(c, false));
  ir::unswitch_loops(c.m);
  const std::string text = kernels_of(c.m);
  EXPECT_NE(text.find("  guard %3\n    serial i.0"), std::string::npos) << text;
  EXPECT_EQ(text.find("guard", text.find("serial")), std::string::npos) << text;
}
TEST(unswitch_loops, not_of_what_each_iteration_asks) {
  copies c;
  c.m.kernels.push_back(guarded_sum(c, true));
  const std::string before = kernels_of(c.m);
  ir::unswitch_loops(c.m);
  EXPECT_EQ(before, kernels_of(c.m));
}

}  // namespace
}  // namespace sheaf::test
