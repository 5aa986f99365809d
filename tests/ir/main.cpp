// The programs of tests/coverage and the workloads, planned for each target: their kernel IR is what
// tests/golden/ir.txt says. A change of it is a change of the planner that somebody meant, or one that nobody did.
//
//   test_ir [--gtest_filter=...]
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <coverage/instead.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <support/golden.hpp>

#include "classes.hpp"
#include "record.hpp"

namespace {

using namespace sheaf;

// False: outside of a check the values count, and the reference gives them.
bool note_kernels(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors) {
  test::ir_record& record = test::ir_record::only();
  if (test::checked_name.empty()) return false;
  const graph g = unpack(words.data());
  plan::call_facts call;
  for (int i = 0; i < g.inputs.size(); ++i) {
    const int rank = g.inputs[i].rank;
    call.inputs.push_back(
        {{tensors[i].extents, tensors[i].extents + rank}, rank == 0 || tensors[i].strides[rank - 1] == 1});
  }
  record.add(test::checked_name, g, call);
  return true;
}

bool same_as_golden() {
  const test::ir_record& record = test::ir_record::only();
  if (const char* folder = std::getenv("SHEAF_GOLDEN_TEXT")) record.write_texts(folder);
  const std::string found = record.text();
  const bool some = testing::GTEST_FLAG(filter) != "*";
  if (golden::updating() && some) return std::printf("all programs are needed to write the golden file\n"), false;
  if (golden::updating()) return static_cast<bool>(golden::same("ir.txt", found));
  const std::string said = test::difference(golden::kept("ir.txt"), found, some);
  if (!said.empty())
    std::printf("%sSHEAF_GOLDEN_TEXT=FOLDER writes the IR, SHEAF_UPDATE_GOLDEN=1 the golden file\n", said.c_str());
  return said.empty();
}

// Of calls of any extents, most programs take few kernels.
bool few_kernels_do(const test::class_counts& seen) {
  if (seen.counted == 0) return true;
  const double share = static_cast<double>(seen.with_few) / seen.counted;
  std::printf("%d of %d programs need at most %zu kernels for all extents; %s needs %zu\n", seen.with_few, seen.counted,
              test::few_kernels, seen.most_of.c_str(), seen.most);
  const double of_classes = static_cast<double>(seen.of_classes) / seen.counted;
  const double planned = static_cast<double>(seen.of_plans) / seen.planned;
  std::printf("60 calls need %.1f kernels of classes, %.1f where each is planned\n", of_classes, planned);
  const bool few =
      share >= test::share_with_few && of_classes <= test::most_of_classes && planned <= test::most_of_plans;
  return testing::GTEST_FLAG(filter) != "*" || few;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  test::run_instead = note_kernels;
  const bool passed = RUN_ALL_TESTS() == 0;
  const test::class_counts& seen = test::counted_classes();
  std::printf("%d programs, %d calls of other extents, of which %d have the same kernels\n", seen.programs, seen.calls,
              seen.served);
  return same_as_golden() && few_kernels_do(seen) && passed ? 0 : 1;
}
