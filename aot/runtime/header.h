/* Kernels for @targets@. Made by sheaf-aot; needs libc and libm@driver@. C99.
 *
 * Arrays are a pointer to the first element, extents and strides, which count elements and may be negative. Strides
 * that are null are those of rows without gaps. The extents of outputs follow from those of inputs. A function returns
 * @NAME@_OK or what went wrong; outputs are untouched then, and @name@_message() is a sentence about it. Calls from
 * several threads at a time are safe. */
#ifndef SHEAF_KERNELS_@NAME@_H
#define SHEAF_KERNELS_@NAME@_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(@NAME@_SHARED)
#ifdef @NAME@_BUILDS
#define @NAME@_API __declspec(dllexport)
#else
#define @NAME@_API __declspec(dllimport)
#endif
#elif defined(@NAME@_BUILDS) && defined(__GNUC__)
#define @NAME@_API __attribute__((visibility("default")))
#else
#define @NAME@_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  @NAME@_OK,
  @NAME@_BAD_ARGUMENT,       /* a null pointer, an extent below 0, memory that two arrays share */
  @NAME@_EXTENT_MISMATCH,    /* extents contradict the program or each other */
  @NAME@_INDEX_OUT_OF_RANGE, /* data names an element that a tensor does not have */
  @NAME@_EMPTY_REDUCTION,    /* where the program says that this is an error */
  @NAME@_UNSUPPORTED,        /* extents or a processor that there is no kernel for */
  @NAME@_OUT_OF_MEMORY,
  @NAME@_DEVICE_FAILED       /* no driver of GPUs, no GPU, or what that said */
};
/* "index_out_of_range" */
@NAME@_API const char *@name@_status_name(int status);
/* The sentence of the call of this thread that failed last; valid until the next one that fails. */
@NAME@_API const char *@name@_message(void);

@devices@
@kernels@
#ifdef __cplusplus
}
#endif
#endif
