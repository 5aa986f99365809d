/* A loop that threads may share: run body over [0, count), each number once, in any split and order, and return when
 * all is done. cost: nanoseconds of one iteration, an estimate. */
struct sheaf_call;
typedef void (*@name@_body)(const struct sheaf_call *call, int64_t begin, int64_t end);
typedef void (*@name@_parallel_for)(void *pool, @name@_body body, const struct sheaf_call *call, int64_t count,
                                    double cost);

/* How a call runs; null, or members that are 0: the defaults. With a workspace and one thread a call allocates nothing
 * and starts no thread. */
typedef struct @name@_run {
  void *workspace;                   /* of the bytes that KERNEL_workspace says; null: from malloc */
  size_t workspace_bytes;
  @name@_parallel_for parallel_for; /* threads of the application; null: the library's own */
  void *pool;
  int threads; /* of the library's own; 0: as many as processors, 1: the calling one. Of an application's: how many
                * they are, 0 where not known */
} @name@_run;

/* The code that runs: that of the named target from now on, or with null again the best for this processor. */
@NAME@_API int @name@_use_target(const char *target);
@NAME@_API const char *@name@_target(void);

