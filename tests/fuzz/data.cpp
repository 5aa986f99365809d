// See data.hpp.
#include "data.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include <sheaf/dsl/graph/half.hpp>

namespace sheaf::fuzz {

namespace {

layout draw_layout(dice& d, std::size_t rank, bool may_repeat) {
  layout l;
  l.at_end = d.chance(50);
  for (std::size_t k = 0; k < rank; ++k) {
    l.order.push_back(static_cast<int>(k));
    l.gaps.push_back(0);
    l.backwards.push_back(false);
    l.repeated.push_back(false);
  }
  if (d.chance(40)) return l;
  for (std::size_t k = 0; k < rank; ++k) {
    std::swap(l.order[k], l.order[static_cast<std::size_t>(d.below(static_cast<int>(rank)))]);
    if (d.chance(30)) l.gaps[k] = 1 + d.below(3);
    if (d.chance(20)) l.backwards[k] = true;
    if (may_repeat && d.chance(8)) l.repeated[k] = true;
  }
  return l;
}

double largest(element type) {
  return type == element::f16    ? 65504
         : type == element::f64  ? std::numeric_limits<double>::max()
         : type == element::bf16 ? 3.3895313892515355e38
                                 : std::numeric_limits<float>::max();
}

double draw_real(dice& d, flavour kind, element type) {
  if (kind == flavour::exact) return d.below(17) * 0.5 - 4;
  if (kind == flavour::smooth) return d.real() * 3 - 1.5;
  if (kind == flavour::wild && d.chance(25)) {
    const double tiny = type == element::f16 ? 0x1p-24 : type == element::f64 ? 0x1p-1060 : 0x1p-133;
    const double odd[] = {math::infinity, -math::infinity, math::nan,      0.0, -0.0, tiny,
                          -3 * tiny,      largest(type),   -largest(type), 1};
    return odd[d.below(10)];
  }
  if (d.chance(20)) return d.below(5) - 2;
  const double size = d.chance(90) ? 2 : kind == flavour::wild ? 1e4 : 30;
  return round_to(type, (d.real() * 2 - 1) * size);
}

std::int64_t draw_integer(dice& d, const symbol& s, flavour kind) {
  if (s.type == element::boolean) return d.below(2);
  const int bits = 8 * row(s.type).bytes;
  if (kind == flavour::wild && d.chance(15)) return wrap_to(s.type, static_cast<std::int64_t>(d.word() >> (64 - bits)));
  return is_unsigned(s.type) ? d.below(8) : d.below(10) - 3;
}

void draw_rows(dice& d, const symbol& s, std::int64_t n, tensor_data& t) {
  const std::int64_t count = t.count();
  const auto within = [&] { return static_cast<std::int64_t>(d.below(static_cast<int>(n) + 1)); };
  for (std::int64_t k = 0; k < count; ++k) {
    if (s.means == role::positions) t.integers.push_back(n == 0 ? 0 : d.below(static_cast<int>(n)));
    else if (s.means == role::offsets)
      t.integers.push_back(
          k == 0 ? 0 : t.integers.back() + (d.chance(30) ? 0 : d.below(static_cast<int>(n - t.integers.back()) + 1)));
    else if (k % 2 == 0) t.integers.push_back(within());
    else
      t.integers.push_back(d.chance(85) ? t.integers.back() + d.below(static_cast<int>(n - t.integers.back()) + 1)
                                        : within());
  }
  if (count > 0 && d.below(120) == 0)
    t.integers[static_cast<std::size_t>(d.below(static_cast<int>(count)))] =
        d.chance(50) && !is_unsigned(s.type) ? -1 : n + 1;
}

// The same value along every repeated dimension.
void repeat(tensor_data& t) {
  for (std::size_t d = 0; d < t.extents.size(); ++d) {
    if (!t.placed.repeated[d]) continue;
    std::int64_t inner = 1;
    for (std::size_t e = d + 1; e < t.extents.size(); ++e) inner *= t.extents[e];
    for (std::int64_t k = 0; k < t.count(); ++k) {
      const std::size_t from = static_cast<std::size_t>(k - (k / inner % t.extents[d]) * inner);
      if (is_floating(t.type)) t.reals[static_cast<std::size_t>(k)] = t.reals[from];
      else t.integers[static_cast<std::size_t>(k)] = t.integers[from];
    }
  }
}

}  // namespace

arguments draw_arguments(const program& p, std::uint64_t seed) {
  dice d(seed ^ 0x5bd1e995u);
  arguments a;
  for (const symbol& s : p.symbols) {
    if (s.from != origin::input) continue;
    tensor_data t;
    t.type = s.type;
    for (const int size : s.dims) t.extents.push_back(p.sizes[static_cast<std::size_t>(size)]);
    const std::int64_t count = t.count();
    if (s.means != role::values) {
      draw_rows(d, s, p.sizes[static_cast<std::size_t>(s.target)], t);
    } else if (is_floating(s.type)) {
      for (std::int64_t k = 0; k < count; ++k) t.reals.push_back(round_to(s.type, draw_real(d, p.kind, s.type)));
    } else {
      for (std::int64_t k = 0; k < count; ++k) t.integers.push_back(draw_integer(d, s, p.kind));
    }
    t.placed = draw_layout(d, s.dims.size(), s.means == role::values);
    repeat(t);
    a.inputs[s.name] = t;
  }
  for (const output& o : p.outputs) {
    const symbol* s = o.scalar == nullptr ? p.find(o.name) : nullptr;
    a.outputs.push_back(draw_layout(d, s == nullptr ? 0 : s->dims.size(), false));
  }
  return a;
}

arguments dense(arguments a) {
  for (auto& [name, t] : a.inputs) t.placed = {};
  for (layout& l : a.outputs) l = {};
  return a;
}

placement place(const layout& how, const std::vector<std::int64_t>& extents) {
  placement p;
  p.strides.assign(extents.size(), 0);
  std::int64_t step = 1, last = 0;
  for (std::size_t k = extents.size(); k-- > 0;) {
    const std::size_t d = how.order.empty() ? k : static_cast<std::size_t>(how.order[k]);
    if (!how.repeated.empty() && how.repeated[d]) continue;
    const std::int64_t gap = how.gaps.empty() ? 0 : how.gaps[d], reach = (extents[d] > 0 ? extents[d] - 1 : 0) * step;
    const bool back = !how.backwards.empty() && how.backwards[d];
    p.strides[d] = back ? -step : step;
    if (back) p.first += reach;
    last += reach;
    step = step * (extents[d] > 0 ? extents[d] : 1) + gap;
  }
  p.span = last + 1;
  for (const std::int64_t e : extents)
    if (e == 0) p.span = p.first = 0;
  return p;
}

// ---- memory

namespace {
constexpr unsigned char unwritten = 0xA5;

void write_element(unsigned char* to, const tensor_data& t, std::size_t k) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (t.type) {
    case element::f64: return put(t.reals[k]);
    case element::f32: return put(static_cast<float>(t.reals[k]));
    case element::f16: return put(to_float16(t.reals[k]));
    case element::bf16: return put(to_bfloat16(t.reals[k]));
    case element::i64: return put(t.integers[k]);
    case element::i32: return put(static_cast<std::int32_t>(t.integers[k]));
    case element::u64: return put(t.integers[k]);
    case element::u32: return put(static_cast<std::uint32_t>(t.integers[k]));
    case element::i16: return put(static_cast<std::int16_t>(t.integers[k]));
    case element::u16: return put(static_cast<std::uint16_t>(t.integers[k]));
    case element::i8: return put(static_cast<std::int8_t>(t.integers[k]));
    default: return put(static_cast<std::uint8_t>(t.integers[k]));
  }
}
template <class T>
T read_as(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void read_element(const unsigned char* from, tensor_data& t) {
  switch (t.type) {
    case element::f64: t.reals.push_back(read_as<double>(from)); break;
    case element::f32: t.reals.push_back(static_cast<double>(read_as<float>(from))); break;
    case element::f16: t.reals.push_back(to_double(read_as<float16>(from))); break;
    case element::bf16: t.reals.push_back(to_double(read_as<bfloat16>(from))); break;
    case element::i64: t.integers.push_back(read_as<std::int64_t>(from)); break;
    case element::i32: t.integers.push_back(read_as<std::int32_t>(from)); break;
    case element::u64: t.integers.push_back(read_as<std::int64_t>(from)); break;
    case element::u32: t.integers.push_back(read_as<std::uint32_t>(from)); break;
    case element::i16: t.integers.push_back(read_as<std::int16_t>(from)); break;
    case element::u16: t.integers.push_back(read_as<std::uint16_t>(from)); break;
    case element::i8: t.integers.push_back(read_as<std::int8_t>(from)); break;
    default: t.integers.push_back(read_as<std::uint8_t>(from)); break;
  }
}
}  // namespace

guarded_memory::guarded_memory(const tensor_data& values, bool filled)
    : shape_(values), place_(place(values.placed, values.extents)) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = static_cast<std::size_t>(place_.span) * static_cast<std::size_t>(row(values.type).bytes);
  const std::size_t inner = (bytes_ + page - 1) / page * page;
  mapped_ = inner + 2 * page;
  pages_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED) throw std::bad_alloc();
  unsigned char* const open = static_cast<unsigned char*>(pages_) + page;
  if (inner > 0 && mprotect(open, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  start_ = values.placed.at_end ? open + inner - bytes_ : open;
  extents_ = values.extents;
  strides_ = place_.strides;
  extents_.push_back(0), strides_.push_back(0);
  if (bytes_ > 0) std::memset(start_, unwritten, bytes_);
  if (!filled) return;
  for (std::int64_t k = 0; k < values.count(); ++k) write_element(element_at(k), values, static_cast<std::size_t>(k));
}
guarded_memory::guarded_memory(guarded_memory&& o) noexcept
    : pages_(o.pages_), mapped_(o.mapped_), bytes_(o.bytes_), start_(o.start_), shape_(std::move(o.shape_)),
      place_(std::move(o.place_)), extents_(std::move(o.extents_)), strides_(std::move(o.strides_)) {
  o.pages_ = nullptr;
}
guarded_memory::~guarded_memory() {
  if (pages_ != nullptr) munmap(pages_, mapped_);
}

unsigned char* guarded_memory::element_at(std::int64_t row_major) const {
  std::int64_t offset = place_.first;
  for (std::size_t d = shape_.extents.size(); d-- > 0;) {
    offset += row_major % shape_.extents[d] * place_.strides[d];
    row_major /= shape_.extents[d];
  }
  return start_ + offset * row(shape_.type).bytes;
}

sheaf_tensor guarded_memory::view() const {
  return {start_ + place_.first * row(shape_.type).bytes, extents_.data(), strides_.data()};
}

tensor_data guarded_memory::read() const {
  tensor_data t;
  t.type = shape_.type;
  t.extents = shape_.extents;
  t.placed = shape_.placed;
  for (std::int64_t k = 0; k < t.count(); ++k) read_element(element_at(k), t);
  return t;
}

void guarded_memory::forbid_writing() const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (mapped_ > 2 * page && mprotect(static_cast<unsigned char*>(pages_) + page, mapped_ - 2 * page, PROT_READ) != 0)
    throw std::bad_alloc();
}

bool guarded_memory::untouched() const {
  for (std::size_t b = 0; b < bytes_; ++b)
    if (start_[b] != unwritten) return false;
  return true;
}
bool guarded_memory::gaps_untouched() const {
  std::vector<bool> own(bytes_, false);
  for (std::int64_t k = 0; k < shape_.count(); ++k)
    for (int b = 0; b < row(shape_.type).bytes; ++b) own[static_cast<std::size_t>(element_at(k) - start_ + b)] = true;
  for (std::size_t b = 0; b < bytes_; ++b)
    if (!own[b] && start_[b] != unwritten) return false;
  return true;
}

}  // namespace sheaf::fuzz
