// Runs a parsed program on arguments, by kernels or by the slow evaluator. Input: a graph, arguments by name.
// Output: outputs, or the error; and whether memory that is none of an output's elements was written.
#pragma once
#include <memory>

#include <sheaf/jit/engine/program.hpp>

#include "data.hpp"

namespace sheaf::fuzz {

struct outcome {
  bool failed = false;
  std::string code, sentence;  // of the error
  std::vector<tensor_data> outputs;
  std::string damage;          // what was written that must not be
};

// A program of this text's graph, made once and called with several arguments.
class runnable {
 public:
  runnable(const graph& g, jit::backend runs_on, const options& wanted = {});
  ~runnable();
  runnable(const runnable&) = delete;

  // shapes: of the outputs, as extents() gives them; laid out as the arguments say.
  // updates: outputs lie where an input of their type and extents lies, if there is one.
  outcome operator()(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes, bool updates = false);
  // Every output is added to what is there.
  outcome adding(const arguments& a, const std::vector<tensor_data>& before);
  tensor_data output_of(const arguments& a, std::size_t o, const std::vector<std::int64_t>& extents) const;
  // Would any?
  bool may_update(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes) const;
  // Extents of the outputs for these arguments. Throws sheaf::error.
  std::vector<std::vector<std::int64_t>> extents(const arguments& a);
  const char* text() { return jit::expression_text(program_); }
  const char* plan(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes);

 private:
  std::vector<guarded_memory> inputs_of(const arguments& a) const;
  std::vector<int> updated_inputs(const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes) const;

  const graph& g_;
  jit::program* program_ = nullptr;
};

// The language read and written; here, so that it is compiled once.
graph parsed(const std::string& text);
std::string printed(const graph& g);
std::string said(const flat<char>& text);

std::string name_of_input(const graph& g, int input);
// Does a packed program hold it?
bool fits(const graph& g);

}  // namespace sheaf::fuzz
