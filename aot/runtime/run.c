/* Calls of kernels on the processor. Stands after pool.c and the library's targets. C99. */

/* ---- the processor ---- */

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER)
#include <intrin.h>
static void sk_cpuid(unsigned leaf, unsigned r[4]) { __cpuidex((int *)r, (int)leaf, 0); }
static uint64_t sk_saved(void) { return _xgetbv(0); }
#else
#include <cpuid.h>
static void sk_cpuid(unsigned leaf, unsigned r[4]) {
  r[0] = r[1] = r[2] = r[3] = 0;
  if ((unsigned)__get_cpuid_max(leaf & 0x80000000u, NULL) >= leaf) __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]);
}
static uint64_t sk_saved(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t)high << 32) | low;
}
#endif
static int sk_has(unsigned word, unsigned bits) { return (word & bits) == bits; }

/* The level of the psABI: 1 to 4. */
static int sk_level(void) {
  unsigned one[4], seven[4], more[4];
  sk_cpuid(1, one);
  sk_cpuid(7, seven);
  sk_cpuid(0x80000001u, more);
  /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF */
  if (!sk_has(one[2], 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23) || !sk_has(more[2], 1u)) return 1;
  /* FMA, MOVBE, XSAVE in use, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; the system saves the registers */
  if (!sk_has(one[2], 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29) ||
      !sk_has(seven[1], 1u << 3 | 1u << 5 | 1u << 8) || !sk_has(more[2], 1u << 5) || (sk_saved() & 6) != 6)
    return 2;
  /* AVX-512 F, DQ, CD, BW, VL */
  if (!sk_has(seven[1], 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) || (sk_saved() & 0xe6) != 0xe6) return 3;
  return 4;
}
#else
static int sk_level(void) { return 0; }
#endif

static volatile int sk_chosen = -1; /* -1: not looked yet, -2: none of the targets is for this processor */

static int sk_target_here(void) {
  int chosen = sk_chosen;
  if (chosen != -1) return chosen;
  const int level = sk_level();
  chosen = -2;
  for (int t = 0; t < (int)(sizeof sk_targets / sizeof sk_targets[0]); ++t)
    if (sk_targets[t].level <= level) chosen = t;
  sk_chosen = chosen;
  return chosen;
}

static int sk_use_target(const char *name) {
  if (name == NULL) {
    sk_chosen = -1;
    return sk_ok;
  }
  for (int t = 0; t < (int)(sizeof sk_targets / sizeof sk_targets[0]); ++t)
    if (strcmp(sk_targets[t].name, name) == 0) {
      if (sk_targets[t].level > sk_level()) return sk_fail(sk_unsupported, "use_target", "one of this processor", name);
      sk_chosen = t;
      return sk_ok;
    }
  return sk_fail(sk_bad_argument, "use_target", "a target of this library", name);
}

/* ---- a call ---- */

static int sk_run_class(const sk_program *p, const sk_class *c, sk_frame *f, const sk_options *options) {
  const int given = p->input_count + p->output_count, target = sk_target_here();
  double costs[SK_COSTS];
  char words[96];
  if (target < 0) return sk_fail(sk_unsupported, p->name, "a processor that there is code for", "another");
  size_t bytes = 0;
  int status = sk_prepare(p, c, f, &bytes);
  if (status != sk_ok) return status;
  void *allocated = NULL;
  char *memory = options != NULL ? (char *)options->workspace : NULL;
  snprintf(words, sizeof words, "%llu bytes", (unsigned long long)bytes);
  if (memory != NULL && options->workspace_bytes < bytes + sk_alignment)
    return sk_fail(sk_bad_argument, "workspace of a call", words, "fewer (see the workspace function)");
  if (memory == NULL && bytes > 0) {
    memory = (char *)(allocated = malloc(bytes + sk_alignment));
    if (memory == NULL) return sk_fail(sk_out_of_memory, "workspace of a call", words, "no memory");
  }
  if (memory != NULL) memory += (sk_alignment - (uintptr_t)memory % sk_alignment) % sk_alignment;
  for (int k = given; k < SK_SLOTS; ++k)
    if (bytes > 0) f->tensors[k].data = memory + (uintptr_t)f->tensors[k].data;
  for (int k = 0; k < c->cost_count; ++k) costs[k] = sk_formula_value(&f->numbers, c->costs[k]);
  sheaf_failure failure = {0, 0};
  sheaf_call call = {f->tensors, NULL, NULL, &failure, costs, 0};
  const int threads = options != NULL && options->threads > 0 ? options->threads : sk_processors();
  if (options != NULL && options->parallel_for != NULL) {
    call.parallel_for = options->parallel_for;
    call.pool = options->pool;
    call.threads = options->threads;
  } else if (threads > 1) {
    call.parallel_for = sk_parallel_for;
    call.pool = (void *)(intptr_t)threads;
    call.threads = threads;
  }
  if (p->entries[target * p->code_count + c->code](&call) != SHEAF_OK)
    for (int k = 0; k < c->check_count; ++k)
      if (c->checks[k].ordinal >= 0 && c->checks[k].ordinal == failure.check)
        status = sk_fail_check(p, &c->checks[k], f->tensors, failure.position);
  free(allocated);
  return status;
}

static int sk_call(const sk_program *p, const sk_argument *arguments, const sk_options *options) {
  sk_frame f;
  const sk_class *c = NULL;
  const int status = sk_find_class(p, arguments, &f, &c);
  return status == sk_ok ? sk_run_class(p, c, &f, options) : status;
}

static int sk_class_bytes(const sk_program *p, const sk_class *c, sk_frame *f, size_t *bytes) {
  sk_arrange(p, c, f->tensors, f->arranged);
  *bytes = sk_place_arrays(p, c, f->tensors, f->tensors + p->input_count + p->output_count, f->own);
  if (*bytes == SIZE_MAX) return sk_fail(sk_out_of_memory, "workspace of a call", "fewer bytes", "too many");
  *bytes += sk_alignment; /* its start need not be aligned */
  return sk_ok;
}
