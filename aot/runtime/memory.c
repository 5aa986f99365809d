/* What must hold of the memory of a call. Stands after calls.c. C99. */

enum { sk_most_dimensions = 17, sk_most_steps = 100000 };

typedef struct sk_dimension {
  int64_t stride, low, high; /* stride > 0; what its position may be */
} sk_dimension;

/* Whether start + the sum of position * stride can be 0: by stride, largest first, where what is left must be within
 * what the smaller ones span. Where strides nest that leaves one position each. */
typedef struct sk_meeting {
  sk_dimension list[sk_most_dimensions];
  int count;
  int64_t least[sk_most_dimensions + 1], most[sk_most_dimensions + 1], steps;
} sk_meeting;

static void sk_meet(sk_meeting *m, int64_t stride, int64_t low, int64_t high) {
  int at = 0;
  if (stride < 0) {
    const int64_t before = low;
    stride = -stride;
    low = -high;
    high = -before;
  }
  while (at < m->count && m->list[at].stride > stride) ++at;
  if (at < m->count && m->list[at].stride == stride) {
    m->list[at].low += low;
    m->list[at].high += high;
    return;
  }
  memmove(&m->list[at + 1], &m->list[at], (size_t)(m->count - at) * sizeof m->list[0]);
  m->list[at].stride = stride;
  m->list[at].low = low;
  m->list[at].high = high;
  ++m->count;
}

static int64_t sk_floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int sk_meets_from(sk_meeting *m, int d, int64_t moved, int differs) {
  if (++m->steps > sk_most_steps) return 1;
  if (d == m->count) return differs && moved == 0;
  const sk_dimension *k = &m->list[d];
  int64_t first = -sk_floor_of(moved + m->most[d + 1], k->stride);
  int64_t last = sk_floor_of(-moved - m->least[d + 1], k->stride);
  if (first < k->low) first = k->low;
  if (last > k->high) last = k->high;
  for (int64_t at = first; at <= last; ++at)
    if (sk_meets_from(m, d + 1, moved + at * k->stride, differs || at != 0)) return 1;
  return 0;
}

/* beside: other than by all positions 0. */
static int sk_meets(sk_meeting *m, int64_t start, int beside) {
  for (int d = m->count; d-- > 0;) {
    m->least[d] = m->least[d + 1] + m->list[d].stride * m->list[d].low;
    m->most[d] = m->most[d + 1] + m->list[d].stride * m->list[d].high;
  }
  return sk_meets_from(m, 0, start, !beside);
}

/* An array of a call: bytes [first, last) hold all its elements; last <= first where there are none. */
typedef struct sk_region {
  const sheaf_tensor *tensor;
  int rank;
  int64_t bytes, at, first, last;
} sk_region;

static sk_region sk_region_of(const sheaf_tensor *t, const sk_argument_row *row) {
  sk_region r = {t, row->rank, row->bytes, (int64_t)(uintptr_t)t->data, 0, 0};
  int64_t low = 0, high = 1;
  for (int d = 0; d < r.rank; ++d) {
    if (t->extents[d] <= 0) return r;
    const int64_t reach = (t->extents[d] - 1) * t->strides[d];
    if (reach < 0)
      low += reach;
    else
      high += reach;
  }
  r.first = r.at + low * r.bytes;
  r.last = r.at + high * r.bytes;
  return r;
}

static int sk_shares_bytes(const sk_region *a, const sk_region *b) {
  if (a->first >= b->last || b->first >= a->last) return 0;
  sk_meeting m;
  memset(&m, 0, sizeof m);
  sk_meet(&m, 1, 1 - b->bytes, a->bytes - 1);
  for (int d = 0; d < a->rank; ++d)
    if (a->tensor->extents[d] > 1 && a->tensor->strides[d] != 0)
      sk_meet(&m, a->tensor->strides[d] * a->bytes, 0, a->tensor->extents[d] - 1);
  for (int d = 0; d < b->rank; ++d)
    if (b->tensor->extents[d] > 1 && b->tensor->strides[d] != 0)
      sk_meet(&m, b->tensor->strides[d] * b->bytes, 1 - b->tensor->extents[d], 0);
  return sk_meets(&m, a->at - b->at, 0);
}

/* Row-major, with gaps or without: by far the most outputs. */
static int sk_is_nested(const sheaf_tensor *t, int rank) {
  int64_t reach = 0;
  for (int d = rank; d-- > 0;) {
    const int64_t stride = t->strides[d] < 0 ? -t->strides[d] : t->strides[d];
    if (t->extents[d] <= 1) continue;
    if (stride <= reach) return 0;
    reach += stride * (t->extents[d] - 1);
  }
  return 1;
}

static int sk_shares_places(const sk_region *r) {
  const sheaf_tensor *t = r->tensor;
  if (r->last <= r->first || sk_is_nested(t, r->rank)) return 0;
  sk_meeting m;
  memset(&m, 0, sizeof m);
  for (int d = 0; d < r->rank; ++d) {
    if (t->extents[d] == 1) continue;
    if (t->strides[d] == 0) return 1;
    for (int e = 0; e < d; ++e)
      if (t->extents[e] > 1 && (t->strides[e] == t->strides[d] || t->strides[e] == -t->strides[d])) return 1;
    sk_meet(&m, t->strides[d], 1 - t->extents[d], t->extents[d] - 1);
  }
  return sk_meets(&m, 0, 1);
}

/* Does each element of one lie where that of the other lies? */
static int sk_same_places(const sheaf_tensor *a, const sheaf_tensor *b, int rank) {
  if (a->data != b->data) return 0;
  for (int d = 0; d < rank; ++d)
    if (a->extents[d] != b->extents[d] || (a->extents[d] > 1 && a->strides[d] != b->strides[d])) return 0;
  return 1;
}

static int sk_expect_memory(const sk_program *p, const sheaf_tensor *t) {
  char operation[128], found[128];
  const int slots = p->input_count + p->output_count;
  for (int s = 0; s < slots; ++s) {
    const int is_input = s < p->input_count;
    const sk_argument_row *row = is_input ? &p->inputs[s] : &p->outputs[s - p->input_count];
    int has_elements = 1;
    for (int d = 0; d < row->rank; ++d) has_elements = has_elements && t[s].extents[d] > 0;
    snprintf(operation, sizeof operation, "%s %s", is_input ? "argument" : "output", row->name);
    if (t[s].data == NULL && has_elements)
      return sk_fail(sk_bad_argument, operation, "memory for its elements", "a null pointer");
  }
  for (int o = p->input_count; o < slots; ++o) {
    const sk_argument_row *row = &p->outputs[o - p->input_count];
    const sk_region own = sk_region_of(&t[o], row);
    snprintf(operation, sizeof operation, "output %s", row->name);
    if (sk_shares_places(&own))
      return sk_fail(sk_bad_argument, operation, "a place for each element", "elements that share one");
    for (int s = 0; s < o; ++s) {
      const sk_argument_row *other = s < p->input_count ? &p->inputs[s] : &p->outputs[s - p->input_count];
      const sk_region region = sk_region_of(&t[s], other);
      if (s == row->updates && sk_same_places(&t[o], &t[s], row->rank)) continue;
      snprintf(found, sizeof found, "memory of %s", other->name);
      if (sk_shares_bytes(&own, &region)) return sk_fail(sk_bad_argument, operation, "memory of its own", found);
    }
  }
  return sk_ok;
}
