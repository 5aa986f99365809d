// Who can change a file whose content is run: the code generator, cached kernels. Input: a path. Output: nothing, or
// words that say who but root and this user can. Shown by tests/runtime/trust_test.cpp. Private header.
#pragma once
#include <string>

struct stat;

namespace sheaf::inline v0_1::runtime {

// Empty where the owner is root or the effective user and neither group nor others may write; else "others can write
// PATH" or "PATH belongs to user 1000".
std::string others_of(const std::string& path, const struct stat& status);

// The same of a folder, and whether everybody could put another in its place: no folder above may be written by
// everybody, unless it is sticky as /tmp is. A sticky folder itself is not excused: others can add files to it.
std::string others_of_folder(const std::string& path);

// The same of a file, and of the folder in which it really stands. Precondition: an absolute path.
std::string others_of_file(const std::string& path);

}  // namespace sheaf::inline v0_1::runtime
