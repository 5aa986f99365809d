// Pass `library`: a C99 header and one of C++ over it, one C file, a manifest and an object for each target, from
// planned programs.
// Shown by tests/aot/ahead.sh.
#pragma once
#include <string>
#include <vector>

#include <sheaf/aot/gpu_code.hpp>

namespace sheaf::inline v0_1::aot {

struct library {
  std::string name;    // what its functions begin with
  std::vector<const target::build_target*> targets;  // of one architecture, least first
  const target::build_system* system = &target::build_systems[0];
  std::vector<planned_program> programs;  // for these; none without them
  // The same for GPUs.
  std::vector<gpu_target> gpu_targets = {};  // least first
  std::vector<planned_program> gpu_programs = {};
  std::vector<std::vector<gpu_code>> gpu_codes = {};  // by program
  std::vector<gpu_image> images = {};

  const std::vector<planned_program>& kernels() const { return targets.empty() ? gpu_programs : programs; }
  std::vector<std::string> target_names() const;
};

std::string header_of(const library& l);
std::string views_of(const library& l);  // a C++ header over it
std::string source_of(const library& l);
std::string manifest_of(const library& l);
// C with the images of kernels for GPUs.
std::string images_of(const library& l);
// The kernels of all programs for a target. Throws std::runtime_error with the generator's words. With `listing` it has
// debug information, whose lines are those of that text, in listing_name.
std::string object_of(const library& l, const target::build_target& on, std::string* listing = nullptr);
std::string listing_name(const library& l, const target::build_target& on);

// The function of a program's code for a target.
std::string entry_name(const library& l, const planned_program& p, std::size_t code, const target::build_target& on);

}  // namespace sheaf::inline v0_1::aot
