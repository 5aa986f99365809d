// Writes terms in the text language or in C++, with as few parentheses as keep the tree. Input: a program and a term
// of it. Output: text. Shown by tests/fuzz/main.cpp, which parses what is written.
#pragma once
#include <string>

#include "program.hpp"

namespace sheaf::fuzz {

enum class dialect : std::uint8_t { text, cpp };

class writer {
 public:
  writer(const program& p, dialect d) : p_(p), cpp_(d == dialect::cpp) {}

  std::string expression(const term& e, int precedence = 0) const;
  std::string domain_of(const domain& d) const;
  // A tensor by name: in text a gradient is written out.
  std::string tensor(const std::string& name) const;
  std::string number(double value) const;
  std::string type(element t) const;
  // Within a rule of this definition: what its cotangent is called.
  void enter_rule(const std::string& definition) { ruled_ = definition; }

 private:
  std::string list(const std::vector<term>& args) const;
  std::string load(const fuzz::expression& e) const;
  std::string called(const fuzz::expression& e, int precedence) const;
  std::string folded(const fuzz::expression& e) const;
  std::string policies(const std::vector<std::string>& list) const;

  const program& p_;
  bool cpp_;
  std::string ruled_;
};

}  // namespace sheaf::fuzz
