// A program through its text and back: what is printed reads back as the same program.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/text/parse.hpp>

namespace sheaf::test {

inline std::string printed(const graph& g) {
  const flat<char> text = print(g);
  return {text.data(), static_cast<std::size_t>(text.size())};
}

inline std::vector<std::int32_t> packed_words_of(const graph& g) {
  const packed_list packed = pack(g);
  EXPECT_FALSE(packed.failed);
  return {packed.words.begin(), packed.words.end()};
}

// Its lines, axes by name: a derivative may make an index of a definition before or after those of others.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  const auto is_axis = [](const std::string& line) { return line.starts_with("axis "); };
  const auto first = std::find_if(lines.begin(), lines.end(), is_axis);
  std::sort(first, std::find_if_not(first, lines.end(), is_axis));
  return lines;
}

// The words of the program that the text of `words` is; expects that its text is the same.
inline std::vector<std::int32_t> reparsed(const std::vector<std::int32_t>& words) {
  const std::string text = printed(unpack(words.data()));
  const graph again = parse(text.data(), static_cast<int>(text.size()));
  if (again.failed()) {
    ADD_FAILURE() << std::string(again.error.data(), static_cast<std::size_t>(again.error.size())) << "\n" << text;
    return words;
  }
  const std::vector<std::int32_t> result = packed_words_of(again);
  EXPECT_EQ(lines_of(printed(unpack(result.data()))), lines_of(text)) << text;
  return result;
}

}  // namespace sheaf::test
