// Words of the text language. A line ends where no parenthesis is open; `;` ends one too, `#` starts a comment.
// Input: text. Output: tokens, the last of them `end`. Shown by tests/static/text.cpp.
#pragma once
#include <sheaf/dsl/graph/flat.hpp>

namespace sheaf::inline v0_1 {

enum class token_kind : std::uint8_t { end, line_end, name, number, string, symbol, strange };

SHEAF_HIDDEN inline constexpr int most_primes = 65535;  // of an index; a token with more is no name

struct token {
  token_kind kind = token_kind::end;
  int first = 0, size = 0;  // of its characters; without the quotes of a name or a string
  int line = 1, column = 1;
  int primes = 0;       // of an index: t'' has two, t'7 has seven
  bool quoted = false;  // a name in backquotes, which is no word of the language
};

namespace detail {

class lexer {
 public:
  constexpr lexer(const char* text, int size) : text_(text), size_(size) {}

  constexpr flat<token> operator()() {
    while (at_ < size_) next();
    end_line();
    add(token_kind::end, at_, 0);
    return static_cast<flat<token>&&>(out_);
  }

 private:
  static constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  constexpr char ahead(int k) const { return at_ + k < size_ ? text_[at_ + k] : '\0'; }

  constexpr void add(token_kind kind, int first, int size) {
    out_.push({kind, first, size, line_, first - line_start_ + 1, 0, false});
  }
  constexpr void end_line() {
    if (!out_.empty() && out_.back().kind != token_kind::line_end) add(token_kind::line_end, at_, 0);
  }

  constexpr void next() {
    const char c = text_[at_];
    if (c == '\n') {
      if (open_ == 0) end_line();
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < size_ && text_[at_] != '\n') ++at_;
    } else if (c == ';') {
      end_line();
      ++at_;
    } else if (is_letter(c)) {
      const int first = at_;
      while (is_letter(ahead(0)) || is_digit(ahead(0))) ++at_;
      name(first, at_, false);
    } else if (is_digit(c)) {
      number();
    } else if (c == '`' || c == '"') {
      quoted(c);
    } else {
      symbol(c);
    }
  }

  constexpr void name(int first, int last, bool quoted) {
    add(token_kind::name, first, last - first);
    out_.back().quoted = quoted;
    int& primes = out_.back().primes;
    for (; ahead(0) == '\''; ++at_) ++primes;
    if (primes != 1 || !is_digit(ahead(0))) return;
    for (primes = 0; is_digit(ahead(0)); ++at_) primes = primes < most_primes ? 10 * primes + (ahead(0) - '0') : primes;
  }
  constexpr void quoted(char quote) {
    const int first = ++at_;
    while (at_ < size_ && text_[at_] != quote && text_[at_] != '\n') ++at_;
    const int last = at_;
    if (ahead(0) != quote) return add(token_kind::strange, first - 1, 1);
    ++at_;
    if (quote == '`')
      name(first, last, true);
    else
      add(token_kind::string, first, last - first);
  }
  // Digits with a point and an exponent, and what follows without a space: an element type.
  constexpr void number() {
    const int first = at_;
    while (is_digit(ahead(0))) ++at_;
    if (ahead(0) == '.' && is_digit(ahead(1)))
      for (++at_; is_digit(ahead(0));) ++at_;
    const int sign = ahead(1) == '-' || ahead(1) == '+' ? 1 : 0;
    if ((ahead(0) == 'e' || ahead(0) == 'E') && is_digit(ahead(1 + sign)))
      for (at_ += 1 + sign; is_digit(ahead(0));) ++at_;
    add(token_kind::number, first, at_ - first);
  }
  constexpr void symbol(char c) {
    const char d = ahead(1);
    const bool two =
        (d == '=' && (c == '=' || c == '!' || c == '<' || c == '>')) || (c == d && (c == '&' || c == '|' || c == ':'));
    bool known = two;
    for (const char* s = "(),=<>+-*/%!.:[]?"; *s != 0; ++s) known = known || *s == c;
    if (c == '(' || c == '[') ++open_;
    if ((c == ')' || c == ']') && open_ > 0) --open_;
    add(known ? token_kind::symbol : token_kind::strange, at_, two ? 2 : 1);
    at_ += two ? 2 : 1;
  }

  const char* text_;
  int size_, at_ = 0, line_ = 1, line_start_ = 0, open_ = 0;
  flat<token> out_;
};

}  // namespace detail

constexpr flat<token> tokens_of(const char* text, int size) { return detail::lexer(text, size)(); }

}  // namespace sheaf::inline v0_1
