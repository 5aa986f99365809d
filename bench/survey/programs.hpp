// Random programs of the catalogue and mixtures of them, with the sizes and the data that users have, or those of a
// file. Input: a seed; a file. Output: a program as text, and its inputs. Shown by the survey itself.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <sheaf/dsl/graph/element.hpp>

namespace sheaf::bench {

enum class data_kind : std::uint8_t { values, positive, places, sorted_places, offsets, slices, mask };
enum class spread : std::uint8_t { uniform, zipf, giant };  // how long slices are, how often a place occurs

struct input_data {
  std::string name;
  element type = element::f32;
  std::vector<std::int64_t> extents;
  data_kind kind = data_kind::values;
  std::int64_t below = 0;  // places, and what offsets and slices lie in
  spread how = spread::uniform;
};

struct drawn_program {
  std::string family, text;
  std::vector<input_data> inputs;
};

struct drawing_limits {
  double least = 1e4, most = 2e7;  // elements of the largest input
  double work = 1e9;               // terms of all sums of products
};

drawn_program draw_program(std::uint64_t seed, const drawing_limits& limits);

// "# x: f32 1000 200", "# ids: i64 1000, sorted_places below 40, zipf": how the survey prints an input and reads it.
std::string described(const input_data& input);
// Programs of a file: each begins with a line for each input, its name on a line "## NAME" before them if it has one.
// Throws std::runtime_error that names the line.
std::vector<drawn_program> programs_of(const std::string& file);

// Fills memory of the input's type.
void fill_input(const input_data& input, std::uint64_t seed, void* into);
// An element of this type, as f64.
double real_at(element type, const void* data, std::size_t i);

}  // namespace sheaf::bench
