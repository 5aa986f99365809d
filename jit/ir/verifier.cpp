#include <algorithm>
#include <bit>
#include <utility>

#include <sheaf/jit/ir/verifier.hpp>

namespace sheaf::inline v0_1::ir {
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

bool kernel_verifier::run() {
  parallel_at_top();
  walk(k_.body, true);
  return stores_check_;
}

void kernel_verifier::parallel_at_top() {
  for (std::size_t n = 0; n < k_.body.size(); ++n) {
    if (k_.body[n].kind != statement_kind::loop || k_.body[n].how_loop != loop_kind::parallel) continue;
    place_ = "parallel loop";
    require(n + 1 == k_.body.size(), "parallel_at_top", "expected nothing after it");
    for (std::size_t before = 0; before < n; ++before) {
      const statement& s = k_.body[before];
      const bool instruct =
          s.kind == statement_kind::instruct && s.id >= 0 && s.id < static_cast<value>(k_.instructions.size());
      require(instruct && at(s.id).code != opcode::accumulator, "parallel_at_top",
              "expected only pure instructions before it");
    }
  }
  place_ = nullptr;
}

void kernel_verifier::walk(const block& body, bool top) {
  std::vector<value> mine;
  for (const statement& s : body) {
    current_ = none;
    place_ = nullptr;
    switch (s.kind) {
      case statement_kind::instruct:
        instruct(s.id);
        mine.push_back(s.id);
        break;
      case statement_kind::loop:
        loop(s, top);
        break;
      case statement_kind::guard:
        guard(s);
        break;
      case statement_kind::store:
        store(s);
        break;
      case statement_kind::prefetch:
        place_ = "prefetch";
        require(s.how == access::contiguous || s.how == access::uniform || s.how == access::transposed, "access_kind",
                "expected contiguous or transposed lanes, or one element");
        subscripts(target_buffer(s.target), s.subscripts, s.how, unit_inner(target_buffer(s.target)));
        break;
      case statement_kind::combine:
        combine(s);
        break;
      case statement_kind::append:
        append(s);
        break;
      case statement_kind::copy:
        copy(s);
        break;
      case statement_kind::await:
        place_ = "await";
        require(lanes_ != 0, "group_tile", "expected lanes that wait");
        break;
      case statement_kind::mma:
        mma(s);
        break;
    }
  }
  for (value v : mine) visible_[static_cast<std::size_t>(v)] = false;
}

void kernel_verifier::subscripts(const buffer& b, const std::vector<value>& list, access how, bool unit_known) {
  require(static_cast<int>(list.size()) == b.rank, "access_kind", "subscripts are not as many as dimensions");
  bool vector = false;
  for (value v : list) {
    require(operand(v).type == element::i64, "types", "a subscript is not i64");
    vector |= at(v).vector;
  }
  require(how == access::uniform || lanes_, "access_kind", "lanes outside a vector loop");
  require(vector == (how == access::gather || how == access::transposed), "access_kind",
          "expected a vector subscript for gather, and only for gather");
  require(how != access::transposed || (unroll_ == transposed_columns && !list.empty() && !at(list.back()).vector),
          "access_kind", "columns of no unrolled loop");
  const bool row = how == access::contiguous || how == access::strided || how == access::deinterleaved;
  require(!row || b.rank > 0, "access_kind", "expected a dimension to go along");
  const bool unit = how == access::contiguous || how == access::deinterleaved || how == access::transposed;
  require(!unit || unit_known, "access_kind",
          "contiguous along a dimension not known to have stride 1");
}

void kernel_verifier::mask(value v, bool vector) {
  if (v == none) return;
  const instruction& i = operand(v);
  require(i.type == element::boolean, "mask", "not boolean");
  require(!i.vector || vector, "mask", "a vector mask on a scalar");
}

void kernel_verifier::store(const statement& s) {
  place_ = "store";
  const buffer& b = target_buffer(s.target);
  require(b.where != role::input, "module_shape", "a store to an input");
  (b.where == role::check ? stores_check_ : stores_output_) |= b.where == role::check || b.where == role::output;
  const instruction& x = operand(s.stored);
  require(x.type == b.type, "types", "expected the buffer's type");
  const bool has_add =
      x.type == element::f32 || x.type == element::f64 || x.type == element::i32 || x.type == element::i64;
  require(!s.adds || (has_add && !s.non_temporal), "types", "expected numbers of 4 or 8 bytes");
  require(s.fold == monoid::sum || (s.adds && b.where == role::local), "types", "expected a sum, or a local buffer");
  require(!x.vector || s.how != access::uniform, "vectorness", "a vector stored to one element");
  require(s.how != access::deinterleaved, "access_kind", "only loads are deinterleaved");
  subscripts(b, s.subscripts, s.how, unit_inner(b));
  mask(s.mask, s.how != access::uniform);
}

void kernel_verifier::append(const statement& s) {
  place_ = "append";
  const buffer& b = target_buffer(s.target);
  const instruction& a = accumulator(s.target_value);
  require(b.where == role::local && b.type == element::i64 && b.rank == 1, "types", "expected a local row of i64");
  require(!a.vector && a.type == element::i64 && a.fold == monoid::sum, "accumulators", "expected a scalar sum of i64");
  require(lanes_ != 0 && lanes_ <= 64 && s.mask != none && operand(s.mask).vector, "vectorness",
          "expected a mask of 2 to 64 lanes");
  mask(s.mask, true);
}

void kernel_verifier::guard(const statement& s) {
  place_ = "guard";
  const instruction& condition = operand(s.id);
  require(condition.type == element::boolean && !condition.vector, "mask", "expected a scalar boolean");
  const std::int32_t around = std::exchange(unroll_, 1);
  walk(s.body, false);
  unroll_ = around;
}

void kernel_verifier::loop(const statement& s, bool top) {
  place_ = name_of(s.how_loop);
  const bool known = s.loop >= 0 && s.loop < static_cast<std::int32_t>(entered_.size());
  require(known && !entered_[static_cast<std::size_t>(s.loop)], "loop_nesting", "no such loop, or entered twice");
  scalar_i64(s.low, "the low bound is not a scalar i64");
  scalar_i64(s.high, "the high bound is not a scalar i64");
  require(s.how_loop != loop_kind::parallel || top, "parallel_at_top", "expected at the top of the kernel");
  require(!s.backward || s.how_loop != loop_kind::parallel, "loop_nesting", "a parallel loop has no direction");
  require(!s.backward || s.unroll == 1, "loop_nesting", "a backward loop is not unrolled");
  const bool vector = s.how_loop == loop_kind::vector;
  require(!vector || !lanes_, "loop_nesting", "a vector loop inside another");
  const bool power = s.lanes >= 2 && s.lanes <= 2048 && std::has_single_bit(static_cast<unsigned>(s.lanes));
  require(vector ? power : s.lanes == 1, "loop_nesting",
          "lanes are a power of two, 2 to 2048, for a vector loop, else 1");
  require(s.unroll >= 1 && s.unroll <= 16 && (s.unroll == 1 || s.how_loop == loop_kind::serial), "loop_nesting",
          "unroll is 1 to 16, for serial loops");
  require(s.jam >= 1 && s.jam <= 16 && (s.jam == 1 || (s.how_loop == loop_kind::serial && !s.backward)),
          "loop_nesting", "jam is 1 to 16, for serial loops that run forward");
  const bool plain = s.how_loop == loop_kind::serial && s.unroll == 1 && s.jam == 1 && !s.backward;
  require(!s.at_once || s.how_loop == loop_kind::parallel || plain, "loop_nesting",
          "no such loop takes its iterations at once");
  if (s.at_once) at_once_ = s.loop;
  require(s.equal.empty() || s.jam > 1, "loop_nesting", "only iterations that run at once are equal");
  require((!s.size_optimised && !s.whole) || vector, "loop_nesting", "only a vector loop is size_optimised or whole");
  entered_[static_cast<std::size_t>(s.loop)] = open_[static_cast<std::size_t>(s.loop)] = true;
  if (vector) lanes_ = s.lanes, vector_loop_ = s.loop;
  const std::int32_t around = std::exchange(unroll_, s.unroll);
  walk(s.body, false);
  unroll_ = around;
  if (vector) lanes_ = 0, vector_loop_ = -1;
  open_[static_cast<std::size_t>(s.loop)] = false;
}

namespace {

void check_call(const module& m, const kernel& k) {
  const auto require = [&](bool holds, const char* why) {
    if (!holds) throw bad_ir("shared_call: kernel " + k.name + ": " + why);
  };
  const auto is_buffer = [&](std::int32_t b) { return b >= 0 && b < static_cast<std::int32_t>(m.buffers.size()); };
  require(k.switched_off < 0 || (is_buffer(k.switched_off) && is_integer(m.buffers[k.switched_off].type)),
          "expected a buffer of integers to switch off");
  if (k.call == nullptr) return;
  const module& of = k.call->of->code;
  require(k.body.empty(), "expected no body beside a call");
  require(k.call->first >= 0 && k.call->first < k.call->end && k.call->end <= static_cast<int>(of.kernels.size()),
          "no such kernels");
  const auto local = std::ranges::find_if(of.buffers, [](const buffer& b) { return b.where == role::local; });
  const auto slots = static_cast<std::size_t>(local - of.buffers.begin());
  require(k.call->given.size() + 1 == slots, "expected a buffer for each slot but the last");
  require(static_cast<int>(k.call->numbers.size()) == of.buffers[slots - 1].rank,
          "expected a number for each extent of the last slot");
  for (std::size_t b = 0; b < k.call->given.size(); ++b) {
    const std::int32_t id = k.call->given[b];
    require(is_buffer(id) && m.buffers[id].where == role::workspace && m.buffers[id].type == of.buffers[b].type &&
                m.buffers[id].rank == of.buffers[b].rank,
            "expected workspaces of the types and ranks of its own");
  }
}

}  // namespace

void verify(const module& m) {
  for (const buffer& b : m.buffers) check_buffer(m, b);
  check_folds(m);
  bool outputs = false;
  for (const kernel& k : m.kernels) {
    check_call(m, k);
    kernel_verifier verifier(m, k);
    const bool checks = verifier.run();
    if (checks && (outputs || verifier.stores_output()))
      throw bad_ir("check_order: kernel " + k.name +
                   ": expected checks before all that stores to an output, in kernels that store to none");
    outputs |= verifier.stores_output();
  }
}

}  // namespace sheaf::inline v0_1::ir
