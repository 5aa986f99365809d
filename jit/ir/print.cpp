#include <sheaf/jit/ir/print.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <unordered_map>

#include <sheaf/dsl/graph/monoids.hpp>

namespace sheaf::inline v0_1::ir {

const char* name_of(opcode code) {
  static constexpr const char* names[] = {"elementwise", "constant",    "extent",      "counter",     "run_end",
                                          "lanes",       "pattern",     "load",        "accumulator", "read",
                                          "fold_lanes",  "scan_lanes",  "recur_lanes", "slide_lanes", "shift_lanes",
                                          "next_places"};
  return names[static_cast<int>(code)];
}
const char* name_of(access how) {
  static constexpr const char* names[] = {"uniform", "contiguous",    "strided",
                                          "gather",  "deinterleaved", "transposed"};
  return names[static_cast<int>(how)];
}
const char* name_of(loop_kind kind) {
  static constexpr const char* names[] = {"serial", "vector", "parallel"};
  return names[static_cast<int>(kind)];
}
const char* name_of(role where) {
  static constexpr const char* names[] = {"input", "output", "workspace", "check", "local"};
  return names[static_cast<int>(where)];
}
const char* name_of(monoid fold) {
  if (is_own(fold)) return "fold";
  return row(fold).name;
}
const char* name_of(op what) { return row(what).name; }

namespace {

std::string real_text(double x) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x);  // shortest text that reads back to the same bits
  std::string text(buffer, end.ptr);
  if (x != x) text += "#" + std::to_string(std::bit_cast<std::int64_t>(x));
  return text;
}

class printer {
 public:
  explicit printer(const module& m, listing* into = nullptr) : m_(m), into_(into) {}

  std::string run() {
    text_ = "module " + m_.name + "\n";
    name_buffers();
    for (std::size_t k = 0; k < m_.buffers.size(); ++k) print_buffer(m_.buffers[k], buffers_[k]);
    for (const own_fold& f : m_.folds) print_fold(f);
    for (const kernel& k : m_.kernels) {
      k_ = &k;
      number_.assign(k.instructions.size(), -1);
      next_ = 0;
      note_line(&k);
      text_ += "kernel " + k.name;
      if (k.switched_off >= 0) text_ += " switches off " + buffer_name(k.switched_off);
      text_ += "\n";
      print_block(k.body, 1);
      if (k.call != nullptr) print_call(*k.call);
    }
    return std::move(text_);
  }

 private:
  void note_line(const void* of) {
    if (into_ == nullptr) return;
    line_ += static_cast<int>(std::count(text_.begin() + counted_, text_.end(), '\n'));
    counted_ = static_cast<std::ptrdiff_t>(text_.size());
    into_->lines[of] = line_;
  }
  void print_call(const shared_call& c) {
    text_ += "  call " + c.of->code.name;
    for (int k = c.first; k < c.end; ++k) text_ += " " + c.of->code.kernels[static_cast<std::size_t>(k)].name;
    for (const std::int32_t b : c.given) text_ += ", " + buffer_name(b);
    for (const std::int64_t n : c.numbers) text_ += " " + std::to_string(n);
    text_ += "\n";
  }
  void print_fold(const own_fold& f) {
    const auto number = [](element type, std::int64_t bits) {
      return is_floating(type) ? real_text(std::bit_cast<double>(bits)) : std::to_string(bits);
    };
    text_ += std::string("fold ") + row(f.type).name + " identity " + number(f.type, f.identity);
    if (f.width > 1) text_ += ", value " + std::to_string(f.component) + " of " + std::to_string(f.width);
    if (f.steps.empty()) text_ += " = $" + std::to_string(f.result);
    text_ += "\n";
    for (std::size_t k = 0; k < f.steps.size(); ++k) {
      const fold_step& s = f.steps[k];
      text_ += "  $" + std::to_string(static_cast<int>(k) + 2 * f.width) + " " + row(s.type).name + " = " +
               (s.what == op::constant ? "constant" : name_of(s.what));
      if (s.what == op::constant) text_ += " " + number(s.type, s.bits);
      for (const std::int32_t a : s.args) text_ += " $" + std::to_string(a);
      text_ += "\n";
    }
  }
  // The text is what code is looked up by: two buffers of one name are told apart.
  void name_buffers() {
    std::unordered_map<std::string, int> met;
    for (const buffer& b : m_.buffers) {
      const int before = met[b.name]++;
      buffers_.push_back(before == 0 ? b.name : b.name + "." + std::to_string(before));
    }
  }
  void print_buffer(const buffer& b, const std::string& own) {
    text_ += std::string("buffer ") + name_of(b.where) + " ";
    text_ += b.where == role::local ? "[" + std::to_string(b.elements) + "]" : "#" + std::to_string(b.slot);
    text_ += " " + own + " " + row(b.type).name + " rank " + std::to_string(b.rank);
    if (b.unit_inner) text_ += " unit_inner";
    if (!b.extents.empty()) {
      text_ += " extents";
      for (std::int64_t e : b.extents) text_ += e < 0 ? " ?" : " " + std::to_string(e);
    }
    text_ += "\n";
  }

  std::string name(value v) const {
    if (v == none) return "none";
    if (v < 0 || v >= static_cast<value>(number_.size())) return "%bad" + std::to_string(v);
    return number_[v] < 0 ? "%undefined" + std::to_string(v) : "%" + std::to_string(number_[v]);
  }
  std::string list(const std::vector<value>& values) const {
    std::string text;
    for (value v : values) text += (text.empty() ? "" : ", ") + name(v);
    return text;
  }
  std::string buffer_name(std::int32_t id) const {
    return id >= 0 && id < static_cast<std::int32_t>(m_.buffers.size()) ? buffers_[static_cast<std::size_t>(id)]
                                                                        : "bad_buffer";
  }
  // Two loops may share a name, so the id is part of it.
  std::string loop_name(std::int32_t id) const {
    const bool known = id >= 0 && id < static_cast<std::int32_t>(k_->loop_names.size());
    return (known ? k_->loop_names[id] : "bad_loop") + "." + std::to_string(id);
  }

  static std::string lane_pattern_text(const instruction& i) {
    if (i.how != access::deinterleaved) return "";
    std::string text = " step " + std::to_string(i.apart.step);
    if (i.apart.repeat > 1)
      text += " repeat " + std::to_string(i.apart.repeat) + " phase " + std::to_string(i.apart.phase);
    if (i.apart.whole) text += " skew " + std::to_string(i.apart.skew);
    return text;
  }
  static std::string part_text(const instruction& i) {
    return i.dimension == 0 ? "" : " value " + std::to_string(i.dimension);
  }
  std::string operands(const instruction& i) const {
    switch (i.code) {
      case opcode::elementwise:
        return std::string(name_of(i.what)) + " " + list(i.args);
      case opcode::constant:
        return "constant " + (is_floating(i.type) ? real_text(std::bit_cast<double>(i.bits)) : std::to_string(i.bits));
      case opcode::extent:
        return "extent " + buffer_name(i.target) + " " + std::to_string(i.dimension);
      case opcode::counter:
        return "counter " + loop_name(i.target);
      case opcode::run_end:
        return "run_end " + loop_name(i.target);
      case opcode::lanes:
        return "lanes " + loop_name(i.target);
      case opcode::pattern: {
        std::string bits;
        for (std::int32_t k = 0; k < i.dimension; ++k) bits += (i.bits >> k & 1) != 0 ? '1' : '0';
        return "pattern " + bits;
      }
      case opcode::load:
        return std::string("load ") + name_of(i.how) + lane_pattern_text(i) + " " + buffer_name(i.target) + "[" +
               list(i.args) + "]" + (i.mask == none ? "" : " mask " + name(i.mask));
      case opcode::accumulator:
        return std::string("accumulator ") + name_of(i.fold) +
               (is_own(i.fold) ? " #" + std::to_string(own_number(i.fold)) : "") +
               (i.dimension > 0 ? " sliding " + std::to_string(i.dimension) : "");
      case opcode::read:
        return "read " + list(i.args) + part_text(i);
      case opcode::fold_lanes:
        return "fold_lanes " + list(i.args) + part_text(i);
      case opcode::scan_lanes:
        return "scan_lanes " + list(i.args) + part_text(i) + (i.mask == none ? "" : " mask " + name(i.mask));
      case opcode::recur_lanes:
        return std::string("recur_lanes ") + (i.dimension != 0 ? "vanishing " : "") + list(i.args);
      case opcode::slide_lanes:
        return "slide_lanes " + std::to_string(i.dimension) + " " + list(i.args);
      case opcode::shift_lanes:
        return "shift_lanes " + std::to_string(i.dimension) + " " + list(i.args);
      case opcode::next_places:
        return "next_places " + buffer_name(i.target) + "[" + list(i.args) + "]" +
               (i.mask == none ? "" : " mask " + name(i.mask));
    }
    return "bad_opcode";
  }

  void print_block(const block& b, int depth) {
    for (const statement& s : b) {
      note_line(&s);
      text_.append(static_cast<std::size_t>(2 * depth), ' ');
      print_statement(s, depth);
    }
  }
  void print_instruct(const statement& s) {
    if (s.id < 0 || s.id >= static_cast<value>(number_.size())) {
      text_ += "bad_instruction " + std::to_string(s.id) + "\n";
      return;
    }
    const instruction& i = k_->instructions[s.id];
    const std::string right = operands(i);
    number_[s.id] = next_++;
    text_ += name(s.id) + " " + row(i.type).name + (i.vector ? "v = " : " = ") + right + "\n";
  }
  void print_loop(const statement& s, int depth) {
    text_ += std::string(name_of(s.how_loop)) + " " + loop_name(s.loop) + " in " + name(s.low) + " .. " + name(s.high);
    if (s.at_once) text_ += " at_once";
    if (s.backward) text_ += " backward";
    if (s.lanes != 1) text_ += " lanes " + std::to_string(s.lanes);
    if (s.size_optimised) text_ += " size_optimised";
    if (s.whole) text_ += " whole";
    if (s.unroll != 1) text_ += " unroll " + std::to_string(s.unroll);
    if (s.jam != 1) text_ += " jam " + std::to_string(s.jam);
    if (!s.equal.empty()) text_ += " where equal " + list(s.equal);
    text_ += "\n";
    print_block(s.body, depth + 1);
  }
  void print_statement(const statement& s, int depth) {
    const std::string mask = s.mask == none ? "" : " mask " + name(s.mask);
    switch (s.kind) {
      case statement_kind::instruct:
        return print_instruct(s);
      case statement_kind::loop:
        return print_loop(s, depth);
      case statement_kind::guard:
        text_ += "guard " + name(s.id) + "\n";
        return print_block(s.body, depth + 1);
      case statement_kind::store:
        if (s.fold != monoid::sum) text_ += std::string(row(s.fold).name) + " of ";
        text_ += std::string(s.adds ? "add to " : "store ") + name_of(s.how) +
                 (s.non_temporal ? " non_temporal " : " ") + buffer_name(s.target) + "[" + list(s.subscripts) +
                 "] = " + name(s.stored) + mask + "\n";
        return;
      case statement_kind::prefetch:
        text_ += std::string("prefetch ") + (s.half_line ? "half_line " : "") + (s.l2 ? "l2 " : "") +
                 (s.how == access::transposed ? "transposed " : "") + (s.written ? "written " : "") +
                 buffer_name(s.target) + "[" + list(s.subscripts) + "]\n";
        return;
      case statement_kind::append:
        text_ += "append " + buffer_name(s.target) + "[" + name(s.target_value) + "]" + mask + "\n";
        return;
      case statement_kind::combine:
        text_ += "combine " + name(s.target_value) + " with " + name(s.stored) +
                 (s.more.empty() ? "" : ", " + list(s.more)) + (s.earlier ? " before it" : "") +
                 (s.fma ? " fma" : "") +
                 (s.position == none ? "" : " at " + name(s.position)) + mask + "\n";
        return;
      case statement_kind::copy:
        text_ += "copy " + buffer_name(s.to) + "[" + list(s.places) + "] = " +
                 (s.stored == none ? "" : "first " + name(s.stored) + " of ") + buffer_name(s.target) + "[" +
                 list(s.subscripts) + "]" + (s.all_whole == none ? "" : " whole where " + name(s.all_whole)) + mask +
                 "\n";
        return;
      case statement_kind::await:
        text_ += "await";
        if (s.copies_behind > 0) text_ += " all but " + std::to_string(s.copies_behind) + " copies";
        if (s.products_behind > 0) text_ += " all but " + std::to_string(s.products_behind) + " mma";
        text_ += "\n";
        return;
      case statement_kind::mma:
        return print_mma(s);
    }
  }
  void print_mma(const statement& s) {
    const auto panel = [&](std::int32_t buffer, bool along) {
      return buffer_name(buffer) + "[" + name(s.stored) + "]" + (along ? " along" : "");
    };
    text_ += "mma " + std::to_string(s.tile.results_of_rows) + " rows of " + list(s.more) + " with " +
             panel(s.tile.of_rows, s.tile.rows_along) + " by " + panel(s.tile.of_columns, s.tile.columns_along) + ", " +
             std::to_string(s.tile.terms) + " terms, " + std::to_string(s.tile.warps_of_columns) +
             " warps of columns" + (s.tile.by_warpgroups ? ", by warpgroups\n" : "\n");
  }

  const module& m_;
  listing* into_;
  int line_ = 1;                // of what is noted next,
  std::ptrdiff_t counted_ = 0;  // by the text up to here
  const kernel* k_ = nullptr;
  std::string text_;
  std::vector<int> number_;
  std::vector<std::string> buffers_;
  int next_ = 0;
};

}  // namespace

std::string print(const module& m) { return printer(m).run(); }

listing print_with_lines(const module& m) {
  listing l;
  l.text = printer(m, &l).run();
  return l;
}

}  // namespace sheaf::inline v0_1::ir
