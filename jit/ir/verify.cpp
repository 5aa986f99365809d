#include <sheaf/jit/ir/verify.hpp>

#include <string>

#include <sheaf/jit/ir/verifier.hpp>

namespace sheaf::ir {
namespace {

constexpr std::int64_t local_bytes = 256 * 1024;

void check_buffer(const module& m, const buffer& b) {
  auto fail = [&](const char* rule, const std::string& why) {
    throw bad_ir(std::string(rule) + ": module " + m.name + ", buffer " + b.name + ": " + why);
  };
  if (b.rank < 0) fail("module_shape", "negative rank");
  if (!b.extents.empty() && static_cast<int>(b.extents.size()) != b.rank)
    fail("module_shape", "extents are not as many as dimensions");
  if (b.where == role::check && (b.rank != 0 || b.type != element::i64))
    fail("module_shape", "a check is an i64 of rank 0");
  if (b.where != role::local) {
    if (b.slot < 0) fail("module_shape", "no slot");
    return;
  }
  if (b.elements <= 0 || b.elements * row(b.type).bytes > local_bytes) fail("local_size", "expected 1 byte to 256 KiB");
  if (b.rank == 1 && b.extents.empty()) return;
  std::int64_t product = 1;
  for (std::int64_t e : b.extents) product *= e < 0 ? 0 : e;
  if (b.extents.empty() || product != b.elements) fail("local_size", "extents do not multiply to its elements");
}

}  // namespace

void verify(const module& m) {
  for (const buffer& b : m.buffers) check_buffer(m, b);
  check_folds(m);
  bool outputs = false;
  for (const kernel& k : m.kernels) {
    kernel_verifier verifier(m, k);
    const bool checks = verifier.run();
    if (checks && (outputs || verifier.stores_output()))
      throw bad_ir("check_order: kernel " + k.name +
                   ": expected checks before all that stores to an output, in kernels that store to none");
    outputs |= verifier.stores_output();
  }
}

}  // namespace sheaf::ir
