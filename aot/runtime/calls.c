/* Calls of the kernels of a library: everything that is checked before they run, the class that serves a call, its
 * workspace, and the sentence of what went wrong. Stands after tables.h and before the tables. C99. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER)
#define SK_THREAD_LOCAL __declspec(thread)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SK_THREAD_LOCAL _Thread_local
#else
#define SK_THREAD_LOCAL __thread
#endif

enum {
  sk_ok, sk_bad_argument, sk_extent_mismatch, sk_index_out_of_range, sk_empty_reduction, sk_unsupported,
  sk_out_of_memory, sk_device_failed
};
static const char *const sk_status_names[] = {
    "ok", "bad_argument", "extent_mismatch", "index_out_of_range", "empty_reduction", "unsupported", "out_of_memory",
    "device_failed"};

static SK_THREAD_LOCAL char sk_sentence[512];

static int sk_fail(int status, const char *operation, const char *expected, const char *found) {
  snprintf(sk_sentence, sizeof sk_sentence, "%s: expected %s, found %s", operation, expected, found);
  return status;
}

/* ---- integer expressions ---- */

enum { sk_most_indices = 24 };
typedef struct sk_scope {
  const sk_program *program;
  const sheaf_tensor *inputs;
  int count; /* of indices that have a value */
  int32_t index[sk_most_indices];
  int64_t at[sk_most_indices];
} sk_scope;

static int64_t sk_wrapped(uint64_t x) { return (int64_t)x; }

static int64_t sk_applied(int op, int64_t a, int64_t b, int64_t c) {
  switch (op) {
    case sk_neg: return sk_wrapped(0 - (uint64_t)a);
    case sk_abs: return a < 0 ? sk_wrapped(0 - (uint64_t)a) : a;
    case sk_sign: return (a > 0) - (a < 0);
    case sk_logical_not: return a == 0;
    case sk_add: return sk_wrapped((uint64_t)a + (uint64_t)b);
    case sk_sub: return sk_wrapped((uint64_t)a - (uint64_t)b);
    case sk_mul: return sk_wrapped((uint64_t)a * (uint64_t)b);
    case sk_quotient:
      if (b == 0) return 0;
      return b == -1 ? sk_wrapped(0 - (uint64_t)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
    case sk_remainder: return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    case sk_minimum: return b < a ? b : a;
    case sk_maximum: return b > a ? b : a;
    case sk_equal: return a == b;
    case sk_not_equal: return a != b;
    case sk_less: return a < b;
    case sk_less_equal: return a <= b;
    case sk_logical_and: return a != 0 && b != 0;
    case sk_logical_or: return a != 0 || b != 0;
    case sk_select: return a != 0 ? b : c;
    case sk_bit_not: return ~a;
    case sk_bit_and: return a & b;
    case sk_bit_or: return a | b;
    case sk_bit_xor: return a ^ b;
    case sk_shift_left: return b < 0 || b > 63 ? 0 : sk_wrapped((uint64_t)a << b);
    case sk_shift_right: return a >> (b < 0 || b > 63 ? 63 : b);
    case sk_truncated_remainder: return b == 0 || b == -1 ? 0 : a % b;
    case sk_bit_width: {
      int64_t bits = 0;
      uint64_t x = (uint64_t)a;
      for (; x != 0; x >>= 1) ++bits;
      return bits;
    }
    default: return a; /* floor, ceil, round and cast of an integer */
  }
}

static int sk_value(const sk_scope *s, int32_t e, int64_t *value);

/* Elements of index data, wherever they lie; 0: they can't be read. */
static int sk_host_read(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return 1;
}
static SK_THREAD_LOCAL int (*sk_read)(void *to, const void *from, size_t bytes) = sk_host_read;

static int sk_loaded(const sk_scope *s, const sk_expression *e, int64_t *value) {
  const sheaf_tensor *t = &s->inputs[e->number];
  const sk_argument_row *row = &s->program->inputs[e->number];
  int64_t offset = 0, at;
  if (t->data == NULL) return 0;
  for (int d = 0; d < e->count; ++d) {
    if (!sk_value(s, s->program->operands[e->first + d], &at) || at < 0 || at >= t->extents[d]) return 0;
    offset += at * t->strides[d];
  }
  union {
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    int16_t i16;
    uint16_t u16;
    int8_t i8;
    uint8_t u8;
  } x;
  if (!sk_read(&x, (const char *)t->data + offset * row->bytes, (size_t)row->bytes)) return 0;
  switch (row->type) {
    case sk_i64:
    case sk_u64: *value = x.i64; return 1;
    case sk_i32: *value = x.i32; return 1;
    case sk_u32: *value = x.u32; return 1;
    case sk_i16: *value = x.i16; return 1;
    case sk_u16: *value = x.u16; return 1;
    case sk_i8: *value = x.i8; return 1;
    case sk_u8: *value = x.u8; return 1;
    default: return 0;
  }
}

/* 0: it is not known. */
static int sk_value(const sk_scope *s, int32_t number, int64_t *value) {
  int64_t list[3] = {0, 0, 0};
  if (number < 0) return 0;
  const sk_expression *e = &s->program->expressions[number];
  for (int k = 0; k < s->count; ++k)
    if (s->index[k] == number) {
      *value = s->at[k];
      return 1;
    }
  switch (e->op) {
    case sk_constant: *value = e->number; return 1;
    case sk_extent: *value = s->inputs[e->first].extents[e->number]; return 1;
    case sk_index: return 0;
    case sk_load: return sk_loaded(s, e, value);
    default: break;
  }
  for (int k = 0; k < e->count; ++k)
    if (!sk_value(s, s->program->operands[e->first + k], &list[k])) return 0;
  *value = sk_applied(e->op, list[0], list[1], list[2]);
  return 1;
}

/* ---- what failed, in words ---- */

static void sk_append(char *text, size_t size, const char *more) {
  const size_t used = strlen(text);
  snprintf(text + used, size - used, "%s", more);
}
static void sk_append_number(char *text, size_t size, const char *before, int64_t number) {
  const size_t used = strlen(text);
  snprintf(text + used, size - used, "%s%lld", before, (long long)number);
}
static void sk_append_places(char *text, size_t size, const sk_check *c, const sk_scope *s) {
  for (int k = 0; c != NULL && k < c->count; ++k) {
    sk_append(text, size, k == 0 ? " at " : ", ");
    sk_append(text, size, c->indices[k].name);
    sk_append_number(text, size, " = ", s->at[k]);
  }
}

static int sk_fail_demand(const sk_demand *d, const sk_scope *s, const sk_check *c) {
  char expected[256] = "", found[256] = "";
  int64_t number;
  sk_append(expected, sizeof expected, d->expected);
  if (sk_value(s, d->limit, &number)) sk_append_number(expected, sizeof expected, " ", number);
  if (sk_value(s, d->found, &number))
    sk_append_number(found, sizeof found, "", number);
  else
    sk_append(found, sizeof found, "none");
  if (c != NULL && c->count > 0 && d->found_text != NULL) {
    sk_append(found, sizeof found, " for ");
    sk_append(found, sizeof found, d->found_text);
  }
  sk_append_places(found, sizeof found, c, s);
  return sk_fail(d->status, d->operation, expected, found);
}

/* A check that failed at a position of its indices. */
static int sk_fail_check(const sk_program *p, const sk_check *c, const sheaf_tensor *inputs, int64_t position) {
  sk_scope s = {p, inputs, 0, {0}, {0}};
  int64_t at[sk_most_indices], number, low, high;
  for (int k = c->count; k-- > 0;) {
    if (!sk_value(&s, c->indices[k].size, &number)) number = 1;
    at[k] = number > 0 ? position % number : 0;
    position = number > 0 ? position / number : 0;
  }
  for (int k = 0; k < c->count; ++k) {
    if (sk_value(&s, c->indices[k].first, &number)) at[k] += number;
    s.index[k] = c->indices[k].index;
    s.at[k] = at[k];
    s.count = k + 1;
  }
  if (c->demand >= 0) return sk_fail_demand(&p->demands[c->demand], &s, c);
  char operation[128] = "tensor ", expected[128] = "a subscript from ", found[256] = "";
  sk_append(operation, sizeof operation, c->tensor);
  sk_append_number(operation, sizeof operation, ", dimension ", c->dimension);
  const int has_low = sk_value(&s, c->low, &low), has_high = sk_value(&s, c->high, &high);
  sk_append_number(expected, sizeof expected, "", has_low ? low : 0);
  if (has_high)
    sk_append_number(expected, sizeof expected, " to ", high - 1);
  else
    sk_append(expected, sizeof expected, " to its extent - 1");
  int known = sk_value(&s, c->least, &number) && has_low && number < low;
  if (!known) known = sk_value(&s, c->most, &number);
  if (known)
    sk_append_number(found, sizeof found, "", number);
  else
    sk_append(found, sizeof found, "one outside");
  sk_append(found, sizeof found, " for ");
  sk_append(found, sizeof found, c->subscript);
  sk_append_places(found, sizeof found, c, &s);
  return sk_fail(sk_index_out_of_range, operation, expected, found);
}

/* ---- extents ---- */

static void sk_extent_words(char *text, size_t size, const char *source, int is_number, int64_t value) {
  if (is_number)
    snprintf(text, size, "the program fixes %lld", (long long)value);
  else
    snprintf(text, size, "%s gives %lld", source, (long long)value);
}

static int sk_is_constant(const sk_program *p, int32_t e) { return p->expressions[e].op == sk_constant; }

static int sk_expect_extents(const sk_program *p, const sheaf_tensor *inputs) {
  char operation[160], expected[160], found[160];
  int64_t left, right, wrong;
  for (int i = 0; i < p->input_count; ++i) {
    double elements = 1;
    for (int d = 0; d < p->inputs[i].rank; ++d) {
      const int64_t fixed = p->inputs[i].extents[d], given = inputs[i].extents[d];
      snprintf(operation, sizeof operation, "argument %s, dimension %d", p->inputs[i].name, d);
      snprintf(found, sizeof found, "%lld", (long long)given);
      if (given < 0) return sk_fail(sk_bad_argument, operation, "an extent of at least 0", found);
      snprintf(expected, sizeof expected, "extent %lld", (long long)fixed);
      if (fixed >= 0 && fixed != given) return sk_fail(sk_extent_mismatch, operation, expected, found);
      elements *= (double)given;
    }
    snprintf(operation, sizeof operation, "argument %s", p->inputs[i].name);
    if (elements >= 0x1p60) return sk_fail(sk_bad_argument, operation, "fewer than 2^60 elements", "more");
  }
  const sk_scope s = {p, inputs, 0, {0}, {0}};
  for (int k = 0; k < p->constraint_count; ++k) {
    const sk_constraint *c = &p->constraints[k];
    if (!sk_value(&s, c->left, &left) || !sk_value(&s, c->right, &right) || left == right) continue;
    char first[120];
    sk_extent_words(first, sizeof first, c->left_text, sk_is_constant(p, c->left), left);
    snprintf(operation, sizeof operation, "index %s", c->axis);
    snprintf(expected, sizeof expected, "one extent: %s", first);
    sk_extent_words(found, sizeof found, c->right_text, sk_is_constant(p, c->right), right);
    return sk_fail(sk_extent_mismatch, operation, expected, found);
  }
  for (int k = 0; k < p->demand_count; ++k)
    if (sk_value(&s, p->demands[k].wrong, &wrong) && wrong != 0) return sk_fail_demand(&p->demands[k], &s, NULL);
  return sk_ok;
}

static void sk_row_major(const int64_t *extents, int64_t *strides, int rank) {
  int64_t count = 1;
  for (int d = rank; d-- > 0;) {
    strides[d] = count;
    count = sk_wrapped((uint64_t)count * (uint64_t)(extents[d] > 0 ? extents[d] : 1)); /* checked later */
  }
}

/* The extents of the outputs into numbers, which has 8 for each. */
static int sk_output_extents(const sk_program *p, const sheaf_tensor *inputs, int64_t *numbers) {
  const sk_scope s = {p, inputs, 0, {0}, {0}};
  for (int o = 0; o < p->output_count; ++o) {
    double bytes = p->outputs[o].bytes;
    for (int d = 0; d < p->outputs[o].rank; ++d) {
      int64_t n = 0;
      if (!sk_value(&s, (int32_t)p->outputs[o].extents[d], &n)) n = 0;
      numbers[8 * o + d] = n > 0 ? n : 0;
      bytes *= (double)numbers[8 * o + d];
    }
    char operation[128];
    snprintf(operation, sizeof operation, "output %s", p->outputs[o].name);
    if (bytes >= 0x1p63) return sk_fail(sk_bad_argument, operation, "fewer than 2^63 bytes", "more");
  }
  return sk_ok;
}

/* ---- which class serves a call ---- */

static double sk_bounded(double x) { return x > 9e18 ? 9e18 : x < -9e18 ? -9e18 : x; }

static double sk_evaluated(const sk_formula *f, const double *v, const double *extents) {
  switch (f->op) {
    case sk_number: return f->number;
    case sk_place: return extents[f->a];
    case sk_plus: return v[f->a] + v[f->b];
    case sk_minus: return v[f->a] - v[f->b];
    case sk_times: return v[f->a] * v[f->b];
    case sk_over: return v[f->a] / v[f->b];
    case sk_least: return v[f->b] < v[f->a] ? v[f->b] : v[f->a];
    case sk_most: return v[f->a] < v[f->b] ? v[f->b] : v[f->a];
    case sk_log2: return log2(v[f->a]);
    case sk_below: return floor(v[f->a]);
    case sk_whole: return v[f->a];
    default: break;
  }
  return (double)sk_applied(f->op - sk_of_integers, (int64_t)sk_bounded(v[f->a]), (int64_t)sk_bounded(v[f->b]),
                            (int64_t)sk_bounded(v[f->c]));
}

typedef struct sk_numbers {
  const sk_formula *formulas;
  int done;
  double extents[SK_PLACES], values[SK_FORMULAS];
} sk_numbers;

static double sk_formula_value(sk_numbers *n, int f) {
  for (; n->done <= f; ++n->done) n->values[n->done] = sk_evaluated(&n->formulas[n->done], n->values, n->extents);
  return n->values[f];
}

static int sk_serves(const sk_class *c, sk_numbers *n) {
  for (int k = 0; k < c->comparison_count; ++k) {
    const sk_comparison *q = &c->comparisons[k];
    const int more = q->a > q->b ? q->a : q->b;
    sk_formula_value(n, more / 2);
    const double a = n->values[q->a / 2], b = n->values[q->b / 2];
    if (((q->a & 1) != 0 ? a < b : a == b) != ((q->b & 1) != 0)) return 0;
  }
  return 1;
}

static int sk_is_unit(const sheaf_tensor *t, int rank) {
  return rank == 0 || t->strides[rank - 1] == 1 || t->extents[rank - 1] <= 1;
}

/* How the arguments of a call lie. */
static int sk_layout(const sk_program *p, const sheaf_tensor *t) {
  int layout = sk_dense;
  for (int s = 0; s < p->input_count + p->output_count; ++s) {
    const int rank = s < p->input_count ? p->inputs[s].rank : p->outputs[s - p->input_count].rank;
    if (!sk_is_unit(&t[s], rank)) return sk_any;
    if (s < p->input_count && rank > 1 && t[s].strides[rank - 2] != t[s].extents[rank - 1]) layout = sk_unit;
  }
  return layout;
}

static void sk_start(const sk_program *p, const sheaf_tensor *inputs, sk_numbers *n) {
  int place = 0;
  n->formulas = p->formulas;
  n->done = 0;
  for (int i = 0; i < p->input_count; ++i)
    for (int d = 0; d < p->inputs[i].rank; ++d) n->extents[place++] = (double)inputs[i].extents[d];
}

static const sk_class *sk_class_for(const sk_program *p, int layout, sk_numbers *n) {
  for (int k = 0; k < p->class_count; ++k)
    if (p->classes[k].layout >= layout && sk_serves(&p->classes[k], n)) return &p->classes[k];
  return NULL;
}

static int sk_fail_class(const sk_program *p, const sheaf_tensor *inputs) {
  char operation[128], found[256] = "";
  snprintf(operation, sizeof operation, "kernel %s", p->name);
  for (int i = 0; i < p->input_count; ++i) {
    sk_append(found, sizeof found, i == 0 ? "" : ", ");
    sk_append(found, sizeof found, p->inputs[i].name);
    for (int d = 0; d < p->inputs[i].rank; ++d)
      sk_append_number(found, sizeof found, d == 0 ? " of " : " x ", inputs[i].extents[d]);
  }
  return sk_fail(sk_unsupported, operation, "extents that one of its classes serves", found);
}

/* ---- memory ---- */

enum { sk_alignment = 64 };

/* The inputs as a class sees them: where columns say so the last two dimensions are one. */
static void sk_arrange(const sk_program *p, const sk_class *c, sheaf_tensor *inputs, int64_t *numbers) {
  for (int i = 0; c->columns != NULL && i < p->input_count; ++i) {
    if (c->columns[i] == 0) continue;
    const int rank = p->inputs[i].rank - 1;
    int64_t *extents = numbers + 16 * i, *strides = extents + 8;
    for (int d = 0; d < rank; ++d) extents[d] = inputs[i].extents[d], strides[d] = inputs[i].strides[d];
    extents[rank - 1] *= c->columns[i];
    strides[rank - 1] = 1;
    inputs[i].extents = extents;
    inputs[i].strides = strides;
  }
}

/* Places the arrays of a class after the arguments; their offsets stand in `data` until there is memory. Returns the
 * bytes, or SIZE_MAX where they are too many. */
static size_t sk_place_arrays(const sk_program *p, const sk_class *c, const sheaf_tensor *inputs, sheaf_tensor *own,
                              int64_t *numbers) {
  const sk_scope s = {p, inputs, 0, {0}, {0}};
  const uint64_t most = (uint64_t)1 << 62;
  uint64_t total = 0;
  int next = 0;
  for (int w = 0; w < c->workspace_count; ++w) {
    const sk_workspace *row = &c->workspaces[w];
    int64_t *extents = numbers, *strides = numbers + row->rank;
    uint64_t count = 1;
    numbers += 2 * row->rank;
    for (int d = row->rank; d-- > 0;) {
      int64_t n = 0;
      if (!sk_value(&s, row->extents[d], &n) || n < 0) n = 0;
      const int one = (row->folded >> d & 1) != 0 && n > 0;
      extents[d] = n;
      strides[d] = one ? 0 : (int64_t)count;
      if (!one && n > 0 && count > most / (uint64_t)n) return SIZE_MAX;
      if (!one) count *= (uint64_t)n;
    }
    if (count > most / 8 || total > most) return SIZE_MAX;
    sheaf_tensor *to = own + (c->slots != NULL ? c->slots[next] : next);
    ++next;
    to->data = (void *)(uintptr_t)total;
    to->extents = extents;
    to->strides = strides;
    total += (count * (uint64_t)row->bytes + sk_alignment - 1) / sk_alignment * sk_alignment;
  }
  for (int k = 0; k < c->check_count; ++k) {
    if (c->checks[k].ordinal < 0) continue;
    sheaf_tensor *to = own + (c->slots != NULL ? c->slots[next] : next);
    ++next;
    to->data = (void *)(uintptr_t)total;
    to->extents = to->strides = numbers;
    total += sk_alignment;
  }
  return total > (uint64_t)(SIZE_MAX / 2) ? SIZE_MAX : (size_t)total;
}
