// What a failed call throws: whose fault it is, which kind, and one sentence. Shown by tests/runtime/error_test.cpp.
#pragma once
#include <cstdint>
#include <exception>

namespace sheaf::inline v0_1 {

enum class fault : std::uint8_t { user, device, internal };

enum class code : std::uint8_t {
  bad_argument,
  extent_mismatch,
  rank_mismatch,
  index_out_of_range,
  empty_reduction,
  bad_setting,
  unsupported,
  out_of_memory,
  io,
  bad_object,
  symbol_not_found,
  codegen_unavailable,
  codegen_failed,
  device_failed,
  not_ready,  // options.wait is false, and the kernel of a call is being compiled
  broken_invariant,
  cancelled,  // of a status alone: a call that was ended throws sheaf::cancelled
};

fault fault_of(code kind);
const char* name_of(code kind);

// "OPERATION: expected EXPECTED, found FOUND"; the last part is left out when found is empty.
//
//   try { step(x = rows, cut = bounds); }
//   catch (const sheaf::error& e) { if (e.fault() == sheaf::fault::user) report(e.what()); }
class error : public std::exception {
 public:
  error(sheaf::code kind, const char* operation, const char* expected, const char* found = "");
  // A sentence of its own.
  error(sheaf::code kind, const char* sentence);
  error(const error& other) noexcept;
  error& operator=(const error& other) noexcept;
  ~error() override;

  sheaf::code code() const noexcept { return kind_; }
  sheaf::fault fault() const noexcept { return fault_of(kind_); }
  const char* what() const noexcept override;

 private:
  struct text;  // counted, because copying an exception must not throw

  sheaf::code kind_;
  text* text_;
};

}  // namespace sheaf::inline v0_1
