#include <sheaf/aot/program.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/jit/engine/added_outputs.hpp>
#include <sheaf/jit/engine/words.hpp>

namespace sheaf::inline v0_1::aot {

namespace {

constexpr int levels = 10000;

struct raw_program {
  std::string name, text;
  int first_line = 0;
  std::vector<std::int32_t> words;  // of a packed program, instead of text
  std::vector<std::pair<std::string, int>> likes, ranges, options, updates, additions;  // and their lines
};

[[noreturn]] void fail(const std::string& path, int line, const std::string& words) {
  throw std::runtime_error(path + ", line " + std::to_string(line) + ": " + words);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string w; in >> w;) words.push_back(w);
  return words;
}

bool is_identifier(const std::string& s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (const char c : s)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return true;
}

// "NAME rest", where the line begins with that word and is no definition of that name.
bool directive(const std::string& line, const char* word, std::string& rest) {
  const std::string start = std::string(word) + " ";
  if (!line.starts_with(start) || words_of(line).size() < 2 || words_of(line)[1] == "=") return false;
  rest = line.substr(start.size());
  return true;
}

std::vector<raw_program> raw_programs(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::vector<raw_program> list;
  int number = 0;
  for (std::string line, rest; std::getline(in, line);) {
    ++number;
    if (directive(line, "kernel", rest)) {
      const auto words = words_of(rest.substr(0, rest.find('#')));
      if (words.size() != 1 || !is_identifier(words[0])) fail(path, number, "kernel: expected a C identifier");
      for (const raw_program& other : list)
        if (other.name == words[0]) fail(path, number, "kernel " + words[0] + ": there is one of this name");
      list.push_back({.name = words[0], .text = {}, .first_line = number, .words = {}, .likes = {}, .ranges = {},
                      .options = {}, .updates = {}, .additions = {}});
      continue;
    }
    if (list.empty()) {
      if (!words_of(line.substr(0, line.find('#'))).empty()) fail(path, number, "expected a line `kernel NAME` first");
      continue;
    }
    raw_program& p = list.back();
    std::string kept;
    if (directive(line, "like", rest))
      p.likes.emplace_back(rest.substr(0, rest.find('#')), number);
    else if (directive(line, "range", rest))
      p.ranges.emplace_back(rest.substr(0, rest.find('#')), number);
    else if (directive(line, "option", rest))
      p.options.emplace_back(rest.substr(0, rest.find('#')), number);
    else if (directive(line, "update", rest))
      p.updates.emplace_back(rest.substr(0, rest.find('#')), number);
    else if (directive(line, "add", rest))
      p.additions.emplace_back(rest.substr(0, rest.find('#')), number);
    else if (directive(line, "packed", rest))
      for (const std::string& w : words_of(rest)) p.words.push_back(static_cast<std::int32_t>(std::stol(w)));
    else
      kept = line;
    p.text += kept + "\n";  // lines keep their numbers
  }
  return list;
}

std::int64_t number_of(const std::string& text, const std::string& path, int line) {
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || value < 0)
    fail(path, line, "expected an extent, found " + text);
  return value;
}

// Of `count` slots from `first` on, by name, or by number.
int slot_named(const graph& g, const std::string& name, int first, int count) {
  if (name.find_first_not_of("0123456789") == std::string::npos && std::stol(name) < count)
    return static_cast<int>(std::stol(name));
  for (int i = 0; i < count; ++i)
    if (jit::slot_text(g, first + i) == name) return i;
  return -1;
}
int input_named(const graph& g, const std::string& name) { return slot_named(g, name, 0, g.inputs.size()); }
int output_named(const graph& g, const std::string& name, const std::string& path, int line) {
  const int o = slot_named(g, name, g.inputs.size(), g.outputs.size());
  if (o < 0) fail(path, line, name + " is no output of the program");
  return o;
}

// "x 1000 64, cut 256 2": to each dimension's place its words.
template <class Take>
void each_extent(const graph& g, const std::string& text, const std::string& path, int line, const Take& take) {
  for (const std::string& part : split(text, ',')) {
    const auto words = words_of(part);
    if (words.empty()) continue;
    const int i = input_named(g, words[0]);
    if (i < 0) fail(path, line, words[0] + " is no input of the program");
    if (static_cast<int>(words.size()) - 1 != g.inputs[i].rank)
      fail(path, line, words[0] + " has rank " + std::to_string(g.inputs[i].rank) + ", got " +
                           std::to_string(words.size() - 1) + " extents");
    for (std::size_t d = 1; d < words.size(); ++d)
      take(static_cast<std::size_t>(first_place(g, i)) + d - 1, words[d]);
  }
}

void read_option(program& p, const std::string& text, const std::string& path, int line) {
  const auto w = words_of(text);
  const std::string name = w.empty() ? "" : w[0], value = w.size() == 2 ? w[1] : "";
  if (name == "determinism" && (value == "strict" || value == "standard"))
    p.options.determinism = value == "strict" ? determinism::strict : determinism::standard;
  else if (name == "fusion" && (value == "off" || value == "planned"))
    p.options.fusion = value == "off" ? fusion::off : fusion::planned;
  else if (name == "lanes" && !value.empty())
    p.options.lanes = static_cast<int>(number_of(value, path, line));
  else
    fail(path, line, "option: expected determinism strict, fusion off, or lanes N");
}

graph graph_of(const raw_program& raw, const std::string& path) {
  if (!raw.words.empty()) return unpack(raw.words.data());
  graph g = parse(raw.text.data(), static_cast<int>(raw.text.size()), nullptr, 0, levels);
  if (g.failed())
    throw std::runtime_error(path + ", kernel " + raw.name + " (line " + std::to_string(raw.first_line) +
                             "): " + jit::text_of(g.error));
  return g;
}

// An output that is added to what is there is another output: of the sum with an input that lies where it lies.
void add_outputs(program& p, const raw_program& raw, const std::string& path) {
  std::vector<int> added;
  for (const auto& [text, line] : raw.additions) {
    const auto w = words_of(text);
    if (w.size() != 1) fail(path, line, "add: expected an output");
    const int o = output_named(p.g, w[0], path, line);
    if (std::ranges::count(added, o) > 0) fail(path, line, "add: " + w[0] + " is added already");
    if (p.g.type(p.g.outputs[o]) == element::boolean) fail(path, line, "add: " + w[0] + " is of booleans");
    p.updates.push_back({.input = p.g.inputs.size() + static_cast<int>(added.size()), .output = o});
    added.push_back(o);
  }
  p.g = jit::added_to(p.g, added);
}
void read_updates(program& p, const raw_program& raw, const std::string& path) {
  for (const auto& [text, line] : raw.updates) {
    const auto w = words_of(text);
    if (w.size() != 2) fail(path, line, "update: expected an output and an input");
    const int o = output_named(p.g, w[0], path, line), i = input_named(p.g, w[1]);
    if (i < 0) fail(path, line, w[1] + " is no input of the program");
    const node_id made = p.g.outputs[o];
    if (p.g.inputs[i].type != p.g.type(made) || p.g.inputs[i].rank != tensor_rank(p.g, made))
      fail(path, line, "update: " + w[0] + " and " + w[1] + " are of different types or ranks");
    for (const plan::update& u : p.updates)
      if (u.output == o || u.input == i) fail(path, line, "update: " + w[0] + " or " + w[1] + " is in another");
    p.updates.push_back({.input = i, .output = o});
  }
}

program finished(const raw_program& raw, const std::string& path) {
  program p{.name = raw.name, .g = graph_of(raw, path), .options = {}, .examples = {}, .ranges = {}, .updates = {}};
  add_outputs(p, raw, path);
  read_updates(p, raw, path);
  const auto places = static_cast<std::size_t>(first_place(p.g, p.g.inputs.size()));
  p.ranges.resize(places);
  for (const auto& [text, line] : raw.likes) {
    p.examples.emplace_back(places, -1);
    each_extent(p.g, text, path, line,
                [&](std::size_t place, const std::string& w) { p.examples.back()[place] = number_of(w, path, line); });
  }
  for (const auto& [text, line] : raw.ranges)
    each_extent(p.g, text, path, line, [&](std::size_t place, const std::string& w) {
      const std::size_t dots = w.find("..");
      const std::string high = dots == std::string::npos ? w : w.substr(dots + 2);
      p.ranges[place] = {number_of(w.substr(0, dots), path, line), number_of(high, path, line)};
      if (p.ranges[place].low > p.ranges[place].high) fail(path, line, "an empty range");
    });
  for (const auto& [text, line] : raw.options) read_option(p, text, path, line);
  return p;
}

}  // namespace

int first_place(const graph& g, int input) {
  int place = 0;
  for (int i = 0; i < input; ++i) place += g.inputs[i].rank;
  return place;
}

std::vector<program> read_programs(const std::string& path) {
  std::vector<program> list;
  for (const raw_program& raw : raw_programs(path)) list.push_back(finished(raw, path));
  return list;
}

}  // namespace sheaf::inline v0_1::aot
