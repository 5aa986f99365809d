/* What the C programs of expected.cpp need: arrays in three layouts, and comparisons. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct array {
  char *memory;
  void *data;
  int64_t strides[9], count;
  const int64_t *extents;
  int rank;
  size_t width;
} array;

static int failures, comparisons;

static int64_t offset_of(const array *a, int64_t k) {
  int64_t offset = 0;
  int d;
  for (d = a->rank; d-- > 0;) {
    offset += k % a->extents[d] * a->strides[d];
    k /= a->extents[d];
  }
  return offset;
}
static const char *element_of(const array *a, int64_t k) {
  return (const char *)a->data + offset_of(a, k) * (int64_t)a->width;
}

/* layout 0: no gaps; 1: rows with gaps; 2: elements apart, the first dimension backwards. from: null: zeros. */
static array spread(int layout, const int64_t *extents, int rank, size_t width, const void *from) {
  array a;
  int64_t size = 1, k;
  int d;
  memset(&a, 0, sizeof a);
  a.extents = extents;
  a.rank = rank;
  a.width = width;
  a.count = 1;
  for (d = rank; d-- > 0;) {
    if (layout == 2 && d == rank - 1) size = 3;
    a.strides[d] = size;
    size *= extents[d] + (layout == 1 && d == rank - 1 ? 5 : 0);
    a.count *= extents[d];
  }
  a.memory = malloc((size_t)size * width + 64);
  memset(a.memory, 0, (size_t)size * width + 64);
  a.data = a.memory;
  if (layout == 2 && rank > 0 && extents[0] > 0) {
    a.data = a.memory + (extents[0] - 1) * a.strides[0] * (int64_t)width;
    a.strides[0] = -a.strides[0];
  }
  for (k = 0; from != NULL && k < a.count; ++k)
    memcpy((char *)a.data + offset_of(&a, k) * (int64_t)width, (const char *)from + (size_t)k * width, width);
  return a;
}

static void fail(const char *what, int layout, int64_t k, double found, double expected) {
  if (++failures < 20)
    printf("%s, layout %d, element %ld: %.9g, expected %.9g\n", what, layout, (long)k, found, expected);
}

/* Sums of at most 200 numbers below 2 in size, in any order: an error of at most 200 units of the largest partial sum,
 * 400 * 2^-24 = 2.4e-5 of 1; results of functions of them stay within as much of their own size. */
static int near(double found, double expected, double unit) {
  if (found != found || expected != expected) return found != found && expected != expected;
  return found == expected || fabs(found - expected) <= 400 * unit * (1 + fabs(expected));
}

static void compare_f32(const char *what, int layout, const array *a, const float *expected) {
  int64_t k;
  float found;
  for (k = 0; k < a->count; ++k, ++comparisons) {
    memcpy(&found, element_of(a, k), sizeof found);
    if (!near(found, expected[k], 5.97e-8)) fail(what, layout, k, found, expected[k]);
  }
}
static void compare_f64(const char *what, int layout, const array *a, const double *expected) {
  int64_t k;
  double found;
  for (k = 0; k < a->count; ++k, ++comparisons) {
    memcpy(&found, element_of(a, k), sizeof found);
    if (!near(found, expected[k], 1.12e-16)) fail(what, layout, k, found, expected[k]);
  }
}
static void compare_bits(const char *what, int layout, const array *a, const void *expected) {
  int64_t k;
  for (k = 0; k < a->count; ++k, ++comparisons)
    if (memcmp(element_of(a, k), (const char *)expected + (size_t)k * a->width, a->width) != 0)
      fail(what, layout, k, 0, 0);
}
static void expect_ok(const char *what, int status, const char *message) {
  if (status == 0) return;
  ++failures;
  printf("%s: %s\n", what, message);
}
/* Which number was found, of several that are wrong, is the library's to choose. */
static void expect_refused(const char *what, int status, const char *message, const char *expected) {
  ++comparisons;
  if (status != 0 && strncmp(message, expected, strlen(expected)) == 0) return;
  ++failures;
  printf("%s: expected %s, found %d, %s\n", what, expected, status, message);
}
/* A plan serves it, and may need more memory than there is (status 6). */
static void expect_served(const char *what, int status, const char *message) {
  ++comparisons;
  if (status != 0 && status != 6) ++failures, printf("%s: %s\n", what, message);
}
static int finish(void) {
  printf("%d comparisons, %d failures\n", comparisons, failures);
  return failures == 0 && comparisons > 0 ? 0 : 1;
}
