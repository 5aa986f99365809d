/* Calls of `gather` and `ends` on a GPU with arrays in its memory, for gpu.sh: the tests' driver takes its calls by
 * their names. Prints what went wrong, and exits with 1 where that is not what it should be. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "one.h"

typedef int (*allocate)(uint64_t *at, size_t bytes, void *stream);
typedef int (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
typedef int (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
typedef int (*wait_for)(void *stream);

static void *driver;
static void find(const char *name, void *to) {
  void *const found = dlsym(driver, name);
  memcpy(to, &found, sizeof found);
}

/* Of more rows than 32 bits count the last five: all of them are one number in memory. */
static int ends(uint64_t x_there, uint64_t y_there) {
  const int64_t below = ((int64_t)1 << 31) - 3, rows = below + 5, same = 0, one = 1, count = 4;
  const float *const numbers = (const float *)(uintptr_t)x_there;
  return one_ends_gpu(numbers, &rows, &same, numbers, &count, NULL, numbers, &one, NULL, numbers, &below, &same,
                      (float *)(uintptr_t)y_there, NULL, NULL, NULL);
}

int main(void) {
  const int64_t rows = 5, count = 4;
  const float x[5] = {1, 2, 3, 4, 5};
  int64_t at[4] = {4, 0, 3, 1};
  float y[4] = {0, 0, 0, 0};
  uint64_t x_there, at_there, y_there;
  size_t bytes = 0;
  /* The context of the thread is made by the first call of the library. */
  int status = one_gather_gpu_workspace(&rows, &count, &bytes);
  if (status != ONE_OK) {
    printf("%s: %s\n", one_status_name(status), one_message());
    return 0;
  }
  printf("target %s, workspace of %lu bytes\n", one_gpu_target(), (unsigned long)bytes);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  allocate take;
  copy_in put;
  copy_out get;
  wait_for finish;
  find("cuMemAllocAsync", &take);
  find("cuMemcpyHtoDAsync_v2", &put);
  find("cuMemcpyDtoHAsync_v2", &get);
  find("cuStreamSynchronize", &finish);
  uint64_t memory;
  if (take(&x_there, sizeof x, NULL) + take(&at_there, sizeof at, NULL) + take(&y_there, sizeof y, NULL) +
          take(&memory, bytes, NULL) + put(x_there, x, sizeof x, NULL) + put(at_there, at, sizeof at, NULL) != 0)
    return puts("no memory"), 1;
#define GATHER(function, run)                                                                                        \
  function((const float *)(uintptr_t)x_there, &rows, NULL, (const int64_t *)(uintptr_t)at_there, &count, NULL,      \
           (float *)(uintptr_t)y_there, NULL, NULL, run)
  if (GATHER(one_gather_gpu, NULL) != ONE_OK) return puts(one_message()), 1;
  get(y, y_there, sizeof y, NULL);
  finish(NULL);
  if (y[0] != 10 || y[1] != 2 || y[2] != 8 || y[3] != 4) return puts("wrong values"), 1;

  if (ends(x_there, y_there) != ONE_OK) return puts(one_message()), 1;
  get(y, y_there, sizeof y, NULL);
  finish(NULL);
  if (y[0] != 5 || y[1] != 10 || y[2] != 15 || y[3] != 20) return puts("wrong sums of many rows"), 1;

  /* Queued only: what is wrong with data is asked for later. Outputs stay as they were. */
  one_gpu_run run = {NULL, 0, 1};
  if (GATHER(one_gather_gpu, &run) != ONE_BAD_ARGUMENT) return puts("queued without a workspace"), 1;
  run.workspace = (void *)(uintptr_t)memory;
  run.workspace_bytes = bytes - 1;
  if (GATHER(one_gather_gpu, &run) != ONE_BAD_ARGUMENT) return puts("too small a workspace"), 1;
  run.workspace_bytes = bytes;
  if (GATHER(one_gather_gpu, &run) != ONE_OK || GATHER(one_gather_gpu_result, &run) != ONE_OK)
    return puts(one_message()), 1;
  at[2] = 7;
  put(at_there, at, sizeof at, NULL);
  if (GATHER(one_gather_gpu, &run) != ONE_OK) return puts("a queued call looked at data"), 1;
  if (GATHER(one_gather_gpu_result, &run) != ONE_INDEX_OUT_OF_RANGE) return puts("no error, queued"), 1;
  if (GATHER(one_gather_gpu, NULL) != ONE_INDEX_OUT_OF_RANGE) return puts("no error"), 1;
  puts(one_message());
  get(y, y_there, sizeof y, NULL);
  finish(NULL);
  return y[0] == 10 ? 0 : 1;
}
