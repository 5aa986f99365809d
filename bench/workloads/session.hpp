// One run of the workload table: which rows are wanted, the machine's passes, and the line of each row.
#pragma once
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <support/bandwidth.hpp>
#include <support/cores.hpp>
#include <support/pairs.hpp>

namespace sheaf::bench {

// The bytes that a row cannot avoid: each element of an input that is needed read once, each output written once.
struct traffic {
  double read = 0, written = 0;
  friend traffic operator+(const traffic& a, const traffic& b) { return {a.read + b.read, a.written + b.written}; }
};
template <class T, int Rank>
double bytes_of(const array<T, Rank>& a) {
  return static_cast<double>(a.size()) * sizeof(T);
}
template <class... Array>
traffic reads(const Array&... a) {
  return {(0.0 + ... + bytes_of(a)), 0};
}
template <class... Array>
traffic writes(const Array&... a) {
  return {0, (0.0 + ... + bytes_of(a))};
}

class session {
 public:
  session();
  void select(const char* id) { wanted_.push_back(id); }
  bool wants(const std::string& id) const;
  // Rows are measured `repeats` times, as long as that takes no more than so many seconds.
  void set_patience(int repeats, double seconds) { repeats_ = repeats, patience_ = seconds; }

  // Each row becomes a simulation of so many cores instead.
  void simulate(int cores, bool details) { cores_ = cores, details_ = details; }

  // Seconds that the bytes take in a plain loop, measured now: the largest of reading, writing, and both at the speed
  // of a copy. The passes are larger than the caches, so a kernel that runs after them starts cold.
  double bound(const traffic& bytes);

  // Times the kernel in pairs with its bound, then asks for its error: both are functions of nothing.
  template <class Kernel, class Error>
  timing row(const char* id, const char* what, const traffic& bytes, Kernel kernel, Error error) {
    if (cores_ > 0) return on_cores(id, what, kernel);
    progress(id, what, "time");
    const timing t = in_pairs(kernel, [&] { return bound(bytes); }, repeats_, patience_);
    progress(id, what, "error");
    const double apart = error();
    progress(nullptr, nullptr, nullptr);
    report(id, what, t.kernel, "ms", t.bound, t.percent, apart, bytes.read, bytes.written);
    return t;
  }
  void note_bandwidth();
  static void progress(const char* id, const char* what, const char* doing);

 private:
  timing on_cores(const char* id, const char* what, const std::function<void()>& kernel);

  std::vector<std::string> wanted_;
  int cores_ = 0;
  bool details_ = false;
  array<float, 1> from_, to_;
  int repeats_ = 11;
  double patience_ = 4;
};

// Each measures the rows of its ids that are wanted.
void gather_means(session&);     // W1 W2
void slice_means(session&);      // W3 W4 overlap kept
void matrix_means(session&);     // W5 W6
void pooling(session&);          // W7
void layer_norms(session&);      // W8
void softmaxes(session&);        // W9
void embedding_bags(session&);   // W10 kept
void segments(session&);         // W11
void axis_reductions(session&);  // W12
void windows(session&);          // W13 window
void small_work(session&);       // sum_l1 threads
void strict_bits(session&);      // strict

}  // namespace sheaf::bench
