/* The calling convention of every compiled kernel, the same for kernels made at run time and ahead of time. C99. */
#ifndef SHEAF_CALL_H
#define SHEAF_CALL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One argument: an input, an output or a workspace array. Strides are in elements and may be negative. */
typedef struct sheaf_tensor {
  void *data;
  const int64_t *extents;
  const int64_t *strides;
} sheaf_tensor;

struct sheaf_call;

/* One task of a parallel loop: iterations [begin, end). Tasks write disjoint places. */
typedef void (*sheaf_body)(const struct sheaf_call *call, int64_t begin, int64_t end);

/* Runs body over [0, count), in any split and order; returns when all of it is done.
 * cost is an estimate of the nanoseconds of one iteration on one core: below some total no thread is worth waking. */
typedef void (*sheaf_parallel_for)(void* pool, sheaf_body body, const struct sheaf_call* call, int64_t count,
                                   double cost);

/* Written when a call fails its index checks, before any output is touched. */
typedef struct sheaf_failure {
  int64_t check;    /* which check, in the program's order */
  int64_t position; /* row-major position within the check's iteration space; the smallest one that fails */
} sheaf_failure;

typedef struct sheaf_call {
  const sheaf_tensor *tensors; /* by slot: inputs, outputs, workspace, check results */
  sheaf_parallel_for parallel_for; /* may be null: then everything runs in the calling thread */
  void *pool;
  sheaf_failure *failure;
  const double *costs; /* of the parallel loops, in the order of the kernels: see sheaf_parallel_for */
  int64_t threads; /* that share a loop, about: loops whose tasks repeat work have no more tasks; 0: not known */
} sheaf_call;

enum { SHEAF_OK = 0, SHEAF_BAD_INDEX = 1 };

/* A compiled program. Returns SHEAF_OK, or SHEAF_BAD_INDEX with *failure filled. */
typedef int32_t (*sheaf_entry)(const sheaf_call *call);

#ifdef __cplusplus
}
#endif
#endif
