// What is launched for a call on a GPU, as C tables for aot/runtime/gpu.c. Shown by tests/aot/gpu.sh.
#include <sheaf/aot/tables.hpp>

#include <algorithm>
#include <map>

namespace sheaf::inline v0_1::aot {

namespace {

// Values of a kernel that are made of constants and extents, as rows of expressions; -1: they depend on data.
class closed_rows {
 public:
  closed_rows(const ir::module& m, const ir::kernel& k, expression_rows& rows) : m_(m), k_(k), rows_(rows) {}

  int value(ir::value v) const {
    const ir::instruction& i = k_.instructions[static_cast<std::size_t>(v)];
    if (is_floating(i.type)) return -1;
    if (i.code == ir::opcode::constant) return rows_.constant(i.bits);
    if (i.code == ir::opcode::extent) {
      const ir::buffer& b = m_.buffers[static_cast<std::size_t>(i.target)];
      const auto d = static_cast<std::size_t>(i.dimension);
      if (d < b.extents.size() && b.extents[d] >= 0) return rows_.constant(b.extents[d]);
      return b.slot < 0 ? -1 : rows_.extent(b.slot, i.dimension);
    }
    if (i.code != ir::opcode::elementwise || i.vector || row(i.what).integer == nullptr) return -1;
    std::vector<int> list;
    for (const ir::value a : i.args) {
      list.push_back(value(a));
      if (list.back() < 0) return -1;
    }
    return rows_.applied(i.what, list);
  }

  // How many tiles a launch has: the product of its loops' iterations.
  int tiles(const cuda::launch& l) const {
    int all = l.loops.empty() ? -1 : rows_.constant(1);
    for (const cuda::tile_loop& loop : l.loops) {
      const int low = value(loop.low), high = value(loop.high);
      if (low < 0 || high < 0) return -1;
      int count = rows_.applied(op::maximum, {rows_.applied(op::sub, {high, low}), rows_.constant(0)});
      if (loop.lanes > 1) {
        count = rows_.applied(op::add, {count, rows_.constant(loop.lanes - 1)});
        count = rows_.applied(op::quotient, {count, rows_.constant(loop.lanes)});
      }
      all = rows_.applied(op::mul, {all, count});
    }
    return all;
  }

 private:
  const ir::module& m_;
  const ir::kernel& k_;
  expression_rows& rows_;
};

std::string list_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += decimal(n) + ", ";
  return text;
}

class launch_writer {
 public:
  launch_writer(const planned_program& p, const std::string& name, expression_rows& rows, call_sizes& sizes)
      : p_(p), name_(name), rows_(rows), sizes_(sizes) {}

  std::string write(const std::vector<gpu_code>& codes) {
    std::string text, list = "static const sk_gpu_code sk_codes_" + name_ + "[] = {\n";
    for (std::size_t k = 0; k < codes.size(); ++k) list += code(codes[k], k, text);
    return text + list + "    {{0, 0, NULL}, 0, 0, 0, NULL}};\n";
  }

 private:
  std::string words(const cuda::source& s, const std::string& name, std::string& tables) {
    tables += "static const int32_t " + name + "[] = {" + list_of(s.first_word) + "0};\n";
    sizes_.words = std::max(sizes_.words, s.words);
    return "{" + decimal(s.words) + ", " + decimal(static_cast<int>(s.first_word.size())) + ", " + name + "}";
  }

  std::string code(const gpu_code& c, std::size_t number, std::string& tables) {
    const std::string suffix = name_ + "_" + decimal(static_cast<int>(number));
    const ir::module& m = p_.codes[number];
    std::string list = "static const sk_launch sk_launches_" + suffix + "[] = {\n";
    std::map<const ir::shared_call*, int> told;  // where what a call is told begins
    int next = 0;
    for (const ir::kernel& k : m.kernels)
      if (k.call != nullptr) told[k.call.get()] = next, next += static_cast<int>(k.call->formulas.size());
    sizes_.told = std::max(sizes_.told, next);
    for (std::size_t n = 0; n < c.source.launches.size(); ++n) {
      const cuda::launch& l = c.source.launches[n];
      const std::string shared = l.of == nullptr ? "NULL" : "&sk_shared_" + suffix + "_" + decimal(static_cast<int>(n));
      const ir::shared_call* call =
          l.of == nullptr ? nullptr : m.kernels[static_cast<std::size_t>(l.caller)].call.get();
      if (call != nullptr) tables += shared_row(l, shared.substr(1), told.at(call));
      const ir::module& of = call != nullptr ? call->of->code : m;
      const int tiles = closed_rows(of, of.kernels[static_cast<std::size_t>(l.first)], rows_).tiles(l);
      list += "    {\"" + l.name + "\", " + list_of({c.images[n], l.threads, l.tiles, l.single, tiles}) +
              decimal(l.shared_bytes) + ", " + decimal(l.scratch_bytes) + ", " + shared + "},\n";
    }
    sizes_.launches = std::max(sizes_.launches, static_cast<int>(c.source.launches.size()));
    tables += list + "    {NULL, 0, 0, 0, 0, 0, 0, 0, NULL}};\n";
    return "    {" + words(c.source, "sk_first_words_" + suffix, tables) + ", " +
           list_of({c.source.arrivals, c.source.by_pointer, static_cast<int>(c.source.launches.size())}) +
           "sk_launches_" + suffix + "},\n";
  }

  std::string shared_row(const cuda::launch& l, const std::string& name, int told) {
    std::string text;
    const std::string of = words(*l.of, name + "_words", text);
    return text + "static const int32_t " + name + "_slots[] = {" + list_of(l.slots) + "0};\nstatic const sk_shared " +
           name + " = {" + of + ", " + decimal(static_cast<int>(l.slots.size())) + ", " +
           decimal(static_cast<int>(l.numbers.size())) + ", " + decimal(told) + ", " + name + "_slots};\n";
  }

  const planned_program& p_;
  const std::string name_;
  expression_rows& rows_;
  call_sizes& sizes_;
};

}  // namespace

std::string gpu_tables(const planned_program& p, const std::vector<gpu_code>& codes, const std::string& name,
                       expression_rows& rows, call_sizes& sizes) {
  return launch_writer(p, name, rows, sizes).write(codes);
}

}  // namespace sheaf::inline v0_1::aot
