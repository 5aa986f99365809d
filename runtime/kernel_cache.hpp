// Kernels on disk: a blob of bytes under a key text. Shown by tests/runtime/kernel_cache_test.cpp. Private header.
//
// One file an entry, named by the key's hash. Layout, little-endian: magic "SHEAFKC" and a zero, version (8 bytes), key
// length (8), payload length (8), hash of the payload (16), hash of the 48 bytes before (16), key text, payload.
// The key text is stored and compared, so two keys of one hash cost a rebuild, never a wrong kernel.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/runtime/settings.hpp>

namespace sheaf::runtime {

// Safe to use from several threads and processes at a time: an entry is written beside its place and renamed into it.
// An entry that is damaged, or that somebody else could have written, counts as missing and is written anew; what goes
// wrong with the disk is reported at SHEAF_DEBUG=1 and otherwise costs only the time to rebuild. No limit on the size.
class kernel_cache {
 public:
  kernel_cache(std::string folder, cache_use use) : folder_(std::move(folder)), use_(use) {}

  std::optional<std::vector<unsigned char>> find(std::string_view key_text) const;

  // False where nothing was stored. The folder is made, for this user only, when it is missing.
  bool store(std::string_view key_text, const void* bytes, std::size_t size) const;

  // Where an entry lies or would lie.
  std::string path_of(std::string_view key_text) const;

 private:
  std::string folder_;
  cache_use use_;
};

// The cache of SHEAF_CACHE_DIR and SHEAF_CACHE.
const kernel_cache& default_kernel_cache();

}  // namespace sheaf::runtime
