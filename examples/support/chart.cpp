#include <support/chart.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace support {
namespace {

// Told apart in greyscale and by the colour-blind: Okabe and Ito (2008), without yellow.
constexpr std::array palette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"};
constexpr const char* ink = "#1f2933";
constexpr const char* grey = "#6b7785";
constexpr const char* faint = "#e4e8ec";
constexpr double letter_width = 6.9;  // mean width of a letter at 12 pixels; no font can be measured here

struct range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// Where the data is drawn, in pixels from the top left, and the values at its edges.
struct frame {
  double left, top, right, bottom;
  range x, y;

  double at_x(double value) const { return left + (value - x.low) / (x.high - x.low) * (right - left); }
  double at_y(double value) const { return bottom - (value - y.low) / (y.high - y.low) * (bottom - top); }
};

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};  // the longest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string pixel(double value) { return fixed(value, 1); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&')
      result += "&amp;";
    else if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else if (letter == '"')
      result += "&quot;";
    else
      result += letter;
  }
  return result;
}

std::string text_at(double x, double y, const std::string& attributes, const std::string& words) {
  return "<text x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\" " + attributes + ">" + escaped(words) + "</text>\n";
}

std::string line_between(double x1, double y1, double x2, double y2, const char* colour, double width) {
  return "<line x1=\"" + pixel(x1) + "\" y1=\"" + pixel(y1) + "\" x2=\"" + pixel(x2) + "\" y2=\"" + pixel(y2) +
         "\" stroke=\"" + colour + "\" stroke-width=\"" + pixel(width) + "\"/>\n";
}

bool is_finite(const series& curve, std::size_t i) { return std::isfinite(curve.x[i]) && std::isfinite(curve.y[i]); }

// A range of no width has no scale: it is given one.
range widened(range values, double share) {
  double margin = (values.high - values.low) * share;
  if (values.high == values.low) margin = values.low == 0 ? 1 : std::abs(values.low) * 0.1;
  return {values.low - margin, values.high + margin};
}

// The data's range: x as it is, y to whole ticks, so that the outermost curve doesn't touch the frame.
frame frame_of(const chart& drawing, double top) {
  range x;
  range y;
  for (const series& curve : drawing.curves) {
    if (curve.x.size() != curve.y.size())
      throw std::invalid_argument("chart \"" + drawing.title + "\": curve \"" + curve.name + "\" has " +
                                  std::to_string(curve.x.size()) + " x and " + std::to_string(curve.y.size()) + " y");
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!is_finite(curve, i)) continue;
      x.include(curve.x[i]);
      y.include(curve.y[i]);
    }
  }
  if (x.low > x.high) throw std::invalid_argument("chart \"" + drawing.title + "\": no point is finite");
  if (drawing.y_from_zero) y.include(0);
  y = widened(y, drawing.y_from_zero ? 0 : 0.04);
  const std::vector<double> ticks = nice_ticks(y.low, y.high, 6);
  if (ticks.size() > 1) {
    const double step = ticks[1] - ticks[0];
    y = {std::floor(y.low / step + 1e-9) * step, std::ceil(y.high / step - 1e-9) * step};
  }
  return {64, top, drawing.width - 24.0, drawing.height - 52.0, widened(x, 0.01), y};
}

// As many decimals as tell neighbouring ticks apart.
int decimals_of(const std::vector<double>& ticks) {
  if (ticks.size() < 2) return 1;
  return std::clamp(static_cast<int>(-std::floor(std::log10(ticks[1] - ticks[0]) + 1e-9)), 0, 12);
}

std::string axes(const chart& drawing, const frame& area) {
  std::string svg;
  const std::string small = std::string("fill=\"") + grey + "\" font-size=\"12\"";
  const std::vector<double> rows = nice_ticks(area.y.low, area.y.high, 6);
  for (const double tick : rows) {
    const double y = area.at_y(tick);
    svg += line_between(area.left, y, area.right, y, faint, 1);
    svg += text_at(area.left - 10, y + 4, small + " text-anchor=\"end\"", fixed(tick, decimals_of(rows)));
  }
  const std::vector<double> columns = nice_ticks(area.x.low, area.x.high, std::max(2, drawing.width / 100));
  for (const double tick : columns) {
    const double x = area.at_x(tick);
    svg += line_between(x, area.bottom, x, area.bottom + 5, grey, 1);
    svg += text_at(x, area.bottom + 20, small + " text-anchor=\"middle\"", fixed(tick, decimals_of(columns)));
  }
  svg += line_between(area.left, area.bottom, area.right, area.bottom, grey, 1);
  svg += text_at((area.left + area.right) / 2, area.bottom + 42, small + " text-anchor=\"middle\"", drawing.x_label);
  return svg + text_at(18, area.top - 14, small, drawing.y_label);
}

std::string points(const series& curve, const frame& area, const std::string& colour) {
  std::string svg = "<g fill=\"" + colour + "\" fill-opacity=\"0.75\">\n";
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!is_finite(curve, i)) continue;
    svg += "<circle cx=\"" + pixel(area.at_x(curve.x[i])) + "\" cy=\"" + pixel(area.at_y(curve.y[i])) + "\" r=\"" +
           pixel(curve.width / 2) + "\"/>\n";
  }
  return svg + "</g>\n";
}

// A line, or a staircase whose value holds until the next x. The pen is lifted where a point is missing.
std::string path(const series& curve, const frame& area, const std::string& colour) {
  std::string steps;
  bool drawn = false;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!is_finite(curve, i)) {
      drawn = false;
      continue;
    }
    const std::string x = pixel(area.at_x(curve.x[i]));
    const std::string y = pixel(area.at_y(curve.y[i]));
    if (drawn && curve.drawn == mark::steps)
      steps += "H" + x + "V" + y;
    else
      steps += (drawn ? "L" : "M") + x + " " + y + (drawn ? "" : "h0");  // h0: a lone point shows as a dot
    drawn = true;
  }
  return "<path d=\"" + steps + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" + pixel(curve.width) +
         "\" stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n";
}

std::string colour_of(const chart& drawing, std::size_t curve) {
  const std::string& chosen = drawing.curves[curve].colour;
  return chosen.empty() ? palette[curve % palette.size()] : chosen;
}

// Names from the right edge leftwards, on the line of the y label.
std::string legend(const chart& drawing, double right, double y) {
  std::string svg;
  for (std::size_t i = drawing.curves.size(); i-- > 0;) {
    const series& curve = drawing.curves[i];
    if (curve.name.empty()) continue;
    right -= static_cast<double>(curve.name.size()) * letter_width;
    svg += text_at(right, y, std::string("fill=\"") + ink + "\" font-size=\"12\"", curve.name);
    const std::string colour = colour_of(drawing, i);
    if (curve.drawn == mark::points) {
      svg +=
          "<circle cx=\"" + pixel(right - 12) + "\" cy=\"" + pixel(y - 4) + "\" r=\"3.5\" fill=\"" + colour + "\"/>\n";
    } else {
      svg += line_between(right - 22, y - 4, right - 6, y - 4, colour.c_str(), 3);
    }
    right -= 36;
  }
  return svg;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  const double raw = (high - low) / std::max(1, count);
  if (!(raw > 0) || !std::isfinite(raw)) return {low};
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double share = raw / power;  // in [1, 10)
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  const double last = std::floor(high / step + 1e-9);
  for (double i = std::ceil(low / step - 1e-9); i <= last; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

std::string to_svg(const chart& drawing) {
  const double head = drawing.subtitle.empty() ? 34 : 54;
  const frame area = frame_of(drawing, head + 40);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(drawing.width) +
                    "\" height=\"" + std::to_string(drawing.height) + "\" viewBox=\"0 0 " +
                    std::to_string(drawing.width) + " " + std::to_string(drawing.height) +
                    "\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += text_at(18, 30, std::string("fill=\"") + ink + "\" font-size=\"18\" font-weight=\"600\"", drawing.title);
  if (!drawing.subtitle.empty())
    svg += text_at(18, 51, std::string("fill=\"") + grey + "\" font-size=\"13\"", drawing.subtitle);
  svg += axes(drawing, area);
  for (std::size_t i = 0; i < drawing.curves.size(); ++i) {
    const series& curve = drawing.curves[i];
    svg += curve.drawn == mark::points ? points(curve, area, colour_of(drawing, i))
                                       : path(curve, area, colour_of(drawing, i));
  }
  return svg + legend(drawing, area.right, area.top - 14) + "</svg>\n";
}

void write_svg(const chart& drawing, const std::filesystem::path& file) {
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << to_svg(drawing);
  stream.close();
  if (!stream) throw std::runtime_error("chart: cannot write " + file.string());
}

}  // namespace support
