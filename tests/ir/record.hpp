// Kernel IR as it must stay: of every program that is tried a line of tests/golden/ir.txt with a hash of its IR for
// each target. Input: programs and the extents of their arguments. SHEAF_UPDATE_GOLDEN=1 writes the file;
// SHEAF_GOLDEN_TEXT=FOLDER writes what was hashed into FOLDER/NAME.TARGET.ir, to be compared with another tree's.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

// The targets, in the order of a line's hashes.
inline constexpr const char* targets[] = {"zen", "x86_64", "gpu"};

class ir_record {
 public:
  static ir_record& only();

  // Adds the IR of a program to what its name stands for.
  void add(const std::string& name, const graph& g, const plan::call_facts& call);
  // One line a name: NAME and the hash of each target.
  std::string text() const;
  // What was hashed, a file for each name and target.
  void write_texts(const std::string& folder) const;

 private:
  std::map<std::string, std::vector<std::string>> all_;  // by target
};

// What differs, one sentence a line, at most ten of them; empty: nothing. some: names of `golden` may be missing.
std::string difference(const std::string& golden, const std::string& found, bool some);

}  // namespace sheaf::test
