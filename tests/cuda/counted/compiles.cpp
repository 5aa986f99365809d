// The catalogue, every cast between two element types, and every operation and fold of every element type, as machine
// code for each architecture. A program is compiled for one after the other, with little optimisation, which takes a
// third of the time: the text is what is tested. SHEAF_TEST_NVRTC=all: each for all of them, as programs are, which
// takes minutes. The coverage set is compiled by tests/cuda/cubins.cpp, as programs are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>

#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/error.hpp>
#include <support/reparsed.hpp>

#include "rows.hpp"

namespace sheaf::test {

namespace {

constexpr element all_elements[] = {element::boolean, element::i8,  element::u8,  element::i16,  element::u16,
                                    element::i32,     element::u32, element::i64, element::u64,  element::f16,
                                    element::bf16,    element::f32, element::f64};
static_assert(std::size(all_elements) == std::size(element_rows));

// Outputs of a program over x(i) and z(i) of a type; those that the language does not have are left out.
class program_of {
 public:
  explicit program_of(element type) : type_(type) {}
  void add(const std::string& indices, const std::string& value) {
    const std::string name = "y" + std::to_string(count_), line = name + indices + " = " + value + "\n";
    const std::string alone = head() + line + "output " + name;
    if (const graph g = parse(alone.c_str(), static_cast<int>(alone.size())); g.failed()) return;
    lines_ += line;
    names_ += (count_++ == 0 ? "" : ", ") + name;
  }
  int count() const { return count_; }
  bench::job job(const std::string& what) const {
    const std::string text = head() + lines_ + "output " + names_, id = what + ":" + row(type_).name;
    const graph g = parse(text.c_str(), static_cast<int>(text.size()));
    EXPECT_FALSE(g.failed()) << text;
    EXPECT_GT(count_, 5) << text;
    return {id, packed_words_of(g), {{"x", {1 << 24}}, {"z", {1 << 24}}}};
  }

 private:
  std::string head() const {
    const std::string type = row(type_).name;
    return "input x: " + type + "[?]\ninput z: " + type + "[?]\naxis i: extent(x, 0)\naxis k: extent(x, 0)\n";
  }
  element type_;
  std::string lines_, names_;
  int count_ = 0;
};

bench::job casts_from(element from, int& pairs) {
  program_of made(from);
  for (const element to : all_elements) made.add("(i)", std::string("cast<") + row(to).name + ">(x(i))");
  pairs += made.count();
  return made.job("cast");
}
bench::job operations_of(element type) {
  program_of made(type);
  for (const op_row& r : op_rows) {
    const std::string name = r.name;
    if (r.kind == op::cast || r.kind == op::select) continue;
    if (r.arity == 1) made.add("(i)", (r.infix != nullptr ? r.infix : name) + "(x(i))");
    else if (r.infix != nullptr) made.add("(i)", std::string("x(i) ") + r.infix + " z(i)");
    else made.add("(i)", name + "(x(i), z(i))");
  }
  made.add("(i)", "select(x(i) < z(i), x(i), z(i))");
  return made.job("operations");
}
bench::job folds_of(element type) {
  program_of made(type);
  for (const monoid_row& r : monoid_rows) {
    const std::string name = r.name;
    made.add("", name + "(i, x(i))");
    made.add("(i)", name + "(k.in(0, i + 1), x(k))");
    made.add("(i)", name + "(k.in(i, minimum(i + 9, extent(x, 0))), x(k))");
  }
  return made.job("folds");
}

std::vector<std::string> architectures() {
  std::vector<std::string> list;
  const std::vector<std::string> known = runtime::cuda::known_architectures();
  for (const char* const name : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"})
    if (std::find(known.begin(), known.end(), name) != known.end()) list.emplace_back(name);
    else std::printf("this NVRTC does not know %s\n", name);
  return list;
}

bool all_are_wanted() {
  const char* const wanted = std::getenv("SHEAF_TEST_NVRTC");
  return wanted != nullptr && std::string(wanted) == "all";
}

// NVRTC 12 may not know the option, and 13.0 optimises less in all compilations of a process that follow one with it:
// these tests come last.
std::vector<const char*> chosen_options() {
  std::vector<const char*> options(std::begin(cuda::compile_options), std::end(cuda::compile_options));
  if (!all_are_wanted() && runtime::cuda::compiler_version(0).starts_with("13."))
    options.push_back("--Ofast-compile=max");
  return options;
}

std::string trouble_of(const emitted_row& row, const std::string& architecture,
                       const std::vector<const char*>& options) try {
  for (const std::string& text : row.source.texts)
    runtime::cuda::compile_source(text, row.id, architecture, options, 0);
  return "";
} catch (const std::exception& e) {
  return row.id + " for " + architecture + ": " + e.what() + "\n";
}

// Of each job one architecture after the other, or all.
void compile_all(const std::vector<bench::job>& jobs) {
  std::vector<std::string> list;
  try {
    list = architectures();
  } catch (const error& e) {
    GTEST_SKIP() << "NVRTC is not installed, so no kernel was compiled: " << e.what();
  }
  ASSERT_FALSE(list.empty());
  const bool all = all_are_wanted();
  const std::vector<const char*> options = chosen_options();
  std::vector<emitted_row> rows;
  for (const bench::job& j : jobs) rows.emplace_back(j);
  const auto share = [&](std::size_t w) {
    std::string said;
    for (std::size_t n = w; n < rows.size(); n += 2)
      for (std::size_t a = 0; a < list.size(); ++a)
        if (all || n % list.size() == a) said += trouble_of(rows[n], list[a], options);
    return said;
  };
  auto other = std::async(std::launch::async, share, 1);
  EXPECT_EQ(share(0), "");
  EXPECT_EQ(other.get(), "");
}

TEST(compiles, casts_between_all_pairs_of_types) {
  std::vector<bench::job> jobs;
  int pairs = 0;
  for (const element from : all_elements) jobs.push_back(casts_from(from, pairs));
  EXPECT_EQ(pairs, 13 * 13);
  compile_all(jobs);
}
TEST(compiles, operations_of_all_types) {
  std::vector<bench::job> jobs;
  for (const element type : all_elements) jobs.push_back(operations_of(type));
  compile_all(jobs);
}
TEST(compiles, folds_of_all_types) {
  std::vector<bench::job> jobs;
  for (const element type : all_elements) jobs.push_back(folds_of(type));
  compile_all(jobs);
}
// For sm_90 all are counted; here each for another one.
TEST(compiles, the_catalogue) { compile_all(static_rows()); }

}  // namespace

}  // namespace sheaf::test
