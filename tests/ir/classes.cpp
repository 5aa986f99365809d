#include "classes.hpp"

#include <gtest/gtest.h>

#include <map>

#include <sheaf/jit/ir/print.hpp>

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

plan::call_facts with_extents(plan::call_facts call, const extent_lists& lists, shapes::decisions* record) {
  int place = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    call.inputs[i].extents.clear();
    for (const std::int64_t n : lists[i])
      call.inputs[i].extents.push_back(record != nullptr ? record->extent(place++, n) : shapes::amount(n));
  }
  return call;
}

std::vector<std::int64_t> flat(const extent_lists& lists) {
  std::vector<std::int64_t> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool is_call(const graph& g, const plan::call_facts& call) {
  const plan::facts known(g, call);
  for (const constraint& c : g.constraints)
    if (known.exact(c.left) != known.exact(c.right)) return false;
  for (const demand& d : g.demands)
    if (known.exact(d.wrong).value_or(0) != 0) return false;
  return true;
}

}  // namespace

class_counts& counted_classes() {
  static class_counts counts;
  return counts;
}

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call) {
  const extent_lists given = extents_of(call);
  shapes::decisions record(true);
  const planned program = plan_program(g, with_extents(call, given, &record), "program");
  const std::string text = ir::print(program.code);
  EXPECT_TRUE(record.hold(flat(given))) << name;
  ++counted_classes().programs;
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
    const plan::call_facts changed = with_extents(call, other, nullptr);
    if (!is_call(g, changed)) continue;
    ++counted_classes().calls;
    if (!record.hold(flat(other))) continue;
    ++counted_classes().served;
    EXPECT_EQ(text, ir::print(plan_program(g, changed, "program").code)) << name << ", variant " << k;
  }
}

}  // namespace sheaf::test
