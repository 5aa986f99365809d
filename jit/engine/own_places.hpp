// Where this copy of Sheaf is: the folders that may hold what belongs to it. Shown by tests/plugin/places.sh. Private
// header.
#pragma once
#include <string>
#include <vector>

namespace sheaf::inline v0_1::jit {

// Absolute folders, likeliest first: that of the library or program into which this code is linked, as the kernel has
// it loaded, wherever the process was since; those that a prefix pairs with it (../lib); then the same of the prefix
// whose headers made a program.
std::vector<std::string> own_places();
// See note_headers in program.hpp; a relative path says nothing.
void add_headers(std::string path);

}  // namespace sheaf::inline v0_1::jit
