// See programs.hpp: programs as the survey prints them, read from a file.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "programs.hpp"

namespace sheaf::bench {

namespace {

constexpr std::array<const char*, 7> kinds{"values",  "positive", "places", "sorted_places",
                                           "offsets", "slices",   "mask"};
constexpr std::array<const char*, 3> spreads{"uniform", "zipf", "giant"};

template <std::size_t N>
int position_of(const std::array<const char*, N>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

// Of the words after the colon; commas are spaces.
input_data input_of(const std::string& name, std::istringstream& words) {
  input_data in;
  in.name = name;
  std::string word;
  if (!(words >> word)) throw std::runtime_error("no element type");
  const auto type = std::ranges::find_if(element_rows, [&](const element_row& r) { return r.name == word; });
  if (type == std::end(element_rows)) throw std::runtime_error("no element type " + word);
  in.type = type->type;
  in.kind = in.type == element::boolean ? data_kind::mask : data_kind::values;
  while (words >> word) {
    if (word == "below") {
      words >> in.below;
    } else if (const int kind = position_of(kinds, word); kind >= 0) {
      in.kind = static_cast<data_kind>(kind);
    } else if (const int how = position_of(spreads, word); how >= 0) {
      in.how = static_cast<spread>(how);
    } else {
      std::size_t read = 0;
      const double extent = word[0] >= '0' && word[0] <= '9' ? std::stod(word, &read) : -1;  // 1e6 too
      if (read != word.size() || extent < 0)
        throw std::runtime_error("expected an extent, a kind of data (values, positive, places, sorted_places, "
                                 "offsets, slices, mask), below N, uniform, zipf or giant, found " + word);
      in.extents.push_back(static_cast<std::int64_t>(extent));
    }
  }
  const bool wide = in.type == element::i32 || in.type == element::i64;
  const bool places = in.kind >= data_kind::places && in.kind <= data_kind::slices;
  const bool integers = is_integer(in.type) && (places ? wide && in.below > 0 : in.below == 0);
  if (in.type != element::boolean && !is_floating(in.type) && !integers)
    throw std::runtime_error("integers are values, or places, sorted_places, offsets or slices below N of i32 and i64");
  return in;
}

std::string declared(const input_data& in) {
  std::string text = "input " + in.name + ": " + std::string(row(in.type).name);
  for (std::size_t d = 0; d < in.extents.size(); ++d) text += d == 0 ? "[?" : ", ?";
  return text + (in.extents.empty() ? "\n" : "]\n");
}

}  // namespace

std::string described(const input_data& in) {
  std::string text = "# " + in.name + ": " + std::string(row(in.type).name);
  for (const std::int64_t e : in.extents) text += " " + std::to_string(e);
  if (in.kind != data_kind::values && in.kind != data_kind::mask)
    text += std::string(", ") + kinds[static_cast<std::size_t>(in.kind)];
  if (in.below > 0) text += " below " + std::to_string(in.below);
  if (in.how != spread::uniform) text += std::string(", ") + spreads[static_cast<std::size_t>(in.how)];
  return text;
}

std::vector<drawn_program> programs_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  std::vector<drawn_program> list;
  std::string line, name = "file";
  bool in_head = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.rfind("##", 0) == 0) {
      name = line.substr(std::min<std::size_t>(3, line.size()));
      in_head = false;
    } else if (line.rfind("# ", 0) == 0) {
      if (!in_head) list.push_back({name, "", {}}), name = "file";
      in_head = true;
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream words(line.substr(2));
      std::string of;
      words >> of;
      try {
        list.back().inputs.push_back(input_of(of.substr(0, of.find(':')), words));
      } catch (const std::exception& e) {
        throw std::runtime_error(file + ", line " + std::to_string(number) + ": " + e.what());
      }
      list.back().text += declared(list.back().inputs.back());
    } else if (!line.empty() && line.rfind("input ", 0) != 0) {
      in_head = false;
      if (list.empty()) throw std::runtime_error(file + ", line " + std::to_string(number) + ": no input before it");
      list.back().text += line + "\n";
    }
  }
  return list;
}

}  // namespace sheaf::bench
