// What a program is made of, and the kernels of its calls. Private header.
#pragma once
#include <condition_variable>
#include <exception>
#include <map>
#include <set>
#include <string>

#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/program.hpp>
#include <sheaf/jit/engine/program_kernels.hpp>
#include <sheaf/jit/engine/promise.hpp>
#include <sheaf/jit/engine/words.hpp>

#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::jit {

class program {
 public:
  program(const std::int32_t* words, backend which, const options& wanted, int ordinal)
      : g(unpack(words)),
        text(text_of(print(g))),
        runs_on(which),
        device(ordinal),
        overrides(wanted),
        target(wanted.target ? wanted.target : ""),
        keys(g) {
    overrides.target = target.empty() ? nullptr : target.c_str();
    const std::string& shapes = runtime::current_settings().shapes;
    if (overrides.shapes == shape_policy::automatic && shapes != "automatic")
      overrides.shapes = shapes == "classes" ? shape_policy::classes : shape_policy::exact;
  }
  // One that adds outputs of another to what is there.
  program(program& of, graph adding)
      : g(std::move(adding)),
        text(text_of(print(g))),
        runs_on(of.runs_on),
        device(of.device),
        overrides(of.overrides),
        target(of.target),
        keys(g),
        base(&of) {
    overrides.target = target.empty() ? nullptr : target.c_str();
  }
  program(const program&) = delete;

  // A text that stays as long as the program.
  const char* said(std::string words) {
    const std::lock_guard guard(kernels.lock);
    return texts.insert(std::move(words)).first->c_str();
  }

  // A context of a GPU belongs to its thread.
  bool may_be_unready() const { return !overrides.wait && runs_on != backend::gpu; }

  const graph g;
  const std::string text;
  const backend runs_on;
  const int device;
  options overrides;
  const std::string target;  // what `overrides.target` points to
  const key_reader keys;
  program* const base = nullptr;  // of one that adds
  program_kernels kernels;
  // With its lock:
  statistics counts;
  std::set<std::string> texts;
  std::vector<std::vector<std::int64_t>> being_made;  // for these calls
  std::condition_variable was_made;
  std::map<std::vector<std::int64_t>, std::exception_ptr> failures;  // of the background, that no call was told of
  std::map<std::vector<int>, program*> adding;  // by the outputs that these add to what is there
};

// A call, by what distinguishes it.
struct new_call {
  program& p;
  std::span<const std::int64_t> key;
};

// The key of a call that passed the check of its memory.
std::span<const std::int64_t> checked_key(program& p, const sheaf_tensor* tensors, const promise* indices, bool runs,
                                          std::int64_t (&key)[key_capacity]);

// The kernel of a call that is not in the table; where there is none it is made.
const kernel* prepare_new(const new_call& c);
// Null: the kernel is not there, and is being made. Throws what making it threw.
const kernel* prepare_at_once(const new_call& c);

}  // namespace sheaf::inline v0_1::jit
