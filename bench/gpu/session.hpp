// One run of the GPU's table: rows timed by events on one stream, each beside the time that a device copy takes for
// its bytes.
#pragma once
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>
#include <workloads/data.hpp>

namespace sheaf::bench {

template <class T, int Rank>
double bytes_of(const device_array<T, Rank>& a) {
  return static_cast<double>(a.size()) * sizeof(T);
}
// Of all of them: each element read or written once.
template <class... Array>
double bytes_of_all(const Array&... a) {
  return (0.0 + ... + bytes_of(a));
}

// What value and gradient of a program are written to, and the cotangent of the value.
template <int Of, int By>
struct results {
  device_array<float, Of>& y;
  const device_array<float, Of>& dy;
  device_array<float, By>& dx;
};

class gpu_session {
 public:
  explicit gpu_session(std::vector<std::string> wanted);
  bool wants(const std::string& id) const;

  stream s{on(gpu)};

  template <class... Extent>
  auto random(double low, double high, Extent... extent) {
    auto made = to_device(noise(low, high, extent...), s);
    s.synchronise();
    return made;
  }
  template <class... Extent>
  auto empty(Extent... extent) {
    return device_array<float, sizeof...(Extent)>(uninitialized, s, extent...);
  }

  // The median of many calls in milliseconds; the first ones, which compile, do not count.
  template <class Call>
  double median_of(Call call) {
    for (int k = 0; k < (once ? 0 : 3); ++k) call();
    s.synchronise();
    std::vector<double> times;
    event first, last;
    for (int k = 0; k < (once ? 1 : repeats); ++k) {
      first.record(s);
      call();
      last.record(s);
      times.push_back(last.milliseconds_since(first));
    }
    s.synchronise();
    return median(times);
  }

  // bytes: that a row cannot avoid, read and written.
  template <class Call>
  void row(const char* id, const std::string& what, double bytes, Call call) {
    try {
      if (once) mark();
      const double ms = median_of(call), bound = bytes / bytes_per_ms_;
      report(id, what.c_str(), ms, "ms", bound, 100 * bound / ms);
    } catch (const error& e) {
      std::printf("note %s %s failed: %s\n", id, what.c_str(), e.what());
      failed = true;
    }
  }
  // Two rows: the value y, and y with its gradient by x. bytes: those of the inputs; name: before the colon, empty for
  // the only form.
  template <class Y, class X, int Of, int By, class... Named>
  void both_rows(const char* id, const std::string& name, Y y, X x, const results<Of, By>& into, double bytes,
                 const Named&... inputs) {
    const std::string what = name.empty() ? name : name + ":";
    const auto forward = compile(y, on(gpu));
    row(id, what + "forward", bytes + bytes_of(into.y), [&] { forward(inputs..., y = into.y, on(s)); });
    const auto dx = vjp(y, x);
    const auto both = compile(y, dx, on(gpu));
    row(id, what + "forward+backward", bytes + bytes_of_all(into.y, into.dy, into.dx),
        [&] { both(inputs..., cotangent(y) = into.dy, y = into.y, dx = into.dx, on(s)); });
  }

  static constexpr int repeats = 21;
  bool failed = false;
  bool once = false;  // for a profiler: each row is called once, behind a kernel named after "mark"

 private:
  void mark();

  std::vector<std::string> wanted_;
  double bytes_per_ms_ = 1;
};

void small_calls(gpu_session&);  // launch compile
void streaming(gpu_session&);    // sum
void matrices(gpu_session&);     // W5 W6 W12
void rows(gpu_session&);         // W8 W9
void gathers(gpu_session&);      // W1 W2 gather_gradient
void slice_means(gpu_session&);  // W3 W4
void bags(gpu_session&);         // W10
void segments(gpu_session&);     // W11 segmented
void gpu_windows(gpu_session&);  // W7 W13
void products(gpu_session&);     // matmul
void catalogue(gpu_session&);    // catalogue

}  // namespace sheaf::bench
