// The table of docs/gpu-static.md: written, read back, compared.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "rows.hpp"

namespace sheaf::test {

namespace {

// Cells after the row's name. A larger one is better or worse, or neither; of machine code or of the plan alone. Less
// than `least` more or fewer is no difference.
enum class sense { none, more_is_better, more_is_worse };
struct column {
  const char* name;
  sense better;
  bool machine_code;
  double least;
  double (*of)(const counted_row&);
};
const column columns[] = {
    {"estimated %", sense::more_is_better, true, 0.2, [](const counted_row& r) { return r.percent(); }},
    {"launches", sense::more_is_worse, false, 0.5,
     [](const counted_row& r) { return static_cast<double>(r.kernels.size()) - r.shared_launches - r.of_checks; }},
    {"of checks", sense::more_is_worse, false, 0.5, [](const counted_row& r) { return double(r.of_checks); }},
    {"of a sort", sense::more_is_worse, false, 0.5,
     [](const counted_row& r) { return static_cast<double>(r.shared_launches); }},
    {"bytes / bound", sense::more_is_worse, false, 0.02, [](const counted_row& r) { return r.bytes / r.bound; }},
    {"workspace MB", sense::more_is_worse, false, 1, [](const counted_row& r) { return r.workspace / 1e6; }},
    {"warps", sense::more_is_better, true, 0.5, [](const counted_row& r) { return r.slowest().warps; }},
    {"KB under way", sense::none, true, 0, [](const counted_row& r) { return r.slowest().under_way / 1024; }},
    {"instructions", sense::more_is_worse, true, 0.5, [](const counted_row& r) { return r.slowest().instructions; }},
    {"integer", sense::none, true, 0, [](const counted_row& r) { return r.slowest().integer; }},
    {"floating", sense::none, true, 0, [](const counted_row& r) { return r.slowest().floating; }},
    {"functions", sense::none, true, 0, [](const counted_row& r) { return r.slowest().function; }},
    {"barriers", sense::more_is_worse, true, 0.5,
     [](const counted_row& r) { return static_cast<double>(r.slowest().barriers); }},
    {"registers", sense::none, true, 0, [](const counted_row& r) { return double(r.slowest().registers); }},
    {"shared KB", sense::none, true, 0,
     [](const counted_row& r) { return static_cast<double>(r.slowest().shared) / 1024; }},
    {"spilled", sense::more_is_worse, true, 0.5,
     [](const counted_row& r) {
       std::int64_t most = 0;
       for (const auto& k : r.kernels) most = std::max(most, k.frame);
       return static_cast<double>(most);
     }},
};

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x != 0 && x < 10 ? "%.2g" : "%.0f", x);
  return text;
}

std::map<std::string, std::vector<double>> rows_in(const std::string& table) {
  std::map<std::string, std::vector<double>> found;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(cell);
    if (cells.size() != std::size(columns) + 3 || cells[2].find_first_of("0123456789") == std::string::npos) continue;
    auto& values = found[cells[1].substr(1, cells[1].size() - 2)];
    for (std::size_t k = 0; k < std::size(columns); ++k) values.push_back(std::strtod(cells[k + 2].c_str(), nullptr));
  }
  return found;
}

bool is_worse(const column& c, double before, double now) {
  if (c.better == sense::none || std::abs(now - before) <= c.least) return false;
  return c.better == sense::more_is_better ? now < 0.9 * before : now > 1.1 * before;
}

}  // namespace

std::string table_of(const std::vector<counted_row>& rows) {
  std::string text = "| row |", rule = "|---|";
  for (const column& c : columns) text += std::string(" ") + c.name + " |", rule += "---|";
  text += " slowest kernel |\n" + rule + "---|\n";
  for (const counted_row& r : rows) {
    text += "| " + r.id + " |";
    for (const column& c : columns) text += " " + number(c.of(r)) + " |";
    text += " " + r.slowest().name + " |\n";
  }
  return text;
}

std::string worse(const std::string& kept, const std::string& found, bool machine_code) {
  auto before = rows_in(kept);
  std::string said;
  for (const auto& [id, now] : rows_in(found)) {
    const auto old = before.find(id);
    if (old == before.end()) {
      said += id + " is missing in docs/gpu-static.md\n";
      continue;
    }
    for (std::size_t k = 0; k < std::size(columns); ++k)
      if ((machine_code || !columns[k].machine_code) && is_worse(columns[k], old->second[k], now[k]))
        said += id + ": " + columns[k].name + " was " + number(old->second[k]) + ", is " + number(now[k]) + "\n";
    before.erase(old);
  }
  for (const auto& line : before) said += line.first + " is in docs/gpu-static.md, and was not counted\n";
  return said;
}

}  // namespace sheaf::test
