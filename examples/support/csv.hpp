// The two data sets of examples/data; its README gives their origin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace support {

// Handwritten digits: images of 8 rows of 8 pixels, 0 to 16, one after the other, and what each shows.
struct digits {
  std::vector<float> pixels;         // [label count][8][8]
  std::vector<std::int64_t> labels;  // 0 to 9
};

// Weekly carbon dioxide at Mauna Loa. All vectors have one element a week.
struct readings {
  std::vector<double> time;         // decimal year of the week's date
  std::vector<std::int64_t> year;   // calendar year
  std::vector<std::int64_t> month;  // 1 to 12
  std::vector<float> value;         // parts per million; 0 where missing
  std::vector<std::uint8_t> valid;  // 1, or 0 where missing
};

// Both throw std::runtime_error, naming file and line, where the file is missing or not of the expected form.
digits read_digits(const std::filesystem::path& file);
readings read_readings(const std::filesystem::path& file);

}  // namespace support
