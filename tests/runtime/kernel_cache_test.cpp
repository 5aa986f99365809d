#include <sheaf/runtime/kernel_cache.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "temporary_folder.hpp"

namespace {

using sheaf::runtime::cache_state;
using sheaf::runtime::cache_use;
using sheaf::runtime::kernel_cache;
using bytes = std::vector<unsigned char>;

bytes some_bytes(std::size_t size, unsigned seed) {
  bytes result(size);
  for (auto& one : result) one = static_cast<unsigned char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return result;
}

bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return bytes(std::istreambuf_iterator<char>(in), {});
}

void write_file(const std::string& path, const bytes& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

struct KernelCache : testing::Test {
  temporary_folder folder;
  kernel_cache cache{folder.path() + "/deep/er", cache_use::on};
  const std::string key = "graph f32 x86-64-v3";
  const bytes blob = some_bytes(20'000, 1);

  void store() { ASSERT_TRUE(cache.store(key, blob.data(), blob.size())); }
};

TEST_F(KernelCache, finds_what_was_stored) {
  EXPECT_FALSE(cache.find(key));
  store();
  EXPECT_EQ(cache.find(key), blob);
  EXPECT_FALSE(cache.find(key + " "));
  const kernel_cache again(folder.path() + "/deep/er", cache_use::read);
  EXPECT_EQ(again.find(key), blob);
  EXPECT_TRUE(cache.store("", nullptr, 0));
  EXPECT_EQ(cache.find(""), bytes());
}

TEST_F(KernelCache, replaces_an_entry_and_leaves_no_other_file) {
  store();
  const bytes other = some_bytes(100, 2);
  ASSERT_TRUE(cache.store(key, other.data(), other.size()));
  EXPECT_EQ(cache.find(key), other);
  const std::filesystem::directory_iterator files(folder.path() + "/deep/er");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(KernelCache, any_flipped_bit_is_noticed) {
  store();
  const std::string path = cache.path_of(key);
  const bytes whole = read_file(path);
  ASSERT_EQ(whole.size(), 64 + key.size() + blob.size());
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 97) {
    bytes damaged = whole;
    damaged[at] ^= static_cast<unsigned char>(1 << at % 8);
    write_file(path, damaged);
    EXPECT_FALSE(cache.find(key)) << at;
  }
  store();
  EXPECT_EQ(cache.find(key), blob);
}

TEST_F(KernelCache, truncated_and_lengthened_entries_are_ignored) {
  store();
  const std::string path = cache.path_of(key);
  const bytes whole = read_file(path);
  for (const std::size_t size : {0ul, 1ul, 63ul, 64ul, 70ul, whole.size() - 1}) {
    write_file(path, bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_FALSE(cache.find(key)) << size;
  }
  bytes longer = whole;
  longer.push_back(0);
  write_file(path, longer);
  EXPECT_FALSE(cache.find(key));
}

TEST_F(KernelCache, a_collision_is_a_miss_and_never_another_kernel) {
  const std::string other = "graph f64 x86-64-v3";  // of the same length, as the nastier case
  const bytes others = some_bytes(500, 3);
  ASSERT_TRUE(cache.store(other, others.data(), others.size()));
  std::filesystem::rename(cache.path_of(other), cache.path_of(key));  // as if both texts had one hash
  EXPECT_FALSE(cache.find(key));
  store();
  EXPECT_EQ(cache.find(key), blob);
}

TEST_F(KernelCache, a_file_that_others_can_write_is_not_used) {
  store();
  ASSERT_EQ(chmod(cache.path_of(key).c_str(), 0622), 0);
  EXPECT_FALSE(cache.find(key));
  ASSERT_EQ(chmod(cache.path_of(key).c_str(), 0644), 0);
  EXPECT_EQ(cache.find(key), blob);
}

TEST_F(KernelCache, a_folder_that_others_can_write_is_not_used) {
  store();
  EXPECT_EQ(cache.state(), cache_state::on);
  for (const mode_t mode : {0777, 0775, 01777}) {
    ASSERT_EQ(chmod((folder.path() + "/deep/er").c_str(), mode), 0);
    EXPECT_EQ(cache.state(), cache_state::not_trusted);
    EXPECT_FALSE(cache.find(key));
    EXPECT_FALSE(cache.store("another", blob.data(), blob.size()));
  }
  ASSERT_EQ(chmod((folder.path() + "/deep/er").c_str(), 0755), 0);
  EXPECT_EQ(cache.find(key), blob);
  EXPECT_FALSE(cache.find("another"));
  EXPECT_EQ(kernel_cache(folder.path() + "/deep/er", cache_use::read).state(), cache_state::read);
  EXPECT_EQ(kernel_cache(folder.path(), cache_use::off).state(), cache_state::off);
}

TEST_F(KernelCache, a_file_of_another_user_is_not_used) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  store();
  ASSERT_EQ(chown(cache.path_of(key).c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(cache.find(key));
}

TEST_F(KernelCache, many_writers_and_readers) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned writer = 0; writer < 4; ++writer)
    threads.emplace_back([&, writer] {
      const bytes mine = some_bytes(5000 + writer, 7);  // each writer's is a prefix of the next one's
      for (int round = 0; round < 100; ++round) {
        wrong += !cache.store(key, mine.data(), mine.size());
        const auto found = cache.find(key);
        wrong += !found || found->size() < 5000 || *found != some_bytes(found->size(), 7);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(KernelCache, failing_to_write_is_no_error) {
  write_file(folder.path() + "/file", {1});
  const kernel_cache blocked(folder.path() + "/file/below", cache_use::on);
  EXPECT_FALSE(blocked.store(key, blob.data(), blob.size()));
  EXPECT_FALSE(blocked.find(key));
}

TEST_F(KernelCache, off_and_read_do_not_write) {
  for (const cache_use use : {cache_use::off, cache_use::read}) {
    const kernel_cache quiet(folder.path() + "/quiet", use);
    EXPECT_FALSE(quiet.store(key, blob.data(), blob.size()));
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/quiet"));
  }
  store();
  EXPECT_FALSE(kernel_cache(folder.path() + "/deep/er", cache_use::off).find(key));
}

// Entries of a folder whose names end so.
int count_in(const std::string& folder) {
  int n = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder)) n += e.is_regular_file();
  return n;
}
void set_age(const std::string& file, int hours) {
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST_F(KernelCache, what_was_not_used_for_longest_is_deleted) {
  const std::string own = folder.path() + "/few";
  const kernel_cache few(own, cache_use::on, {8, INT64_MAX});
  for (int k = 0; k < 8; ++k) {
    ASSERT_TRUE(few.store(std::to_string(k), blob.data(), blob.size()));
    set_age(few.path_of(std::to_string(k)), 100 - k);
  }
  write_file(own + "/another file", {1});
  write_file(own + "/00.kernel.7.0.tmp", {1});  // of a process that ended as it wrote
  set_age(own + "/00.kernel.7.0.tmp", 1000);
  EXPECT_TRUE(few.find("0"));  // used now
  ASSERT_TRUE(few.store("8", blob.data(), blob.size()));
  EXPECT_TRUE(few.find("0"));
  EXPECT_FALSE(few.find("1"));
  EXPECT_TRUE(few.find("7"));
  EXPECT_TRUE(few.find("8"));
  EXPECT_FALSE(std::filesystem::exists(own + "/00.kernel.7.0.tmp"));
  EXPECT_TRUE(std::filesystem::exists(own + "/another file"));
  for (int k = 9; k < 100; ++k) {
    ASSERT_TRUE(few.store(std::to_string(k), blob.data(), blob.size()));
    EXPECT_LE(count_in(own), 9);
  }
}

TEST_F(KernelCache, bytes_are_limited) {
  const std::string own = folder.path() + "/small";
  const auto entry = static_cast<std::int64_t>(blob.size() + 200);
  const kernel_cache small(own, cache_use::on, {INT64_MAX, 20 * entry});
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(small.store(std::to_string(k), blob.data(), blob.size()));
  EXPECT_LE(count_in(own), 20);
  EXPECT_GE(count_in(own), 10);
  EXPECT_TRUE(small.find("199"));
}

}  // namespace
