// From how many bytes on data is taken to come from where.
#pragma once

namespace sheaf::inline v0_1::ir {

// What is at least as large comes from there.
struct bytes_of_caches {
  double from_last_cache, from_memory;
};

}  // namespace sheaf::inline v0_1::ir
