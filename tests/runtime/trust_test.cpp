#include <sheaf/runtime/trust.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"

namespace {

using sheaf::runtime::others_of_file;
using sheaf::runtime::others_of_folder;

struct trust : testing::Test {
  temporary_folder folder;
  const std::string inner = folder.path() + "/inner", file = inner + "/file";

  trust() {
    std::filesystem::create_directory(inner);
    std::ofstream(file) << "code";
    set(inner, 0755), set(file, 0644);
  }
  void set(const std::string& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0); }
};

TEST_F(trust, of_what_only_this_user_can_write) {
  EXPECT_EQ(others_of_file(file), "");
  EXPECT_EQ(others_of_folder(inner), "");
}

TEST_F(trust, files_and_folders_that_others_can_write) {
  for (const mode_t bit : {S_IWGRP, S_IWOTH}) {
    set(file, 0644 | bit);
    EXPECT_EQ(others_of_file(file), "others can write " + file);
    set(file, 0644), set(inner, 0755 | bit);
    EXPECT_EQ(others_of_file(file), "others can write " + inner);
    EXPECT_EQ(others_of_folder(inner), "others can write " + inner);
    set(inner, 0755);
  }
  set(inner, 01777);
  EXPECT_EQ(others_of_folder(inner), "others can write " + inner) << "others can add files to a sticky folder";
}

// /tmp above is sticky: what is in it stays where it is.
TEST_F(trust, folders_above_that_everybody_can_write) {
  set(folder.path(), 0777);
  EXPECT_EQ(others_of_file(file), "others can write " + folder.path());
  set(folder.path(), 01777);
  EXPECT_EQ(others_of_file(file), "");
  set(folder.path(), 0700);
}

TEST_F(trust, links_are_followed) {
  set(inner, 0777);
  std::filesystem::create_symlink(file, folder.path() + "/link");
  EXPECT_EQ(others_of_file(folder.path() + "/link"), "others can write " + inner);
  set(inner, 0755);
  EXPECT_EQ(others_of_file(folder.path() + "/link"), "");
}

TEST_F(trust, what_belongs_to_somebody_else) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(file.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(others_of_file(file), file + " belongs to user 12345");
  ASSERT_EQ(chown(file.c_str(), 0, static_cast<gid_t>(-1)), 0);
  ASSERT_EQ(chown(inner.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(others_of_file(file), inner + " belongs to user 12345");
}

TEST_F(trust, what_is_not_there) {
  EXPECT_EQ(others_of_file(inner + "/none"), "cannot look at " + inner + "/none: No such file or directory");
  EXPECT_EQ(others_of_file(inner), inner + " is no file");
  EXPECT_EQ(others_of_folder(file), file + " is no folder");
}

}  // namespace
