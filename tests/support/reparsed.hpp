// A program through its text and back: what is printed reads back as the same program.
#pragma once
#include <gtest/gtest.h>

#include <memory>
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

// The words of the program that the text of `words` is; expects that its text is the same.
inline std::vector<std::int32_t> reparsed(const std::vector<std::int32_t>& words) {
  const std::string text = printed(unpack(words.data()));
  const graph again = parse(text.data(), static_cast<int>(text.size()));
  if (again.failed()) {
    ADD_FAILURE() << std::string(again.error.data(), static_cast<std::size_t>(again.error.size())) << "\n" << text;
    return words;
  }
  const std::vector<std::int32_t> result = packed_words_of(again);
  EXPECT_EQ(printed(unpack(result.data())), text);
  return result;
}

}  // namespace sheaf::test
