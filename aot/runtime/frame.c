/* What calls have in common, wherever their kernels run. Stands after memory.c; SK_SLOTS and SK_NUMBERS are of the
 * library. C99. */

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

/* Inputs as the class sees them, and its arrays after the arguments, `bytes` together, with offsets for addresses. */
static int sk_prepare(const sk_program *p, const sk_class *c, sk_frame *f, size_t *bytes) {
  sk_arrange(p, c, f->tensors, f->arranged);
  const int status = sk_expect_uniform(p, c, f->tensors);
  if (status != sk_ok) return status;
  if (c->code < 0) return sk_fail(sk_unsupported, p->name, "a check that refuses these extents", "none");
  *bytes = sk_place_arrays(p, c, f->tensors, f->tensors + p->input_count + p->output_count, f->own);
  return *bytes != SIZE_MAX ? sk_ok : sk_fail(sk_out_of_memory, "workspace of a call", "fewer bytes", "too many");
}

/* The class of a call, whose arguments are checked and described. */
static int sk_find_class(const sk_program *p, const sk_argument *arguments, sk_frame *f, const sk_class **c) {
  memset(f->tensors, 0, sizeof f->tensors);
  int status = sk_describe(p, arguments, f, 1);
  if (status == sk_ok) status = sk_expect_memory(p, f->tensors);
  if (status != sk_ok) return status;
  sk_start(p, f->tensors, &f->numbers);
  *c = sk_class_for(p, sk_layout(p, f->tensors), &f->numbers);
  return *c != NULL ? sk_ok : sk_fail_class(p, f->tensors);
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

/* What any layout of arguments of these extents takes at most, as class_bytes has it of one class. */
static int sk_workspace_bytes(const sk_program *p, const sk_argument *arguments, size_t *bytes,
                              int (*class_bytes)(const sk_program *, const sk_class *, sk_frame *, size_t *)) {
  sk_frame f;
  *bytes = 0;
  memset(f.tensors, 0, sizeof f.tensors);
  int status = sk_describe(p, arguments, &f, 0);
  if (status != sk_ok) return status;
  sheaf_tensor given[SK_SLOTS];
  memcpy(given, f.tensors, sizeof given);
  sk_start(p, f.tensors, &f.numbers);
  int served = 0;
  for (int layout = sk_dense; layout <= sk_any; ++layout) {
    const sk_class *c = sk_class_for(p, layout, &f.numbers);
    size_t more = 0;
    if (c == NULL) continue;
    memcpy(f.tensors, given, sizeof given);
    status = class_bytes(p, c, &f, &more);
    if (status != sk_ok) return status;
    if (more > *bytes) *bytes = more;
    served = 1;
  }
  return served ? sk_ok : sk_fail_class(p, given);
}
