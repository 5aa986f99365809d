// How a kernel's loops become tasks and addresses at sizes of gigabytes: the text is read, nothing runs.
#include <gtest/gtest.h>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/pipeline.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::test::tasks_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto b = tensor<"b", float, 1>;

struct emitted {
  planned program;
  cuda::source code;
  std::string text;
};
template <class... Outputs>
emitted emitted_for(const std::vector<std::vector<std::int64_t>>& extents, Outputs...) {
  constexpr auto words = detail::packed<Outputs...>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  emitted made{plan_program(unpack(words.words), call, "program"), {}, {}};
  // By slot: inputs, then what nothing here depends on.
  std::vector<std::vector<std::int64_t>> by_slot = extents;
  by_slot.resize(64, std::vector<std::int64_t>(8, 1 << 14));
  made.code = cuda::emit(made.program.code, {.compute = 90}, cuda::amounts_by_slot(by_slot));
  for (const std::string& t : made.code.texts) made.text += t.substr(t.find("__global__"));
  return made;
}
std::int64_t tiles_of(const cuda::launch& l) {
  return l.count ? static_cast<std::int64_t>(l.count->estimate()) : -1;
}
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(tasks, vectors_below_blocks_of_rows) {
  const emitted e = emitted_for({{16384, 16384}}, sum(x, dim<0>));
  ASSERT_EQ(e.code.launches.size(), 2u) << "partial results and what joins them are apart: together they are few";
  EXPECT_EQ(tiles_of(e.code.launches[0]), 128 * 64) << "blocks of 128 rows by vectors of 256 lanes";
}
TEST(tasks, many_parts_of_few_columns_are_joined_in_steps) {
  const emitted e = emitted_for({{1 << 22, 256}}, sum(x, dim<0>));
  EXPECT_NE(e.program.text.find("partial results, some at a time"), std::string::npos) << e.program.text;
}
// 24 warps of 85 registers, 32 of 64 down columns; what is short of instructions has as many as fit.
TEST(tasks, registers_for_loads_under_way) {
  const auto bounded = [](const emitted& e, const char* bounds) {
    return e.text.find(std::string("__launch_bounds__(") + bounds + ")") != std::string::npos;
  };
  EXPECT_TRUE(bounded(emitted_for({{16384, 16384}}, sum(x)), "128, 6"));
  EXPECT_TRUE(bounded(emitted_for({{16384, 16384}}, sum(x, dim<0>)), "128, 8"));
  constexpr auto image = tensor<"image", float, 4>;
  constexpr pool options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  EXPECT_TRUE(bounded(emitted_for({{128, 64, 224, 224}}, max_pool2d<options>(image)), "128, 6"));
  EXPECT_TRUE(bounded(emitted_for({{128, 64, 224, 224}}, avg_pool2d<options>(image)), "128"));
}
TEST(tasks, what_lies_across_lanes_is_loaded_by_the_line) {
  const emitted e = emitted_for({{16384, 8192}}, define<"turned">(i, j) = x(j, i));
  EXPECT_EQ(tiles_of(e.code.launches[0]), 8192 / 16 * 16384 / 32) << "16 columns by a warp of rows";
  EXPECT_NE(e.text.find("float q0_along[16]"), std::string::npos) << e.text;
  constexpr auto u = axis<"u">;
  constexpr auto batches = tensor<"batches", float, 3>;
  const emitted moved = emitted_for({{64, 512, 1024}}, define<"moved">(u, i, j) = batches(u, j, i));
  EXPECT_NE(moved.text.find("_along[16]"), std::string::npos) << moved.text;
  const emitted few = emitted_for({{16384, 8}}, define<"turned">(i, j) = x(j, i));
  EXPECT_EQ(few.text.find("_along"), std::string::npos) << few.text;
}
TEST(tasks, stages_of_the_same_loops_stay_together) {
  const emitted e = emitted_for({{16384, 16384}}, argmax(x, dim<0>));
  EXPECT_EQ(e.program.plan.kernels[0].stages.size(), 2u) << "the extremum of a block and where it is";
  EXPECT_GE(tiles_of(e.code.launches[0]), 8192);
}
TEST(tasks, few_rows_stay_in_one_kernel) {
  EXPECT_EQ(emitted_for({{64, 256}}, softmax(x, dim<1>)).code.launches.size(), 1u);
}
TEST(tasks, checks_of_ranges_are_shared) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  const emitted e = emitted_for({{1 << 22}, {65537}, {1 << 20, 64}},
                                embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off)));
  bool shared = false;
  for (const auto& k : e.program.code.kernels) shared = shared || (k.name == "partial" && parallel_loop(k) != nullptr);
  EXPECT_TRUE(shared) << e.program.text;
  EXPECT_LE(e.code.launches.size(), 8u) << "the last block of what is asked tile by tile writes the check";
}
TEST(tasks, counts_of_few_rows_are_made_in_shared_memory) {
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  const emitted e = emitted_for({{1 << 26}}, bincount<16>(n));
  EXPECT_GT(count(e.text, "add_at(&"), 0) << e.text;
  EXPECT_GE(tiles_of(e.code.launches[0]), 2112);
  for (const cuda::launch& l : e.code.launches) EXPECT_EQ(l.of, nullptr) << "nothing is sorted";
  constexpr auto z = tensor<"z", float, 1>;
  const emitted weighted = emitted_for({{1 << 26}, {1 << 26}}, bincount<16>(n, z));
  EXPECT_GT(count(weighted.text, "add_in_order<sum_of"), 0) << "sums of floating numbers keep an order";
  EXPECT_GE(tiles_of(weighted.code.launches[0]), 2112);
  for (const cuda::launch& l : weighted.code.launches) EXPECT_EQ(l.of, nullptr) << "nothing is sorted";
}
// However many of the updates one row has, a group folds 512 of them.
TEST(tasks, rows_of_many_updates_are_shared) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  constexpr auto z = tensor<"z", float, 1>;
  const auto parts = [](const emitted& e) {
    for (const cuda::launch& l : e.code.launches)
      if (l.name.ends_with("_parts")) return tiles_of(l);
    return std::int64_t{0};
  };
  constexpr auto bags = embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off));
  EXPECT_EQ(parts(emitted_for({{65537}, {1 << 22}, {1 << 20, 64}, {65536, 64}}, vjp(bags, x))), 1 << 13);
  EXPECT_EQ(parts(emitted_for({{1 << 26}, {1 << 26}}, bincount<5000>(n, z))), 1 << 17);
  EXPECT_EQ(parts(emitted_for({{1 << 10}, {1 << 10}}, bincount<5000>(n, z))), 0) << "two parts do not pay a launch";
}
TEST(tasks, a_sort_has_blocks_that_count_digits_in_shared_memory) {
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  constexpr auto z = tensor<"z", float, 1>;
  for (const std::int64_t keys : {std::int64_t{1} << 20, std::int64_t{1} << 26}) {
    const emitted e = emitted_for({{keys}, {keys}}, bincount<5000>(n, z));
    EXPECT_NE(e.text.find("__shared__"), std::string::npos) << e.text;
    EXPECT_EQ(count(e.text, "next_place_of_block("), 1) << "lanes that have one digit know each other";
    for (const cuda::launch& l : e.code.launches)
      if (l.of == nullptr && (l.name.find("_count") != l.name.npos || l.name.find("_place") != l.name.npos)) {
        EXPECT_EQ(l.threads, 256) << l.name << ": a tile is a block's";
        EXPECT_GE(tiles_of(l), keys / 4096) << l.name;
        EXPECT_LE(tiles_of(l), keys / 1024) << l.name << ": counts of all tiles would be as many as keys";
      }
  }
}
TEST(tasks, a_sort_has_numbers_of_32_bits_where_they_fit) {
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  constexpr auto z = tensor<"z", float, 1>;
  const auto narrow = [](const emitted& e) {
    int found = 0;
    for (const cuda::launch& l : e.code.launches) found += l.name.starts_with("sheaf_sort32");
    return found;
  };
  EXPECT_EQ(narrow(emitted_for({{1 << 20}, {1 << 20}}, bincount<65536>(n, z))), 5) << "two digits, and the ends";
  EXPECT_EQ(narrow(emitted_for({{1 << 20}, {1 << 20}}, bincount<(std::int64_t{1} << 32)>(n, z))), 0);
}
TEST(tasks, a_sort_has_longer_digits_where_they_save_a_pass) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto t = axis<"t">;
  constexpr auto picked = define<"picked">(t, j) = x(ids(t), j);
  const auto plan_for = [&](std::int64_t rows, std::int64_t updates) {
    return emitted_for({{updates}, {rows, 64}, {updates, 64}}, vjp(picked, x)).program.text;
  };
  EXPECT_NE(plan_for(1 << 20, 1 << 24).find("sorted by 2 digits of 10 bits"), std::string::npos);
  EXPECT_NE(plan_for(1 << 16, 1 << 24).find("sorted by 2 digits of 8 bits"), std::string::npos);
  EXPECT_NE(plan_for(1 << 24, 1 << 24).find("sorted by 3 digits of 8 bits"), std::string::npos);
}
TEST(tasks, checks_that_one_block_asks_share_a_launch) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto bags = embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off));
  const emitted e = emitted_for({{1 << 22}, {65537}, {1 << 20, 64}}, bags);
  int checks = 0;
  for (const cuda::launch& l : e.code.launches) checks += l.writes_checks;
  EXPECT_EQ(e.program.checks.size(), 5u);
  EXPECT_EQ(checks, 3) << "of no loop, of offsets, of ids\n" << e.text;
  EXPECT_NE(e.text.find("if (*(i64*)words.w["), std::string::npos) << "a check that reads by what another one asks";
}
// The text of the kernel whose name ends so.
std::string kernel_of(const emitted& e, const std::string& name) {
  const std::size_t from = e.text.find("_" + name + "(");
  return from == std::string::npos ? "" : e.text.substr(from, e.text.find("__global__", from) - from);
}
TEST(loads, of_what_a_kernel_does_not_store_go_ahead_of_its_stores) {
  const std::string text = kernel_of(emitted_for({{16384, 16384}}, cumsum(x, dim<0>)), "carried");
  EXPECT_EQ(count(text, "__ldg(&"), 1) << "what the kernel before left, in a loop that stores\n" << text;
  EXPECT_EQ(count(text, "_Pragma(\"unroll 16\")"), 1) << "128 bytes a thread, of few threads\n" << text;
}
TEST(loads, more_of_them_where_threads_are_few) {
  const emitted e = emitted_for({{16384, 16384}}, sum(x, dim<0>));
  EXPECT_EQ(count(kernel_of(e, "partial"), "_Pragma(\"unroll 2\")"), 1) << "64 bytes a thread\n" << e.text;
  EXPECT_EQ(count(kernel_of(e, "sum_x"), "_Pragma(\"unroll 32\")"), 1) << "128 bytes a thread\n" << e.text;
}
TEST(tasks, short_vectors_are_tasks_where_those_are_few) {
  const emitted e = emitted_for({{1 << 18}}, define<"doubled">(i) = w(i) + w(i));
  EXPECT_EQ(e.code.launches[0].count, 4096) << "64 lanes each\n" << e.text;
}
TEST(states, share_what_counts_terms_among_the_lanes_of_a_thread) {
  const emitted columns = emitted_for({{16384, 16384}}, var(x, dim<0>));
  EXPECT_GE(count(columns.text, "const auto all = a"), 1) << columns.text;
  const emitted of_rows = emitted_for({{16384, 16384}}, var(x, dim<1>));
  EXPECT_GE(count(of_rows.text, "const auto all = a"), 1) << of_rows.text;
  const emitted rows = emitted_for({{16384, 16384}}, logsumexp(x, dim<0>));
  EXPECT_EQ(count(rows.text, "const auto all = a"), 0) << "a maximum is each lane's own\n" << rows.text;
}
TEST(addresses, one_pointer_and_a_short_counter_a_row) {
  const emitted e = emitted_for({{16384, 16384}}, sum(x, dim<1>));
  EXPECT_EQ(count(e.text, "_short += 256"), 1) << e.text;
  EXPECT_EQ(count(e.text, "q0 += q0_step;"), 1) << e.text;
  const emitted long_rows = emitted_for({{4, std::int64_t{1} << 33}}, define<"doubled">(i, j) = x(i, j) + x(i, j));
  EXPECT_EQ(count(long_rows.text, "_short"), 0) << long_rows.text;
}
TEST(barriers, none_where_a_lane_reads_what_it_stored) {
  constexpr auto y = layer_norm(x, w, b);
  const emitted e = emitted_for({{262144, 1024}, {1024}, {1024}, {262144, 1024}}, y, vjp(y, x), vjp(y, w), vjp(y, b));
  EXPECT_EQ(count(e.text, "MEET;"), 0) << e.text;
}
TEST(barriers, none_in_windows_whose_threads_read_what_they_stored) {
  constexpr auto t = axis<"t">;
  constexpr auto u = axis<"u">;
  constexpr auto z = tensor<"z", float, 1>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(z, dim<0>) - 1023_c)) = mean(u.in(0_c, 1024_c), z(t + u));
  const emitted e = emitted_for({{1 << 24}}, moved);
  EXPECT_EQ(count(e.text, "MEET;"), 0) << e.text;
  EXPECT_EQ(count(e.text, "load_own<T>(x,"), 1) << e.text;
  EXPECT_EQ(count(e.text, "scan_runs<sum_of"), 2) << e.text;
}

TEST(short_loops, of_windows_are_written_out_and_share_a_pointer) {
  constexpr auto image = tensor<"image", float, 4>;
  constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const emitted e = emitted_for({{128, 64, 224, 224}}, max_pool2d<halving>(image));
  EXPECT_EQ(count(e.text, "; ++n"), 1) << "one loop over the lanes, in it one over three rows\n" << e.text;
  EXPECT_EQ(count(e.text, "__ldg(&"), 3) << e.text;
  EXPECT_EQ(count(e.text, "_step;"), 2) << "of what is loaded and of what is stored\n" << e.text;
  constexpr auto y = avg_pool2d<halving>(image);
  const emitted back = emitted_for({{128, 64, 224, 224}, {128, 64, 112, 112}}, vjp(y, image));
  EXPECT_EQ(count(back.text, "_Pragma(\"unroll 2\")"), 1) << "four loads of 4 bytes in each iteration\n" << back.text;
}
TEST(comparisons, of_lanes_are_of_32_bits) {
  constexpr auto t = axis<"t">;
  constexpr auto u = axis<"u">;
  constexpr auto z = tensor<"z", float, 1>;
  constexpr auto moved = define<"moved">(t.in(0_c, extent(z, dim<0>) - 1023_c)) = mean(u.in(0_c, 1024_c), z(t + u));
  const emitted e = emitted_for({{1 << 24}, {(1 << 24) - 1023}}, vjp(moved, z));
  EXPECT_GE(count(e.text, "limit_of("), 4) << e.text;
}
TEST(scratch_rows, have_quotients_that_two_loops_need) {
  const emitted e = emitted_for({{262144, 1024}, {262144, 1024}}, softmax(x, dim<1>), vjp(softmax(x, dim<1>), x));
  int rows = 0;
  for (const ir::kernel& k : e.program.code.kernels)
    for (const std::string& note : k.notes) rows += note.starts_with("scratch row");
  EXPECT_EQ(rows, 2) << "the exponentials, and the cotangents by their sum\n" << e.text;
}
TEST(sorts, carry_what_an_update_depends_on) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto share = tensor<"share", float, 1>;
  const auto planes = [](const emitted& e) {
    int found = 0;
    for (const plan::stage& s : e.program.plan.stages)
      if (s.how == plan::way::inverse_index) found = s.sort.planes;
    return found;
  };
  using bags = std::vector<std::vector<std::int64_t>>;
  constexpr auto plain = embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off));
  EXPECT_EQ(planes(emitted_for(bags{{1 << 22}, {65537}, {1 << 20, 64}, {65536, 64}}, vjp(plain, x))), 1);
  constexpr auto weighted = embedding_bag<bag{.mode = bag_mode::sum}>(ids, x, offsets(off), share);
  const bags with_share{{1 << 22}, {65537}, {1 << 20, 64}, {1 << 22}, {65536, 64}};
  EXPECT_EQ(planes(emitted_for(with_share, vjp(weighted, x))), 2) << "the bag, and the place of its weight";
}

}  // namespace
}  // namespace sheaf::test::tasks_tests
