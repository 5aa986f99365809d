#include "classes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/shapes/usual_extents.hpp>

namespace sheaf::test {

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 7, 8, 16, 17, 33, 64, 100, 257, 1000, 4096, 10007, 65536, 1000000};
constexpr int variants = 6;

using extent_lists = std::vector<std::vector<std::int64_t>>;

extent_lists extents_of(const plan::call_facts& call) {
  extent_lists lists;
  for (const plan::tensor_facts& t : call.inputs) lists.push_back(plan::numbers(t.extents));
  return lists;
}

std::vector<std::int64_t> flat(const extent_lists& lists) {
  std::vector<std::int64_t> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

plan::call_facts with_extents(plan::call_facts call, const extent_lists& lists,
                              const std::vector<shapes::amount>& all) {
  auto next = all.begin();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    call.inputs[i].extents.assign(next, next + static_cast<std::ptrdiff_t>(lists[i].size()));
    next += static_cast<std::ptrdiff_t>(lists[i].size());
  }
  return call;
}
plan::call_facts with_extents(const plan::call_facts& call, const extent_lists& lists) {
  return with_extents(call, lists, plan::amounts(flat(lists)));
}

bool is_call(const graph& g, const plan::call_facts& call) {
  const plan::facts known(g, call);
  for (const constraint& c : g.constraints)
    if (known.exact(c.left) != known.exact(c.right)) return false;
  for (const demand& d : g.demands)
    if (known.exact(d.wrong).value_or(0) != 0) return false;
  return true;
}

// From 0 to 10^8, few and many alike; equal extents stay equal.
extent_lists any_extents(const graph& g, const extent_lists& given, std::mt19937_64& random) {
  std::map<std::int64_t, std::int64_t> instead;
  extent_lists other = given;
  for (std::size_t i = 0; i < other.size(); ++i)
    for (std::size_t d = 0; d < other[i].size(); ++d) {
      if (g.static_extents[g.inputs[static_cast<int>(i)].first_extent + static_cast<int>(d)] != dynamic) continue;
      const auto [at, fresh] = instead.try_emplace(other[i][d], 0);
      const double digits = std::uniform_real_distribution<>(0, 8)(random);
      if (fresh) at->second = random() % 30 == 0 ? 0 : static_cast<std::int64_t>(std::pow(10, digits));
      other[i][d] = at->second;
    }
  return other;
}

bool fits_memory(const extent_lists& lists) {
  return std::all_of(lists.begin(), lists.end(), [](const auto& extents) {
    double product = 1;
    for (const std::int64_t n : extents) product *= static_cast<double>(n);
    return product < 2e9;
  });
}

// Calls of much data have a plan, too: it may have more stages than that of few elements.
void expect_large(const std::string& name, const graph& g, const plan::call_facts& call) {
  static constexpr std::int64_t large[] = {90736, 127, 61, 33, 26, 11};
  std::map<std::int64_t, std::int64_t> instead;  // equal extents stay equal
  extent_lists lists = extents_of(call);
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (std::size_t d = 0; d < lists[i].size(); ++d) {
      if (g.static_extents[g.inputs[static_cast<int>(i)].first_extent + static_cast<int>(d)] != dynamic) continue;
      const std::int64_t next = large[std::min(instead.size(), std::size(large) - 1)];
      lists[i][d] = instead.try_emplace(lists[i][d], next).first->second;
    }
  const plan::call_facts changed = with_extents(call, lists);
  if (!is_call(g, changed)) return;
  EXPECT_NO_THROW(plan_program(g, changed, "program")) << name;
}

// Do extents alone make the call an error?
bool fails(const planned& program, const plan::call_facts& call) {
  const plan::facts known(program.g, call);
  return std::ranges::any_of(program.checks, [&](const plan::check& c) {
    return c.uniform && known.exact(c.outside).value_or(0) != 0;
  });
}

// How many kernels calls of any extents need, where calls that are planned alike share one, or calls of a class.
std::size_t kernels_of(shape_policy policy, const graph& g, const plan::call_facts& call) {
  std::vector<std::unique_ptr<shapes::decisions>> classes;
  std::set<std::string> kernels;
  std::mt19937_64 random(7);
  for (int k = 0, calls = 0; k < 200 && calls < 60; ++k) {
    const extent_lists other = any_extents(g, extents_of(call), random);
    const std::vector<std::int64_t> extents = flat(other);
    if (!fits_memory(other) || !is_call(g, with_extents(call, other))) continue;
    ++calls;
    const auto serves = [&](const auto& decided) { return decided->hold(extents); };
    if (std::any_of(classes.begin(), classes.end(), serves)) continue;
    classes.push_back(std::make_unique<shapes::decisions>(policy == shape_policy::automatic));
    const plan::call_facts of_class = with_extents(call, other, shapes::amounts_of(g, extents, *classes.back()));
    const planned program = plan_program(g, of_class, "program");
    if (fails(program, with_extents(call, other)))
      --calls, classes.pop_back();
    else
      kernels.insert(ir::print(program.code));
  }
  return kernels.size();
}

}  // namespace

void count_kernels_of_classes(const std::string& name, const graph& g, const plan::call_facts& call) {
  static int programs = 0;
  const int number = programs++;
  if (number % 8 != 0) return;  // it takes a second for ten
  class_counts& seen = counted_classes();
  if (number % 64 == 0) {
    ++seen.planned;
    seen.of_plans += kernels_of(shape_policy::automatic, g, call);
  }
  const std::size_t kernels = kernels_of(shape_policy::classes, g, call);
  ++seen.counted;
  seen.of_classes += kernels;
  if (kernels <= few_kernels) ++seen.with_few;
  if (kernels > seen.most) seen.most = kernels, seen.most_of = name;
}

class_counts& counted_classes() {
  static class_counts counts;
  return counts;
}

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call) {
  const extent_lists given = extents_of(call);
  shapes::decisions record(true);
  const std::vector<shapes::amount> recorded = shapes::amounts_of(g, flat(given), record);
  const planned program = plan_program(g, with_extents(call, given, recorded), "program");
  const std::string text = ir::print(program.code);
  EXPECT_TRUE(record.hold(flat(given))) << name;
  ++counted_classes().programs;
  expect_large(name, g, call);
  std::uint64_t random = 0x9E3779B97F4A7C15u + text.size();
  for (int k = 0; k < variants; ++k) {
    std::map<std::int64_t, std::int64_t> instead;  // equal extents stay equal
    extent_lists other = given;
    for (std::size_t i = 0; i < other.size(); ++i)
      for (std::size_t d = 0; d < other[i].size(); ++d) {
        if (g.static_extents[g.inputs[static_cast<int>(i)].first_extent + static_cast<int>(d)] != dynamic) continue;
        const auto [at, fresh] = instead.try_emplace(other[i][d], 0);
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (fresh) at->second = k < 2 ? at->first + k + 1 : sizes[(random >> 33) % std::size(sizes)];
        other[i][d] = at->second;
      }
    const plan::call_facts changed = with_extents(call, other);
    if (!is_call(g, changed)) continue;
    ++counted_classes().calls;
    if (!record.hold(flat(other))) continue;
    ++counted_classes().served;
    shapes::decisions anew(true);
    const plan::call_facts own = with_extents(call, other, shapes::amounts_of(g, flat(other), anew, call.gpu));
    EXPECT_EQ(text, ir::print(plan_program(g, own, "program").code)) << name << ", variant " << k;
  }
}

}  // namespace sheaf::test
