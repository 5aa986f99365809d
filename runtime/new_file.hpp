// A file that is not there yet, of this user alone. Shown by tests/runtime/kernel_cache_test.cpp. Private header.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace sheaf::inline v0_1::runtime {

// False, with errno: it is there already, be it a link, or not all was written.
bool write_new_file(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace sheaf::inline v0_1::runtime
