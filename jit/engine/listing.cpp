#include <sheaf/jit/engine/listing.hpp>

#include <cstdlib>
#include <mutex>
#include <unistd.h>

#include <sheaf/runtime/new_file.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// A folder that nobody else can write, of this process: the child of a fork has another one.
std::string own_folder() {
  static std::mutex lock;
  static std::string& folder = *new std::string;
  static pid_t of = 0;
  const std::lock_guard guard(lock);
  if (const pid_t me = getpid(); of != me) {
    of = me;
    std::string name = "/tmp/sheaf-" + std::to_string(me) + "-XXXXXX";
    folder = mkdtemp(name.data()) != nullptr ? name : "";
    if (folder.empty()) runtime::debug_line(1, name + ": cannot be made; debuggers see no lines of kernels");
  }
  return folder;
}

std::string new_name(const std::string& of) {
  static std::mutex lock;
  static int made = 0;
  const std::lock_guard guard(lock);
  return of + "." + std::to_string(made++) + ".ir";
}

}  // namespace

bool lists_kernels() {
  using runtime::symbol_use;
  const symbol_use wanted = runtime::current_settings().symbols;
  return wanted == symbol_use::gdb || wanted == symbol_use::on || wanted == symbol_use::jitdump;
}

std::optional<ir::listing> listing_for(const ir::module& module) {
  if (!lists_kernels()) return std::nullopt;
  ir::listing list = ir::print_with_lines(module);
  list.folder = own_folder();
  list.file = list.folder + "/" + new_name(module.name);  // whole: not all readers know the folder of a unit
  if (list.folder.empty() || !runtime::write_new_file(list.file, {list.text})) return std::nullopt;
  return list;
}

}  // namespace sheaf::inline v0_1::jit
