// Kernels on disk: a blob of bytes under a key text. Shown by tests/runtime/kernel_cache_test.cpp. Private header.
//
// One file an entry, named by the key's hash. Layout, little-endian: magic "SHEAFKC" and a zero, version (8 bytes), key
// length (8), payload length (8), hash of the payload (16), hash of the 48 bytes before (16), key text, payload.
// The key text is stored and compared, so two keys of one hash cost a rebuild, never a wrong kernel.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime {

// Whether kernels are kept on disk: as the settings say, or not because somebody else could have written them.
enum class cache_state : std::uint8_t { off, read, on, not_trusted };

// Safe to use from several threads and processes at a time: an entry is written beside its place and renamed into it.
// An entry that is damaged, or that somebody else could have written, counts as missing and is written anew; a folder
// that somebody else can write is not used at all (trust.hpp). What goes wrong with the disk is reported at
// SHEAF_DEBUG=1 and otherwise costs only the time to rebuild. Beyond the limit entries are deleted, those first that no
// process has read or written for longest; each process looks at the folder before it stores what may pass the limit.
class kernel_cache {
 public:
  kernel_cache(std::string folder, cache_use use, limit most = {})
      : folder_(std::move(folder)), use_(use), most_(most) {}

  std::optional<std::vector<unsigned char>> find(std::string_view key_text) const;

  // False where nothing was stored. The folder is made, for this user only, when it is missing.
  bool store(std::string_view key_text, const void* bytes, std::size_t size) const;

  // Looks at the folder as it is now; others: who else can write it, where it is not trusted.
  cache_state state(std::string* others = nullptr) const;
  const std::string& folder() const { return folder_; }

  // Where an entry lies or would lie.
  std::string path_of(std::string_view key_text) const;

 private:
  std::string folder_;
  cache_use use_;
  limit most_;
  // What there may be in the folder: as it was seen last, with what was stored since.
  mutable std::mutex counting_;
  mutable std::int64_t count_ = INT64_MAX, bytes_ = INT64_MAX, since_ = 0;

  void keep_within_limit(std::size_t stored) const;
  std::string others() const;
  bool is_trusted() const;
};

// The cache of SHEAF_CACHE_DIR and SHEAF_CACHE.
const kernel_cache& default_kernel_cache();

}  // namespace sheaf::inline v0_1::runtime
