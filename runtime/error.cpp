#include <sheaf/runtime/error.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace sheaf::inline v0_1 {
namespace {

struct code_row {
  code kind;
  const char* name;
  fault whose;
};

constexpr code_row code_rows[] = {
    {code::bad_argument, "bad_argument", fault::user},
    {code::extent_mismatch, "extent_mismatch", fault::user},
    {code::rank_mismatch, "rank_mismatch", fault::user},
    {code::index_out_of_range, "index_out_of_range", fault::user},
    {code::empty_reduction, "empty_reduction", fault::user},
    {code::bad_setting, "bad_setting", fault::user},
    {code::unsupported, "unsupported", fault::user},
    {code::out_of_memory, "out_of_memory", fault::device},
    {code::io, "io", fault::device},
    {code::bad_object, "bad_object", fault::internal},
    {code::symbol_not_found, "symbol_not_found", fault::internal},
    {code::codegen_unavailable, "codegen_unavailable", fault::device},
    {code::codegen_failed, "codegen_failed", fault::internal},
    {code::device_failed, "device_failed", fault::device},
    {code::not_ready, "not_ready", fault::device},
    {code::broken_invariant, "broken_invariant", fault::internal},
    {code::cancelled, "cancelled", fault::user},
};

constexpr bool rows_follow_the_enumeration() {
  int expected = 0;
  for (const code_row& row : code_rows)
    if (static_cast<int>(row.kind) != expected++) return false;
  return expected == static_cast<int>(code::cancelled) + 1;
}
static_assert(rows_follow_the_enumeration());

}  // namespace

fault fault_of(code kind) { return code_rows[static_cast<int>(kind)].whose; }
const char* name_of(code kind) { return code_rows[static_cast<int>(kind)].name; }

struct error::text {
  std::string words;
  std::atomic<int> owners{1};
};

error::error(sheaf::code kind, const char* operation, const char* expected, const char* found) : kind_(kind) {
  std::string words = std::string(operation) + ": expected " + expected;
  if (*found) words += std::string(", found ") + found;
  text_ = new text{std::move(words)};
}

error::error(sheaf::code kind, const char* sentence) : kind_(kind), text_(new text{sentence}) {}

error::error(const error& other) noexcept : std::exception(other), kind_(other.kind_), text_(other.text_) {
  text_->owners.fetch_add(1, std::memory_order_relaxed);
}

error& error::operator=(const error& other) noexcept {
  error copy(other);
  std::swap(kind_, copy.kind_);
  std::swap(text_, copy.text_);
  return *this;
}

error::~error() {
  if (text_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete text_;
}

const char* error::what() const noexcept { return text_->words.c_str(); }

}  // namespace sheaf::inline v0_1
