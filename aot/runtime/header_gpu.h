/* A kernel with _gpu has its arrays in the memory of the GPU of the thread's current context (else the first one's
 * primary context), single numbers too; the memory outlives what the stream, a CUstream or null, does with it. The
 * driver is opened at the first call. Null, or members that are 0: the defaults. */
typedef struct @name@_gpu_run {
  void *workspace;        /* device memory, 256-aligned, of the bytes that KERNEL_gpu_workspace says; null: the
                           * driver's */
  size_t workspace_bytes;
  int queue_only;         /* else a kernel that checks data waits for the stream, and says what is wrong with it;
                           * with 1 KERNEL_gpu_result does so, given the same arguments and workspace */
} @name@_gpu_run;

/* "sm_90": what the GPU of this thread has code of; or "none". */
@NAME@_API const char *@name@_gpu_target(void);

