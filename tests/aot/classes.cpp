// The classes of a library: every call of a program has exactly one of a layout's, whatever its extents.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include <sheaf/aot/classes.hpp>
#include <sheaf/aot/extents.hpp>
#include <sheaf/aot/gpu_code.hpp>
#include <sheaf/aot/slots.hpp>
#include <sheaf/jit/ir/builder.hpp>

using namespace sheaf;

namespace {

std::vector<aot::program> programs(const std::string& text) {
  const std::string path = testing::TempDir() + "/classes.sheaf";
  std::ofstream(path) << text;
  return aot::read_programs(path);
}

constexpr const char* several = R"(
kernel ragged
input x: f32[?, ?]
input cut: i64[?, ?]
y(m, f) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, f))
energy = sum(over(m, f), y(m, f) * y(m, f))
output energy, grad(energy, x)
kernel softmax
input x: f32[?, ?]
top(i) = max(j, x(i, j))
y(i, f) = exp(x(i, f) - top(i)) / sum(j, exp(x(i, j) - top(i)))
kernel product
input a: f32[?, ?]
input b: f32[?, ?]
c(i, j) = sum(k, a(i, k) * b(k, j))
kernel windows
input x: f64[?]
y(i.in(0, extent(x, 0) - 4)) = max(u.in(0, 5), x(i + u))
kernel masked
input x: f32[?, 3]
input keep: bool[?]
y(f) = sum(i.where(keep(i)), x(i, f))
)";

constexpr std::int64_t adversarial[] = {0,    1,         2,          3,          4,   5,   7,    8,    9,    15,
                                        16,   17,        31,         32,         33,  63,  64,   65,   96,   97,
                                        127,  128,       1009,       4096,       8191, 8192, 8193, 9973, 65535, 65536,
                                        65537, 1000003, 2147483647, 2147483648, 2147483659, 4294967297, 1LL << 40};

// Its classes that hold a call, by layout.
void expect_one_class(const aot::planned_program& made, const aot::extent_list& extents, aot::held plans) {
  int unit = 0, any = 0;
  for (const aot::planned_class& c : made.classes) {
    if (!c.decided->hold(extents)) continue;
    unit += c.layout == aot::layout::unit;
    any += c.layout == aot::layout::any;
  }
  std::string words;
  for (const std::int64_t n : extents) words += std::to_string(n) + " ";
  ASSERT_EQ(any, 1) << made.of->name << " " << words;
  const bool has_elements = std::ranges::find(extents, 0) == extents.end();
  ASSERT_TRUE(unit >= 1 || !has_elements) << made.of->name << " " << words;
  if (plans == aot::held::general) return;
  ASSERT_EQ(unit, 1) << made.of->name << " " << words;
}

void expect_all_served(aot::held plans) {
  for (const aot::program& p : programs(several)) {
    const aot::planned_program made = aot::plan_classes(p, *target::named(target::build_targets[2].family), plans);
    const aot::extent_search search(p);
    int calls = 0;
    const auto places = p.ranges.size();
    for (const std::int64_t first : adversarial)
      for (const std::int64_t second : adversarial) {
        aot::extent_list extents(places, -1);
        extents[0] = first;
        if (places > 1) extents[1] = second;
        for (const std::int64_t rest : {0, 1, 2, 37, 70001}) {
          const aot::extent_list all = search.completed(extents, rest);
          if (!search.is_call(all)) continue;
          ++calls;
          expect_one_class(made, all, plans);
        }
      }
    EXPECT_GE(calls, 30) << p.name;
  }
}

}  // namespace

TEST(ahead, few_plans_serve_all_extents) { expect_all_served(aot::held::general); }
TEST(ahead, every_class_serves_all_extents) { expect_all_served(aot::held::every_class); }

TEST(ahead, a_range_leaves_out_what_is_outside) {
  const char* const text = "kernel sums\nrange x 1..1000 1..16\ninput x: f32[?, ?]\ny(i) = sum(j, x(i, j))\n";
  const aot::program p = programs(text).at(0);
  const aot::extent_search search(p);
  EXPECT_TRUE(search.is_call({1000, 16}));
  EXPECT_FALSE(search.is_call({1001, 16}));
  EXPECT_FALSE(search.is_call({0, 16}));
  const auto count = [&](const aot::program& of) {
    const auto made = aot::plan_classes(of, *target::named(target::build_targets[2].family), aot::held::every_class);
    return made.classes.size();
  };
  EXPECT_LT(count(p), count(programs(std::string(text).replace(12, 22, "")).at(0)));
}

TEST(ahead, classes_whose_calls_are_all_refused_have_no_kernel) {
  // Of one column, `cut` has no end for any slice.
  const aot::program p = programs(several).at(0);
  const auto made = aot::plan_classes(p, *target::named(target::build_targets[2].family), aot::held::general);
  int refused = 0;
  for (const aot::planned_class& c : made.classes) {
    const bool has_kernel = c.code >= 0;
    const aot::extent_list one_column = {7, 3, 5, 1}, two = {7, 3, 5, 2}, no_rows_read = {7, 3, 0, 1};
    if (c.decided->hold(one_column)) {
      EXPECT_FALSE(has_kernel);
      ++refused;
    }
    EXPECT_TRUE(!c.decided->hold(two) || has_kernel);
    EXPECT_TRUE(!c.decided->hold(no_rows_read) || has_kernel);
  }
  EXPECT_EQ(refused, 2) << "one of each layout";
}

// Its plans with neighbours in memory would be a second copy of what takes no time.
TEST(ahead, calls_that_reduce_nothing_have_the_plans_of_any_strides) {
  const aot::program p = programs("kernel pooled\ninput x: f32[?, ?]\ninput cut: i64[?, ?]\n"
                                  "y(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))\n"
                                  "energy = sum(over(m, f), y(m, f) * y(m, f))\n"
                                  "output energy, grad(energy, x)\n").at(0);
  const auto made = aot::plan_classes(p, *target::named(target::build_targets[2].family), aot::held::general);
  const auto unit = [&](const aot::extent_list& extents) {
    return std::ranges::count_if(made.classes, [&](const aot::planned_class& c) {
      return c.layout == aot::layout::unit && c.decided->hold(extents);
    });
  };
  EXPECT_EQ(unit({1000, 8, 0, 2}), 0) << "no slices";
  EXPECT_EQ(unit({1000, 0, 10, 2}), 0) << "no columns";
  EXPECT_GE(unit({1000, 8, 10, 2}), 1);
  const auto kernels = [&](const aot::extent_list& extents) {
    for (const aot::planned_class& c : made.classes)
      if (c.layout == aot::layout::any && c.decided->hold(extents))
        return made.codes.at(static_cast<std::size_t>(c.code)).kernels.size();
    return std::size_t{0};
  };
  EXPECT_LT(2 * kernels({1000, 8, 0, 2}), kernels({1000, 8, 10, 2})) << "no lists of slices";
  for (std::size_t k = 0; k < made.codes.size(); ++k)
    EXPECT_TRUE(std::ranges::any_of(made.classes, [&](const auto& c) { return c.code == static_cast<int>(k); })) << k;
}

// What a library serves says how long loops are, not the extents for which threads are laid out.
TEST(ahead, loops_on_a_gpu_count_in_32_bits_where_ranges_are_that_short) {
  const auto counts_short = [](const std::string& ranges) {
    const aot::program p =
        programs("kernel sums\n" + ranges + "input x: f32[?, ?]\ny(i) = sum(j, x(i, j))\n").at(0);
    std::vector<aot::gpu_image> images;
    aot::emit_codes(aot::plan_classes(p, aot::planned_for::gpus(), aot::held::general), "all", {{"sm_90", 90}}, images);
    return std::ranges::any_of(images, [](const aot::gpu_image& i) { return i.text.find("_short") != i.text.npos; });
  };
  EXPECT_TRUE(counts_short("range x 0..100000 0..1000000\n"));
  EXPECT_FALSE(counts_short(""));
  EXPECT_FALSE(counts_short("like x 1000 64\n"));
}

// y = a kernel of two workspaces; the second code has a third one before them, for a kernel of its own.
ir::module code_of(int own) {
  ir::module m;
  m.name = "code";
  const auto add = [&](const std::string& name, ir::role where) {
    m.buffers.push_back({.name = name, .type = element::f32, .rank = 1, .where = where,
                         .slot = static_cast<int>(m.buffers.size()), .extents = {}});
    return static_cast<std::int32_t>(m.buffers.size() - 1);
  };
  const auto copy = [&](std::int32_t to, std::int32_t from, const std::string& name) {
    ir::kernel_builder k(name);
    auto& top = k.top();
    const ir::value at = top.i64(0);
    top.store(to, {at}, top.load(from, element::f32, {at}, ir::access::uniform), ir::access::uniform);
    m.kernels.push_back(std::move(k).finish());
  };
  const std::int32_t y = add("y", ir::role::output);
  if (own > 0) copy(add("own", ir::role::workspace), y, "own");
  const std::int32_t a = add("a", ir::role::workspace), b = add("b" + std::to_string(own), ir::role::workspace);
  copy(a, b, "shared");
  copy(y, a, "shared_too");
  return m;
}

TEST(ahead, kernels_in_common_find_their_arrays_at_the_same_slots) {
  std::vector<ir::module> codes = {code_of(0), code_of(1), code_of(0)};
  const auto slots = aot::share_slots(codes, 1);
  EXPECT_EQ(slots, (std::vector<std::vector<int>>{{0, 1}, {2, 0, 1}, {0, 1}}));
  EXPECT_EQ(codes[1].buffers[1].slot, 3) << "own";
  EXPECT_EQ(codes[1].buffers[2].slot, 1) << "a";
  EXPECT_EQ(codes[1].buffers[3].slot, 2) << "b";
}

TEST(ahead, extents_that_the_program_ties_follow) {
  const aot::program p = programs("kernel two\ninput a: f32[?, ?]\ninput b: f32[?, ?]\n"
                                  "c(i, j) = sum(k, a(i, k) * b(k, j))\n").at(0);
  const aot::extent_search search(p);
  EXPECT_EQ(search.completed({-1, 7, -1, -1}, 3), (aot::extent_list{3, 7, 7, 3}));
  EXPECT_FALSE(search.is_call({3, 7, 8, 3}));
  EXPECT_FALSE(search.is_call({1LL << 40, 1, 1, 1LL << 40})) << "more bytes than any memory";
}
