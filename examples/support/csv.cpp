#include <support/csv.hpp>

#include <charconv>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace support {
namespace {

constexpr int pixels_per_digit = 64;

// Reads a file line by line, and says where it was when something is wrong.
class lines {
 public:
  explicit lines(const std::filesystem::path& file) : name_(file.string()), stream_(file) {
    if (!stream_) throw std::runtime_error("csv: cannot open " + name_);
  }

  bool next() {
    if (!std::getline(stream_, line_)) return false;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    rest_ = line_;
    ++number_;
    return true;
  }

  // The next field of the line; empty after the last one.
  std::string_view field() {
    const std::size_t comma = rest_.find(',');
    const std::string_view result = rest_.substr(0, comma);
    rest_ = comma == std::string_view::npos ? std::string_view() : rest_.substr(comma + 1);
    return result;
  }

  template <class T>
  T parse(std::string_view text) const {
    T value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size())
      fail("expected a number, found \"" + std::string(text) + "\"");
    return value;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("csv: " + name_ + ":" + std::to_string(number_) + ": " + what);
  }

 private:
  std::string name_;
  std::ifstream stream_;
  std::string line_;
  std::string_view rest_;
  int number_ = 0;
};

// Middle of the day, so that no date lies on a year's edge.
double decimal_year(std::chrono::year_month_day date) {
  using namespace std::chrono;
  const auto day_of = [](year_month_day d) { return sys_days(d).time_since_epoch().count(); };
  const auto first = day_of(date.year() / January / 1);
  const auto next = day_of((date.year() + years(1)) / January / 1);
  return static_cast<int>(date.year()) +
         (static_cast<double>(day_of(date) - first) + 0.5) / static_cast<double>(next - first);
}

}  // namespace

digits read_digits(const std::filesystem::path& file) {
  digits result;
  lines source(file);
  while (source.next()) {
    for (int i = 0; i < pixels_per_digit; ++i)
      result.pixels.push_back(static_cast<float>(source.parse<int>(source.field())));
    const auto label = source.parse<std::int64_t>(source.field());
    if (label < 0 || label > 9) source.fail("expected a label from 0 to 9, found " + std::to_string(label));
    result.labels.push_back(label);
  }
  return result;
}

readings read_readings(const std::filesystem::path& file) {
  readings result;
  lines source(file);
  source.next();  // the names of the columns
  while (source.next()) {
    const int day = source.parse<int>(source.field());  // YYYYMMDD
    const std::chrono::year_month_day date(std::chrono::year(day / 10000),
                                           std::chrono::month(static_cast<unsigned>(day / 100 % 100)),
                                           std::chrono::day(static_cast<unsigned>(day % 100)));
    if (!date.ok()) source.fail("expected a date YYYYMMDD, found " + std::to_string(day));
    const std::string_view value = source.field();
    result.time.push_back(decimal_year(date));
    result.year.push_back(day / 10000);
    result.month.push_back(day / 100 % 100);
    result.value.push_back(value.empty() ? 0.0f : source.parse<float>(value));
    result.valid.push_back(value.empty() ? 0 : 1);
  }
  return result;
}

}  // namespace support
