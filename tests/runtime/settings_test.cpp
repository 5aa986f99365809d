#include <sheaf/runtime/settings.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <sheaf/runtime/error.hpp>

namespace {

using namespace sheaf::runtime;

std::map<std::string, std::string> variables;
const char* from_variables(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}
settings read(std::map<std::string, std::string> values) {
  variables = std::move(values);
  return read_settings(from_variables);
}

TEST(settings, defaults_follow_home) {
  const settings s = read({{"HOME", "/home/ada"}});
  EXPECT_EQ(s.cache_dir, "/home/ada/.cache/sheaf");
  EXPECT_EQ(s.cache, cache_use::on);
  EXPECT_GE(s.threads, 1);
  EXPECT_EQ(s.debug, 0);
}

TEST(settings, the_nearest_cache_folder_wins) {
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache_dir, "/x/sheaf");
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir, "/h/.cache/sheaf");
  EXPECT_EQ(read({{"XDG_CACHE_HOME", "/x"}, {"SHEAF_CACHE_DIR", "/own"}}).cache_dir, "/own");
  EXPECT_EQ(read({}).cache, cache_use::off);
}

TEST(settings, values_are_read) {
  const settings s = read({{"SHEAF_THREADS", "3"},
                           {"SHEAF_DEBUG", "2"},
                           {"SHEAF_TARGET", "x86-64-v3"},
                           {"SHEAF_LLVM_PLUGIN", "/p.so"},
                           {"SHEAF_VERIFY", "on"},
                           {"HOME", "/h"},
                           {"SHEAF_CACHE", "read"}});
  EXPECT_EQ(s.threads, 3);
  EXPECT_EQ(s.debug, 2);
  EXPECT_EQ(s.target, "x86-64-v3");
  EXPECT_EQ(s.llvm_plugin, "/p.so");
  EXPECT_TRUE(s.verify);
  EXPECT_EQ(s.cache, cache_use::read);
}

TEST(settings, a_wrong_value_is_an_error_that_names_the_variable) {
  for (const char* value : {"0", "-1", "two", "4x", "100000", "99999999999999999999"}) {
    try {
      read({{"SHEAF_THREADS", value}});
      ADD_FAILURE() << value;
    } catch (const sheaf::error& e) {
      EXPECT_EQ(e.code(), sheaf::code::bad_setting);
      EXPECT_EQ(e.what(), std::string("SHEAF_THREADS: expected a whole number of [1, 1024], found \"") + value + "\"");
    }
  }
  EXPECT_THROW(read({{"SHEAF_CACHE", "maybe"}}), sheaf::error);
  EXPECT_THROW(read({{"SHEAF_VERIFY", "maybe"}}), sheaf::error);
}

// What they name is run, so a process must not choose it by the folder that it is in.
TEST(settings, relative_paths_are_errors) {
  for (const char* name : {"SHEAF_LLVM_PLUGIN", "SHEAF_CACHE_DIR", "SHEAF_CUDA", "SHEAF_NVRTC"}) {
    try {
      read({{name, "./here/x.so"}});
      ADD_FAILURE() << name;
    } catch (const sheaf::error& e) {
      EXPECT_EQ(e.code(), sheaf::code::bad_setting);
      EXPECT_EQ(e.what(), std::string(name) + ": expected an absolute path, found \"./here/x.so\"");
    }
  }
  EXPECT_THROW(read({{"SHEAF_LLVM_PLUGIN", "libsheaf_llvm.so"}}), sheaf::error);
  EXPECT_EQ(read({{"SHEAF_CUDA", "libcuda.so.1"}}).cuda, "libcuda.so.1");
  EXPECT_EQ(read({{"HOME", "relative"}}).cache, cache_use::off);
}

TEST(settings, limits_are_a_number_and_bytes) {
  const auto of = [](const char* text) { return read({{"SHEAF_PROGRAM_LIMIT", text}}).program_limit; };
  EXPECT_EQ(of("12").count, 12);
  EXPECT_EQ(of("12").bytes, of("").bytes);
  EXPECT_EQ(of("2K,3M").count, 2048);
  EXPECT_EQ(of("2K,3M").bytes, 3 << 20);
  EXPECT_EQ(of("1,1000").bytes, 1000);
  for (const char* wrong : {"0", "x", "-1", "1,", ",1", "1,0", "1,2,3", "1,2T", "9000000000G", "1 ,2"})
    EXPECT_THROW(of(wrong), sheaf::error) << wrong;
}

TEST(settings, freed_arrays_are_a_number_of_bytes) {
  EXPECT_EQ(read({}).array_limit, 256 << 20);
  EXPECT_EQ(read({{"SHEAF_ARRAY_LIMIT", "1"}}).array_limit, 1);
  EXPECT_THROW(read({{"SHEAF_ARRAY_LIMIT", "none"}}), sheaf::error);
}

TEST(settings, workspace_is_a_number_of_bytes) {
  EXPECT_EQ(read({{"SHEAF_WORKSPACE_LIMIT", "64M"}}).workspace_limit, 64 << 20);
  EXPECT_THROW(read({{"SHEAF_WORKSPACE_LIMIT", "64,1M"}}), sheaf::error);
  EXPECT_THROW(read({{"SHEAF_WORKSPACE_LIMIT", "none"}}), sheaf::error);
}

TEST(settings, the_table_names_every_variable) {
  const std::string table = settings_table();
  for (const setting_row& row : setting_rows) EXPECT_NE(table.find(row.name), std::string::npos);
}

}  // namespace
