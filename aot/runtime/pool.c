/* The threads of a library of kernels, unless an application gives others: started at the first loop that is worth
 * one, POSIX. Elsewhere, and with SK_NO_THREADS, all runs in the calling thread. Stands after memory.c. C99. */

#if defined(_WIN32) || defined(SK_NO_THREADS)

static void sk_parallel_for(void *pool, sheaf_body body, const sheaf_call *call, int64_t count, double cost) {
  (void)pool;
  (void)cost;
  body(call, 0, count);
}
static int sk_processors(void) { return 1; }

#else
#include <pthread.h>
#include <unistd.h>

enum { sk_most_threads = 256, sk_shares = 4 };

static struct {
  pthread_mutex_t owner;                /* held by the caller whose loop is offered */
  pthread_mutex_t lock;                 /* of what follows */
  pthread_cond_t offered, finished;
  int started, wanted, busy, is_set_up; /* threads beside the caller; those that are in the loop */
  uint64_t epoch;
  sheaf_body body;
  const sheaf_call *call;
  int64_t next, count, least;
} sk_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
             0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0};
static SK_THREAD_LOCAL int sk_inside;

/* With the lock held, at entry and at return. */
static void sk_take_chunks(void) {
  const sheaf_body body = sk_pool.body;
  const sheaf_call *const call = sk_pool.call;
  sk_inside = 1;
  while (sk_pool.next < sk_pool.count) {
    const int64_t begin = sk_pool.next, left = sk_pool.count - begin;
    int64_t size = left / ((int64_t)(sk_pool.wanted + 1) * sk_shares);
    if (size < sk_pool.least) size = sk_pool.least;
    if (size > left) size = left;
    sk_pool.next = begin + size;
    pthread_mutex_unlock(&sk_pool.lock);
    body(call, begin, begin + size);
    pthread_mutex_lock(&sk_pool.lock);
  }
  sk_inside = 0;
}

static void *sk_work(void *number) {
  const int mine = (int)(intptr_t)number;
  uint64_t seen = 0;
  pthread_mutex_lock(&sk_pool.lock);
  for (;;) {
    while (sk_pool.epoch == seen || sk_pool.next >= sk_pool.count || mine >= sk_pool.wanted)
      seen = sk_pool.epoch, pthread_cond_wait(&sk_pool.offered, &sk_pool.lock);
    seen = sk_pool.epoch;
    ++sk_pool.busy;
    sk_take_chunks();
    if (--sk_pool.busy == 0) pthread_cond_signal(&sk_pool.finished);
  }
  return NULL;
}

/* The child of a fork has none of the threads. */
static void sk_after_fork(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  static const pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
  memcpy(&sk_pool.owner, &fresh, sizeof fresh);
  memcpy(&sk_pool.lock, &fresh, sizeof fresh);
  memcpy(&sk_pool.offered, &idle, sizeof idle);
  memcpy(&sk_pool.finished, &idle, sizeof idle);
  sk_pool.started = sk_pool.busy = 0;
  sk_pool.next = sk_pool.count = 0;
  sk_inside = 0;
}

static int sk_processors(void) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : online > sk_most_threads ? sk_most_threads : (int)online;
}

static void sk_start_threads(int wanted) {
  if (!sk_pool.is_set_up) sk_pool.is_set_up = pthread_atfork(NULL, NULL, sk_after_fork) == 0;
  while (sk_pool.started < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sk_work, (void *)(intptr_t)sk_pool.started) != 0) break;
    pthread_detach(thread);
    ++sk_pool.started;
  }
}

/* pool: as many threads, the calling one counted. Loops within a loop, those that are short, and those of a second
 * caller at the same time run in their thread. */
static void sk_parallel_for(void *pool, sheaf_body body, const sheaf_call *call, int64_t count, double cost) {
  const double least_shared = 20000, least_chunk = 2000; /* nanoseconds */
  const int wanted = (int)(intptr_t)pool - 1;
  if (wanted < 1 || count < 2 || sk_inside || cost * (double)count < least_shared ||
      pthread_mutex_trylock(&sk_pool.owner) != 0) {
    body(call, 0, count);
    return;
  }
  pthread_mutex_lock(&sk_pool.lock);
  sk_start_threads(wanted);
  sk_pool.wanted = wanted;
  sk_pool.body = body;
  sk_pool.call = call;
  sk_pool.count = count;
  sk_pool.next = 0;
  sk_pool.least = cost > 0 && least_chunk / cost > 1 ? (int64_t)(least_chunk / cost) : 1;
  ++sk_pool.epoch;
  pthread_cond_broadcast(&sk_pool.offered);
  sk_take_chunks();
  while (sk_pool.busy > 0) pthread_cond_wait(&sk_pool.finished, &sk_pool.lock);
  pthread_mutex_unlock(&sk_pool.lock);
  pthread_mutex_unlock(&sk_pool.owner);
}
#endif
