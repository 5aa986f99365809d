// Every row is emitted, compiled for sm_90 and counted; none may be worse than docs/gpu-static.md says by more than a
// tenth. SHEAF_UPDATE_GOLDEN=1 writes the table there. SHEAF_GPU_ROWS=ID,ID shows those rows alone, by kernel,
// SHEAF_GPU_TEXT=FOLDER writes their CUDA C++ and plans there.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <sstream>

#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/error.hpp>
#include <support/golden.hpp>

#include "rows.hpp"

namespace sheaf::test {

namespace {

constexpr const char* page = SHEAF_TEST_DIR "/../docs/gpu-static.md";
constexpr const char* begins = "<!-- table -->\n";
constexpr const char* ends = "<!-- end of table -->\n";

std::string contents_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string version() {
  const std::string all = runtime::cuda::compiler_version(0);
  return "NVRTC " + all.substr(0, all.find(' '));
}

// Between the marks: a line with the version of NVRTC, then the table.
std::string between_marks(const std::string& text) {
  const std::size_t from = text.find(begins), to = text.find(ends);
  if (from == std::string::npos || to == std::string::npos) return "";
  return text.substr(from + std::string(begins).size(), to - from - std::string(begins).size());
}
void write_page(const std::string& table) {
  const std::string text = contents_of(page);
  const std::size_t from = text.find(begins), to = text.find(ends);
  ASSERT_NE(to, std::string::npos) << page << " has no marks";
  std::ofstream(page) << text.substr(0, from) << begins << table << text.substr(to);
}

bool is_wanted(const std::string& id) {
  const char* const wanted = std::getenv("SHEAF_GPU_ROWS");
  if (wanted == nullptr) return true;
  std::istringstream list(wanted);
  for (std::string one; std::getline(list, one, ',');)
    if (id.compare(0, one.size(), one) == 0) return true;
  return false;
}

void show_kernels(const counted_row& r) {
  std::printf("%s: %.1f %% of the bound, %.0f us\n", r.id.c_str(), r.percent(), 1e6 * r.seconds);
  for (const kernel_estimate& k : r.kernels) {
    std::printf("  %-60s %8.1f us, %6.0f blocks, %5.1f warps, %6.2f KB under way, %3d registers, %6lld shared, %g MB\n",
                k.name.c_str(), 1e6 * k.seconds, k.blocks, k.warps, k.under_way / 1024, k.registers,
                static_cast<long long>(k.shared), k.bytes / 1e6);
    std::printf("    %.1f instructions an element, %lld bytes spilled", k.instructions,
                static_cast<long long>(k.frame));
    std::printf(k.alone > 0 ? ", %.1f us of the last block\n" : "\n", 1e6 * k.alone);
    for (const sass_loop& l : k.loops) {
      std::printf("    loop at %llx: %d loaded, %d stored:", 16 * static_cast<unsigned long long>(l.first),
                  l.counts.loaded, l.counts.stored);
      for (int n = 0; n < sass_kinds; ++n)
        if (l.counts.of[n] > 0) std::printf(" %d %s", l.counts.of[n], name_of(static_cast<sass_kind>(n)));
      std::printf("\n");
    }
  }
}

// What was counted, for nvdisasm and for a reader.
void write_texts(const emitted_row& row) {
  const char* const folder = std::getenv("SHEAF_GPU_TEXT");
  if (folder == nullptr) return;
  for (std::size_t n = 0; n < row.source.texts.size(); ++n)
    std::ofstream(std::string(folder) + "/" + row.id + "." + std::to_string(n) + ".cu") << row.source.texts[n];
  std::ofstream(std::string(folder) + "/" + row.id + ".plan") << row.planned->program.text;
}

std::vector<counted_row> all_rows() {
  std::vector<bench::job> jobs = static_rows();
  std::erase_if(jobs, [](const auto& j) { return !is_wanted(j.id); });
  std::vector<emitted_row> emitted;
  for (const bench::job& j : jobs) emitted.emplace_back(j), write_texts(emitted.back());
  std::vector<counted_row> rows(jobs.size());
  constexpr std::size_t compilers = 2;
  std::vector<std::future<void>> workers;
  for (std::size_t w = 0; w < compilers; ++w)
    workers.push_back(std::async(std::launch::async, [&, w] {
      for (std::size_t n = w; n < rows.size(); n += compilers) rows[n] = counted(emitted[n]);
    }));
  for (auto& w : workers) w.get();
  return rows;
}

TEST(gpu_static, no_row_is_worse) {
  std::string compiler;
  try {
    compiler = version();
  } catch (const error& e) {
    GTEST_SKIP() << "NVRTC is not installed, so no machine code was counted: " << e.what();
  }
  const std::vector<counted_row> rows = all_rows();
  const std::string table = table_of(rows);
  if (std::getenv("SHEAF_GPU_ROWS") != nullptr) {
    for (const counted_row& r : rows) show_kernels(r);
    return;
  }
  if (golden::updating()) return write_page(compiler + ".\n\n" + table);
  const std::string kept = between_marks(contents_of(page));
  const bool same_compiler = kept.find(compiler + ".\n") == 0;
  if (!same_compiler) std::printf("the table was made by another NVRTC: machine code is not compared\n");
  const std::string said = worse(kept, table, same_compiler);
  EXPECT_EQ(said, "") << "SHEAF_UPDATE_GOLDEN=1 writes the table anew";
}

TEST(gpu_static, a_tenth_worse_is_named) {
  counted_row r{.id = "one", .bound = 4.8e9, .bytes = 4.8e9, .seconds = 2e-3};
  r.kernels.resize(1);
  r.kernels[0].instructions = 10;
  const std::string kept = table_of({r});
  EXPECT_EQ(worse(kept, kept, true), "");
  counted_row slow = r;
  slow.seconds = 2.1e-3;
  EXPECT_EQ(worse(kept, table_of({slow}), true), "");
  slow.seconds = 2.3e-3;
  EXPECT_EQ(worse(kept, table_of({slow}), true), "one: estimated % was 50, is 43\n");
  EXPECT_EQ(worse(kept, table_of({slow}), false), "");
  slow = r;
  slow.kernels[0].instructions = 12;
  EXPECT_EQ(worse(kept, table_of({slow}), true), "one: instructions was 10, is 12\n");
  slow.kernels.resize(2);
  slow.kernels[0].instructions = 10;
  EXPECT_EQ(worse(kept, table_of({slow}), false), "one: launches was 1, is 2\n");
  slow.id = "two";
  EXPECT_EQ(worse(kept, table_of({slow}), true),
            "two is missing in docs/gpu-static.md\none is in docs/gpu-static.md, and was not counted\n");
}

// What the H200 needs in its multiprocessors for a copy to run at the speed of its memory.
TEST(gpu_static, bytes_under_way_bound_the_estimate) {
  std::vector<sass_instruction> loop(4);
  loop[0] = {sass_kind::load, 16, -1};
  loop[1] = {sass_kind::store, 16, -1};
  loop[3].branch = 0;
  const kernel_usage usage{.kernel = "copy", .registers = 32};
  launch_facts facts{.name = "copy", .threads = 128, .blocks = -1, .bytes = 2e9};
  const kernel_estimate full = estimate(facts, usage, loop);
  EXPECT_EQ(full.warps, 64);
  EXPECT_EQ(full.under_way, 32 << 10);
  EXPECT_NEAR(full.seconds, 2e9 / 4.8e12 / 0.92 + 3e-6, 1e-7);
  facts.blocks = 132;
  const kernel_estimate few = estimate(facts, usage, loop);
  EXPECT_EQ(few.warps, 4);
  EXPECT_NEAR(few.seconds, 16 * 2e9 / 4.8e12 / 0.92 + 3e-6, 1e-6);
}

// Behind the counter of blocks stands what the last one does: its loop is not one that all elements pass.
TEST(gpu_static, the_last_block_takes_its_own_time) {
  std::vector<sass_instruction> code(8);
  code[0] = {sass_kind::load, 16, -1};
  code[2].branch = 0;
  code[3] = {sass_kind::atomic, 4, -1};
  code[4] = {sass_kind::load, 12, -1};
  code[7].branch = 4;
  const kernel_usage usage{.kernel = "sum", .registers = 32};
  launch_facts facts{.name = "sum", .threads = 128, .blocks = -1, .bytes = 2e9};
  const kernel_estimate both = estimate(facts, usage, code);
  EXPECT_EQ(both.loops.size(), 2u);
  facts.following = 12000;
  const kernel_estimate apart = estimate(facts, usage, code);
  EXPECT_EQ(apart.loops.size(), 1u);
  EXPECT_LT(apart.instructions, both.instructions);
  EXPECT_NEAR(apart.alone, 8e-6, 1e-9) << "128 threads load 1536 bytes at once";
  EXPECT_NEAR(apart.seconds, both.seconds + 8e-6, 1e-9);
}

// A path that is seldom taken stands behind the end of the function and goes back from there.
TEST(gpu_static, what_stands_out_of_the_way_is_no_loop) {
  std::vector<sass_instruction> code(8);
  code[0] = {sass_kind::load, 16, -1};
  code[1].branch = 6;
  code[2] = {sass_kind::load, 12, -1};
  code[3].branch = 0;
  code[4].ends = code[4].always = true;
  code[7].branch = 2, code[7].always = true;
  ASSERT_EQ(hot_loops(code).size(), 1u);
  EXPECT_EQ(hot_loops(code)[0].last, 3);
  code[2].branch = 6;  // the path leaves behind the load: it is one
  EXPECT_EQ(hot_loops(code).size(), 2u);
}

}  // namespace

}  // namespace sheaf::test
