#include <sheaf/runtime/kernel_cache.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <sheaf/runtime/hash.hpp>
#include <sheaf/runtime/new_file.hpp>
#include <sheaf/runtime/trust.hpp>

namespace sheaf::inline v0_1::runtime {
namespace {

constexpr char magic[8] = "SHEAFKC";
constexpr std::uint64_t version = 1;
constexpr std::uint64_t largest_entry = std::uint64_t{256} << 20;

struct entry_header {
  char magic[8];
  std::uint64_t version;
  std::uint64_t key_bytes;
  std::uint64_t payload_bytes;
  hash128 payload_hash;
  hash128 header_hash;  // of all fields above
};
static_assert(sizeof(entry_header) == 64 && std::endian::native == std::endian::little);
constexpr std::size_t hashed_header_bytes = offsetof(entry_header, header_hash);

entry_header header_of(std::string_view key_text, const void* bytes, std::size_t size) {
  entry_header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.key_bytes = key_text.size();
  header.payload_bytes = size;
  header.payload_hash = hash_bytes(bytes, size);
  header.header_hash = hash_bytes(&header, hashed_header_bytes);
  return header;
}

class open_file {
 public:
  open_file(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~open_file() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool read_all(void* to, std::size_t size) {
    auto* at = static_cast<char*>(to);
    while (size > 0) {
      const ssize_t got = read(descriptor_, at, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
};

void report(const char* what, const std::string& path, const char* why) {
  debug_line(1, std::string("kernel cache: ") + what + " " + path + ": " + why);
}

// Null when the header is whole and describes a file of this size, else what is wrong with it.
const char* flaw_of(const entry_header& header, std::uint64_t file_bytes) {
  if (std::memcmp(header.magic, magic, sizeof magic) != 0) return "another kind of file";
  if (header.version != version) return "another version";
  if (header.header_hash != hash_bytes(&header, hashed_header_bytes)) return "a damaged header";
  if (header.key_bytes > largest_entry || header.payload_bytes > largest_entry) return "too large";
  if (sizeof header + header.key_bytes + header.payload_bytes != file_bytes) return "a wrong length";
  return nullptr;
}

// Null when payload was filled.
const char* read_entry(open_file& file, std::string_view key_text, std::vector<unsigned char>& payload) {
  struct stat status;
  if (fstat(file.descriptor(), &status) != 0) return std::strerror(errno);
  // What is found here is run: a file that another user could have written is not.
  if (!S_ISREG(status.st_mode) || !others_of("", status).empty()) return "not only this user can write it";
  entry_header header;
  if (!file.read_all(&header, sizeof header)) return "too short";
  if (const char* flaw = flaw_of(header, static_cast<std::uint64_t>(status.st_size))) return flaw;
  if (header.key_bytes != key_text.size()) return "another key of the same hash";
  std::string stored(key_text.size(), '\0');
  if (!file.read_all(stored.data(), stored.size())) return "too short";
  if (stored != key_text) return "another key of the same hash";
  payload.resize(header.payload_bytes);
  if (!file.read_all(payload.data(), payload.size())) return "too short";
  if (hash_bytes(payload.data(), payload.size()) != header.payload_hash) return "a damaged payload";
  return nullptr;
}

struct cached_file {
  std::string path;
  std::int64_t bytes = 0, used = 0;  // used: nanoseconds
};

// Entries, and what a process left that ended as it wrote one.
std::vector<cached_file> files_of(const std::string& folder) {
  std::vector<cached_file> files;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return files;
  while (const dirent* e = readdir(open)) {
    const std::string_view name = e->d_name;
    struct stat status;
    if (!name.ends_with(".kernel") && !(name.ends_with(".tmp") && name.find(".kernel.") != name.npos)) continue;
    if (fstatat(dirfd(open), e->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    files.push_back({folder + "/" + e->d_name, static_cast<std::int64_t>(status.st_size),
                     std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec});
  }
  closedir(open);
  return files;
}

bool make_folders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const std::size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  if (!make_folders(path.substr(0, slash))) return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

// Unique among the threads of this process by the counter, among processes by their number.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + "." + std::to_string(getpid()) + "." + std::to_string(counter.fetch_add(1)) + ".tmp";
}

bool write_entry(const std::string& path, std::string_view key_text, const void* bytes, std::size_t size) {
  const entry_header header = header_of(key_text, bytes, size);
  return write_new_file(path, {{reinterpret_cast<const char*>(&header), sizeof header},
                               key_text,
                               {static_cast<const char*>(bytes), size}});
}

}  // namespace

// What other processes store is seen after each sixteenth of the limit that this one has stored.
void kernel_cache::keep_within_limit(std::size_t stored) const {
  const std::lock_guard guard(counting_);
  const auto size = static_cast<std::int64_t>(stored);
  since_ += size;
  if (count_ < most_.count && bytes_ <= most_.bytes - size && since_ <= most_.bytes / 16) {
    ++count_, bytes_ += size;
    return;
  }
  std::vector<cached_file> files = files_of(folder_);
  count_ = static_cast<std::int64_t>(files.size());
  bytes_ = since_ = 0;
  for (const cached_file& f : files) bytes_ += f.bytes;
  if (!most_.is_passed_by(count_, bytes_)) return;
  // A quarter is left free: else each entry stored would cost a look at all.
  std::sort(files.begin(), files.end(), [](const cached_file& a, const cached_file& b) { return a.used < b.used; });
  for (const cached_file& f : files) {
    if (count_ <= most_.count / 4 * 3 && bytes_ <= most_.bytes / 4 * 3) break;
    if (unlink(f.path.c_str()) == 0 || errno == ENOENT) --count_, bytes_ -= f.bytes;
  }
}

std::string kernel_cache::path_of(std::string_view key_text) const {
  return folder_ + "/" + hex_of(hash_bytes(key_text.data(), key_text.size())) + ".kernel";
}

// A folder that is not there yet is made for this user only, below one that need not be trusted.
std::string kernel_cache::others() const {
  struct stat status;
  return stat(folder_.c_str(), &status) != 0 && errno == ENOENT ? "" : others_of_folder(folder_);
}

bool kernel_cache::is_trusted() const {
  const std::string who = others();
  if (!who.empty()) report("not used:", folder_, who.c_str());
  return who.empty();
}

cache_state kernel_cache::state(std::string* who) const {
  if (use_ == cache_use::off) return cache_state::off;
  const std::string found = others();
  if (who != nullptr) *who = found;
  if (!found.empty()) return cache_state::not_trusted;
  return use_ == cache_use::read ? cache_state::read : cache_state::on;
}

std::optional<std::vector<unsigned char>> kernel_cache::find(std::string_view key_text) const {
  if (use_ == cache_use::off || !is_trusted()) return std::nullopt;
  const std::string path = path_of(key_text);
  open_file file(path, O_RDONLY);
  if (!file) {
    if (errno != ENOENT) report("cannot read", path, std::strerror(errno));
    return std::nullopt;
  }
  std::vector<unsigned char> payload;
  if (const char* flaw = read_entry(file, key_text, payload)) {
    report("ignored", path, flaw);
    return std::nullopt;
  }
  // The time of its file says when it was used; it need not be exact.
  constexpr time_t exact = 60;
  struct stat status;
  if (use_ == cache_use::on && fstat(file.descriptor(), &status) == 0 && status.st_mtime < time(nullptr) - exact)
    futimens(file.descriptor(), nullptr);
  return payload;
}

bool kernel_cache::store(std::string_view key_text, const void* bytes, std::size_t size) const {
  if (use_ != cache_use::on) return false;
  if (size > largest_entry || key_text.size() > largest_entry) return false;
  if (!make_folders(folder_)) {
    report("cannot make", folder_, std::strerror(errno));
    return false;
  }
  if (!is_trusted()) return false;
  const std::string path = path_of(key_text);
  const std::string temporary = temporary_name(path);
  if (write_entry(temporary, key_text, bytes, size) && std::rename(temporary.c_str(), path.c_str()) == 0) {
    keep_within_limit(sizeof(entry_header) + key_text.size() + size);
    return true;
  }
  report("cannot write", path, std::strerror(errno));
  unlink(temporary.c_str());
  return false;
}

const kernel_cache& default_kernel_cache() {
  const settings& s = current_settings();
  static const kernel_cache cache(s.cache_dir, s.cache, s.cache_limit);
  return cache;
}

}  // namespace sheaf::inline v0_1::runtime
