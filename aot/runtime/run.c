/* The call itself. Stands after pool.c; SK_SLOTS, SK_NUMBERS and the targets are of the library. C99. */

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

typedef struct sk_frame {
  sheaf_tensor tensors[SK_SLOTS];
  int64_t dense[8 * SK_SLOTS], outputs[8 * SK_SLOTS], arranged[16 * SK_SLOTS], own[SK_NUMBERS];
  sk_numbers numbers;
} sk_frame;

/* Inputs and outputs of a call, with their extents checked. has_outputs: else only what inputs say. */
static int sk_describe(const sk_program *p, const sk_argument *arguments, sk_frame *f, int has_outputs) {
  static const int64_t nothing[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  const int slots = p->input_count + (has_outputs ? p->output_count : 0);
  for (int s = 0; s < slots; ++s) {
    const int is_input = s < p->input_count;
    const sk_argument_row *row = is_input ? &p->inputs[s] : &p->outputs[s - p->input_count];
    f->tensors[s].data = (void *)(uintptr_t)arguments[s].data;
    f->tensors[s].extents = arguments[s].extents;
    if (is_input && row->rank == 0) f->tensors[s].extents = nothing;
    if (is_input && f->tensors[s].extents == NULL) {
      char operation[128];
      snprintf(operation, sizeof operation, "argument %s", row->name);
      return sk_fail(sk_bad_argument, operation, "extents", "a null pointer");
    }
    if (s == p->input_count) {
      int status = sk_expect_extents(p, f->tensors);
      if (status == sk_ok) status = sk_output_extents(p, f->tensors, f->outputs);
      if (status != sk_ok) return status;
    }
    if (!is_input) f->tensors[s].extents = f->outputs + 8 * (s - p->input_count);
    f->tensors[s].strides = arguments[s].strides;
    if (arguments[s].strides == NULL) {
      sk_row_major(f->tensors[s].extents, f->dense + 8 * s, row->rank);
      f->tensors[s].strides = f->dense + 8 * s;
    }
  }
  return has_outputs && p->output_count > 0 ? sk_ok : sk_expect_extents(p, f->tensors);
}

/* The checks that need no data, for inputs as a class sees them. */
static int sk_expect_uniform(const sk_program *p, const sk_class *c, const sheaf_tensor *inputs) {
  const sk_scope s = {p, inputs, 0, {0}, {0}};
  int64_t outside;
  for (int k = 0; k < c->check_count; ++k)
    if (c->checks[k].ordinal < 0 && sk_value(&s, c->checks[k].outside, &outside) && outside != 0)
      return sk_fail_check(p, &c->checks[k], inputs, 0);
  return sk_ok;
}

static int sk_run_class(const sk_program *p, const sk_class *c, sk_frame *f, const sk_options *options) {
  const int given = p->input_count + p->output_count, target = sk_target_here();
  double costs[SK_COSTS];
  char words[96];
  if (target < 0) return sk_fail(sk_unsupported, p->name, "a processor that there is code for", "another");
  sk_arrange(p, c, f->tensors, f->arranged);
  int status = sk_expect_uniform(p, c, f->tensors);
  if (status != sk_ok) return status;
  if (c->code < 0) return sk_fail(sk_unsupported, p->name, "a check that refuses these extents", "none");
  const size_t bytes = sk_place_arrays(p, c, f->tensors, f->tensors + given, f->own);
  void *allocated = NULL;
  char *memory = options != NULL ? (char *)options->workspace : NULL;
  snprintf(words, sizeof words, "%llu bytes", (unsigned long long)bytes);
  if (bytes == SIZE_MAX) return sk_fail(sk_out_of_memory, "workspace of a call", "fewer bytes", "too many");
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
  sheaf_call call = {f->tensors, NULL, NULL, &failure, costs};
  const int threads = options != NULL && options->threads > 0 ? options->threads : sk_processors();
  if (options != NULL && options->parallel_for != NULL) {
    call.parallel_for = options->parallel_for;
    call.pool = options->pool;
  } else if (threads > 1) {
    call.parallel_for = sk_parallel_for;
    call.pool = (void *)(intptr_t)threads;
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
  memset(f.tensors, 0, sizeof f.tensors);
  int status = sk_describe(p, arguments, &f, 1);
  if (status == sk_ok) status = sk_expect_memory(p, f.tensors);
  if (status != sk_ok) return status;
  sk_start(p, f.tensors, &f.numbers);
  const sk_class *c = sk_class_for(p, sk_layout(p, f.tensors), &f.numbers);
  return c != NULL ? sk_run_class(p, c, &f, options) : sk_fail_class(p, f.tensors);
}

/* What any layout of arguments of these extents takes at most; the start need not be aligned. */
static int sk_workspace_bytes(const sk_program *p, const sk_argument *arguments, size_t *bytes) {
  sk_frame f;
  *bytes = 0;
  memset(f.tensors, 0, sizeof f.tensors);
  const int status = sk_describe(p, arguments, &f, 0);
  if (status != sk_ok) return status;
  sheaf_tensor given[SK_SLOTS];
  memcpy(given, f.tensors, sizeof given);
  sk_start(p, f.tensors, &f.numbers);
  int served = 0;
  for (int layout = sk_dense; layout <= sk_any; ++layout) {
    const sk_class *c = sk_class_for(p, layout, &f.numbers);
    if (c == NULL) continue;
    memcpy(f.tensors, given, sizeof given);
    sk_arrange(p, c, f.tensors, f.arranged);
    const size_t more = sk_place_arrays(p, c, f.tensors, f.tensors + p->input_count + p->output_count, f.own);
    if (more == SIZE_MAX) return sk_fail(sk_out_of_memory, "workspace of a call", "fewer bytes", "too many");
    if (more + sk_alignment > *bytes) *bytes = more + sk_alignment;
    served = 1;
  }
  return served ? sk_ok : sk_fail_class(p, given);
}

static int sk_extents_of_outputs(const sk_program *p, const sk_argument *arguments, int64_t *const *outputs) {
  sk_frame f;
  int status = sk_describe(p, arguments, &f, 0);
  if (status == sk_ok) status = sk_output_extents(p, f.tensors, f.outputs);
  if (status != sk_ok) return status;
  for (int o = 0; o < p->output_count; ++o)
    for (int d = 0; outputs[o] != NULL && d < p->outputs[o].rank; ++d) outputs[o][d] = f.outputs[8 * o + d];
  return sk_ok;
}
