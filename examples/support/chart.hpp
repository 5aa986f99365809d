// A small chart writer: points, lines and steps over two numeric axes, as SVG.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace support {

enum class mark { line, points, steps };

// One curve. A y that is not finite leaves a gap.
struct series {
  std::string name;  // in the legend; empty: not named there
  std::vector<double> x;
  std::vector<double> y;
  mark drawn = mark::line;
  std::string colour = {};  // any SVG colour; empty: the next of the palette
  double width = 1.8;       // of the line, or the diameter of a point, in pixels
};

// support::write_svg({.title = "Loss", .x_label = "step", .y_label = "loss", .curves = {{"train", step, loss}}},
//                    "loss.svg");
struct chart {
  std::string title;
  std::string subtitle = {};  // one line below the title, in grey
  std::string x_label = {};
  std::string y_label = {};
  std::vector<series> curves = {};
  bool y_from_zero = false;
  int width = 860;  // pixels
  int height = 480;
};

// Throws std::invalid_argument where a curve's x and y differ in length or no point is finite.
std::string to_svg(const chart& drawing);

// Throws std::runtime_error where the file can't be written.
void write_svg(const chart& drawing, const std::filesystem::path& file);

// Round numbers (1, 2 or 5 times a power of ten apart) within [low, high], about `count` of them.
std::vector<double> nice_ticks(double low, double high, int count);

}  // namespace support
