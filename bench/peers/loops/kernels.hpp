// Loops as a good engineer writes them in an hour: plain C++ on pointers, rows in order, OpenMP for cores and lanes.
// A gradient's pointer may be null: then only the value is computed.
#pragma once
#include <cstdint>

namespace loops {

using ids = const std::int64_t*;
using in = const float*;
using out = float*;

void gather_mean(in x, ids pick, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F, std::int64_t K);
void given_mean(in x, const bool* keep, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F);
void mask_mean(in x, ids pick, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F, std::int64_t K);

void slice_mean(in x, ids cut, in dy, out y, out dx, std::int64_t M, std::int64_t T, std::int64_t F);  // side by side
// before: (T + 1) * F numbers to work with.
void overlap_mean(in x, ids cut, in dy, out y, out dx, double* before, std::int64_t M, std::int64_t T, std::int64_t F);

void mean0(in x, in dy, out y, out dx, std::int64_t n);
void mean1(in x, in dy, out y, out dx, std::int64_t n);
float mean_square(in x, out dx, std::int64_t n);
void logsumexp0(in x, in dy, out y, out dx, std::int64_t n);
void logsumexp1(in x, in dy, out y, out dx, std::int64_t n);
void var0(in x, in dy, out y, out dx, std::int64_t n);
void var1(in x, in dy, out y, out dx, std::int64_t n);
void norm0(in x, in dy, out y, out dx, std::int64_t n);
void norm1(in x, in dy, out y, out dx, std::int64_t n);
void argmax0(in x, std::int64_t* y, std::int64_t n);
void argmax1(in x, std::int64_t* y, std::int64_t n);

// Kernel 3, stride 2, padding 1, of planes 2n x 2n into n x n.
void average_pool(in x, in dy, out y, out dx, std::int64_t planes, std::int64_t n);
void maximum_pool(in x, in dy, out y, out dx, std::int64_t planes, std::int64_t n);
void window_mean(in x, in dy, out y, out dx, std::int64_t n, std::int64_t width);

void layer_norm(in x, in w, in b, in dy, out y, out dx, out dw, out db, std::int64_t rows, std::int64_t n);
void softmax(in x, in dy, out y, out dx, std::int64_t rows, std::int64_t n);
float cross_entropy(in x, ids target, out dx, std::int64_t rows, std::int64_t n);

struct bags {
  in table;
  ids id, off;
  in weight;  // null: 1
  bool mean;
  std::int64_t count, features, words;
};
void bag_sum(const bags&, in dy, out y, out dtable, out dweight);
// first: of each result the word that has it.
void bag_max(const bags&, in dy, out y, out dtable, std::int32_t* first);

void segment_mean(in x, ids off, in dy, out y, out dx, std::int64_t segments);
void segment_softmax(in x, ids off, in dy, out y, out dx, std::int64_t segments);

}  // namespace loops
