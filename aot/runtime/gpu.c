/* Calls of kernels on a GPU. Stands after driver.c and the library's images. C99. */

/* What is loaded once in each context: the code of an image, and the functions of a code with the blocks that fill the
 * device. Contexts are those that live as long as the process, or as the calls. */
typedef struct sk_module {
  const void *context;
  int image;
  void *module;
  struct sk_module *next;
} sk_module;
typedef struct sk_function {
  void *function;
  int most_blocks;
} sk_function;
typedef struct sk_ready {
  const void *context;
  const sk_gpu_code *code;
  sk_function *functions;
  struct sk_ready *next;
} sk_ready;
static sk_module *sk_modules;
static sk_ready *sk_readies;

static int sk_load_module(const sk_gpu *gpu, int image, void **module) {
  for (const sk_module *m = sk_modules; m != NULL; m = m->next)
    if (m->context == gpu->context && m->image == image) {
      *module = m->module;
      return sk_ok;
    }
  const int status = SK_DRIVER(cuModuleLoadDataEx, (module, sk_images[image][gpu->target], 0, NULL, NULL));
  sk_module *const made = status == sk_ok ? (sk_module *)malloc(sizeof *made) : NULL;
  if (made == NULL) return status != sk_ok ? status : sk_fail(sk_out_of_memory, "kernels", "memory", "none");
  made->context = gpu->context;
  made->image = image;
  made->module = *module;
  made->next = sk_modules;
  sk_modules = made;
  return sk_ok;
}

static int sk_load_function(const sk_gpu *gpu, const sk_launch *l, sk_function *f) {
  enum { multiprocessors = 16, dynamic_shared = 8, usual_shared = 48 << 10 };
  void *module = NULL;
  int resident = 0, count = 0;
  int status = sk_load_module(gpu, l->image, &module);
  if (status == sk_ok) status = SK_DRIVER(cuModuleGetFunction, (&f->function, module, l->function));
  if (status == sk_ok && l->shared_bytes > usual_shared)
    status = SK_DRIVER(cuFuncSetAttribute, (f->function, dynamic_shared, (int)l->shared_bytes));
  if (status == sk_ok)
    status = SK_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor,
                       (&resident, f->function, l->threads, (size_t)l->shared_bytes));
  if (status == sk_ok) status = SK_DRIVER(cuDeviceGetAttribute, (&count, multiprocessors, gpu->device));
  f->most_blocks = resident * count > 0 ? resident * count : 1;
  return status;
}

/* The functions of a code in this thread's context. */
static int sk_find_functions(const sk_gpu_code *code, const sk_function **functions) {
  sk_gpu gpu;
  sk_gpu_lock();
  int status = sk_find_gpu(&gpu);
  const sk_ready *known = status == sk_ok ? sk_readies : NULL;
  while (known != NULL && (known->context != gpu.context || known->code != code)) known = known->next;
  if (known == NULL && status == sk_ok) {
    sk_ready *const made = (sk_ready *)malloc(sizeof *made);
    sk_function *const list = (sk_function *)malloc((size_t)(code->launch_count + 1) * sizeof *list);
    if (made == NULL || list == NULL) status = sk_fail(sk_out_of_memory, "kernels", "memory", "none");
    for (int k = 0; status == sk_ok && k < code->launch_count; ++k)
      status = sk_load_function(&gpu, &code->launches[k], &list[k]);
    if (status == sk_ok) {
      made->context = gpu.context;
      made->code = code;
      made->functions = list;
      made->next = sk_readies;
      known = sk_readies = made;
    } else {
      free(made);
      free(list);
    }
  }
  if (known != NULL) *functions = known->functions;
  sk_gpu_unlock();
  return status;
}

/* A call's memory on the device, in bytes from its start: the record of failures, counts of blocks, the parameter where
 * it is too large for a launch, the arrays, scratch memory. */
typedef struct sk_places {
  size_t arrivals, parameter, arrays, scratch, bytes;
} sk_places;
enum { sk_gpu_alignment = 256, sk_record_bytes = 32 };

typedef struct sk_gpu_call {
  const sk_program *p;
  const sk_class *c;
  const sk_gpu_code *code;
  const sk_function *functions;
  sk_places places;
  int64_t told[SK_TOLD];
  unsigned blocks[SK_LAUNCHES];
} sk_gpu_call;

static size_t sk_rounded(size_t bytes) { return (bytes + sk_gpu_alignment - 1) / sk_gpu_alignment * sk_gpu_alignment; }

static unsigned sk_blocks_of(const sk_gpu_call *g, const sk_launch *l, const sk_function *f,
                             const sheaf_tensor *tensors) {
  sheaf_tensor own[8];
  sk_scope s = {g->p, tensors, 0, {0}, {0}};
  int64_t tiles = 0;
  if (l->single) return 1;
  for (int k = 0; l->shared != NULL && k < 8; ++k) {
    own[k].extents = g->told + l->shared->told;
    s.inputs = own;
  }
  if (l->tiles < 0 || !sk_value(&s, l->tiles, &tiles)) return (unsigned)f->most_blocks;
  const int64_t blocks = tiles / l->tiles_of_block + (tiles % l->tiles_of_block != 0);
  return (unsigned)(blocks < 1 ? 1 : blocks > f->most_blocks ? f->most_blocks : blocks);
}

/* Of a class: what it takes, and what is launched. tensors as sk_prepare leaves them; bytes: of its arrays. */
static int sk_lay_out(sk_gpu_call *g, sk_frame *f, size_t bytes) {
  int told = 0;
  size_t scratch = 0;
  g->code = &g->p->codes[g->c->code];
  const int status = sk_find_functions(g->code, &g->functions);
  if (status != sk_ok) return status;
  for (int k = 0; k < g->code->launch_count; ++k) {
    const sk_shared *shared = g->code->launches[k].shared;
    if (shared != NULL && shared->told + shared->number_count > told) told = shared->told + shared->number_count;
  }
  for (int k = 0; k < told; ++k) g->told[k] = (int64_t)sk_formula_value(&f->numbers, g->c->told[k]);
  for (int k = 0; k < g->code->launch_count; ++k) {
    const sk_launch *l = &g->code->launches[k];
    g->blocks[k] = sk_blocks_of(g, l, &g->functions[k], f->tensors);
    if (g->blocks[k] * (size_t)l->scratch_bytes > scratch) scratch = g->blocks[k] * (size_t)l->scratch_bytes;
  }
  sk_places *at = &g->places;
  at->arrivals = 64;
  at->parameter = sk_rounded(at->arrivals + 4 * (size_t)g->code->arrivals);
  at->arrays = at->parameter + (g->code->by_pointer ? sk_rounded(8 * (size_t)g->code->words.count) : 0);
  at->scratch = at->arrays + sk_rounded(bytes);
  at->bytes = at->scratch + scratch;
  return sk_ok;
}

static int sk_gpu_class_bytes(const sk_program *p, const sk_class *c, sk_frame *f, size_t *bytes) {
  sk_gpu_call g = {p, c, NULL, NULL, {0, 0, 0, 0, 0}, {0}, {0}};
  int status = sk_prepare(p, c, f, bytes);
  if (status == sk_ok) status = sk_lay_out(&g, f, *bytes);
  *bytes = g.places.bytes;
  return status;
}

static void sk_write_words(const sk_gpu_call *g, const sk_frame *f, uint64_t memory, int64_t *words) {
  const sk_words *w = &g->code->words;
  const int given = g->p->input_count + g->p->output_count;
  memset(words, 0, (size_t)w->count * sizeof *words);
  words[0] = (int64_t)(memory + g->places.scratch);
  words[1] = (int64_t)memory;
  words[2] = 1;
  words[3] = (int64_t)(memory + g->places.arrivals);
  for (int s = 0; s < w->slots; ++s) {
    const int next = s + 1 < w->slots ? w->first[s + 1] : w->count, rank = (next - w->first[s] - 1) / 2;
    int64_t *const at = words + w->first[s];
    if (next == w->first[s]) continue;
    at[0] = (int64_t)(uintptr_t)f->tensors[s].data + (s < given ? 0 : (int64_t)(memory + g->places.arrays));
    for (int d = 0; d < rank; ++d) {
      at[1 + d] = f->tensors[s].extents[d];
      at[1 + rank + d] = f->tensors[s].strides[d];
    }
  }
}

static int sk_launch_all(const sk_gpu_call *g, const int64_t *words, uint64_t memory, void *stream) {
  uint64_t by_pointer = memory + g->places.parameter;
  int64_t own[SK_WORDS];
  int status = sk_ok;
  if (g->code->by_pointer)
    status = SK_DRIVER(cuMemcpyHtoDAsync_v2, (by_pointer, words, 8 * (size_t)g->code->words.count, stream));
  for (int k = 0; status == sk_ok && k < g->code->launch_count; ++k) {
    const sk_launch *l = &g->code->launches[k];
    const sk_shared *shared = l->shared;
    void *parameters[1];
    parameters[0] = g->code->by_pointer ? (void *)&by_pointer : (void *)(uintptr_t)words;
    if (shared != NULL) {
      const int32_t *first = shared->words.first;
      memset(own, 0, (size_t)shared->words.count * sizeof *own);
      memcpy(own, words, 4 * sizeof *own);
      for (int s = 0; s < shared->slot_count; ++s) own[first[s]] = words[g->code->words.first[shared->slots[s]]];
      memcpy(own + first[shared->words.slots - 1] + 1, g->told + shared->told,
             (size_t)shared->number_count * sizeof *own);
      parameters[0] = own;
    }
    status = SK_DRIVER(cuLaunchKernel, (g->functions[k].function, g->blocks[k], 1, 1, (unsigned)l->threads, 1, 1,
                                (unsigned)l->shared_bytes, stream, parameters, NULL));
  }
  return status;
}

static SK_THREAD_LOCAL void *sk_read_stream;
static int sk_gpu_read(void *to, const void *from, size_t bytes) {
  return sk_driver.cuMemcpyDtoHAsync_v2(to, (uint64_t)(uintptr_t)from, bytes, sk_read_stream) == 0 &&
         sk_driver.cuStreamSynchronize(sk_read_stream) == 0;
}

static int sk_has_data_checks(const sk_class *c) {
  for (int k = 0; k < c->check_count; ++k)
    if (c->checks[k].ordinal >= 0) return 1;
  return 0;
}

/* Waits for the stream; what a call found wrong with its data, from the record at the start of its workspace. */
static int sk_gpu_found(const sk_program *p, const sk_class *c, const sk_frame *f, uint64_t memory, void *stream) {
  int64_t record[4] = {0, 0, 0, 0};
  int status = SK_DRIVER(cuMemcpyDtoHAsync_v2, (record, memory, sk_record_bytes, stream));
  if (status == sk_ok) status = SK_DRIVER(cuStreamSynchronize, (stream));
  if (status != sk_ok || record[0] == 0) return status;
  sk_read = sk_gpu_read;
  sk_read_stream = stream;
  for (int k = 0; k < c->check_count; ++k)
    if (c->checks[k].ordinal >= 0 && c->checks[k].ordinal == record[1])
      status = sk_fail_check(p, &c->checks[k], f->tensors, record[2]);
  sk_read = sk_host_read;
  return status;
}

static int sk_gpu_run_class(sk_gpu_call *g, sk_frame *f, void *stream, const sk_gpu_options *options) {
  int64_t words[SK_WORDS];
  char needed[64];
  size_t bytes = 0;
  uint64_t memory = options != NULL ? (uint64_t)(uintptr_t)options->workspace : 0;
  const int is_own = memory == 0, has_checks = sk_has_data_checks(g->c);
  int status = sk_prepare(g->p, g->c, f, &bytes);
  if (status == sk_ok) status = sk_lay_out(g, f, bytes);
  if (status != sk_ok) return status;
  snprintf(needed, sizeof needed, "%llu bytes, 256-aligned", (unsigned long long)g->places.bytes);
  if (!is_own && (options->workspace_bytes < g->places.bytes || memory % sk_gpu_alignment != 0))
    return sk_fail(sk_bad_argument, "workspace of a call", needed, "fewer, or not aligned");
  if (is_own && options != NULL && options->queue_only && has_checks)
    return sk_fail(sk_bad_argument, "queue_only", "a workspace of the caller, which holds what is found", "none");
  if (is_own) status = SK_DRIVER(cuMemAllocAsync, (&memory, g->places.bytes, stream));
  if (status != sk_ok) return status;
  if (has_checks || g->code->arrivals > 0)
    status = SK_DRIVER(cuMemsetD8Async, (memory, 0, g->places.parameter, stream));
  sk_write_words(g, f, memory, words);
  if (status == sk_ok) status = sk_launch_all(g, words, memory, stream);
  if (status == sk_ok && has_checks && (options == NULL || !options->queue_only))
    status = sk_gpu_found(g->p, g->c, f, memory, stream);
  if (is_own) {
    const int released = SK_DRIVER(cuMemFreeAsync, (memory, stream));
    if (status == sk_ok) status = released;
  }
  return status;
}

static int sk_gpu_run(const sk_program *p, const sk_argument *arguments, void *stream, const sk_gpu_options *options) {
  sk_frame f;
  sk_gpu_call g = {p, NULL, NULL, NULL, {0, 0, 0, 0, 0}, {0}, {0}};
  const int status = sk_find_class(p, arguments, &f, &g.c);
  return status == sk_ok ? sk_gpu_run_class(&g, &f, stream, options) : status;
}

/* Of a call that was queued only. */
static int sk_gpu_result(const sk_program *p, const sk_argument *arguments, void *stream,
                         const sk_gpu_options *options) {
  sk_frame f;
  const sk_class *c = NULL;
  size_t bytes = 0;
  if (options == NULL || options->workspace == NULL)
    return sk_fail(sk_bad_argument, "result of a call", "its workspace", "none");
  int status = sk_find_class(p, arguments, &f, &c);
  if (status == sk_ok) status = sk_prepare(p, c, &f, &bytes);
  if (status != sk_ok) return status;
  sk_gpu gpu;
  sk_gpu_lock();
  status = sk_find_gpu(&gpu);
  sk_gpu_unlock();
  if (status != sk_ok) return status;
  if (!sk_has_data_checks(c)) return SK_DRIVER(cuStreamSynchronize, (stream));
  return sk_gpu_found(p, c, &f, (uint64_t)(uintptr_t)options->workspace, stream);
}

static const char *sk_gpu_target_here(void) {
  sk_gpu gpu;
  sk_gpu_lock();
  const int status = sk_find_gpu(&gpu);
  sk_gpu_unlock();
  return status == sk_ok ? sk_gpu_targets[gpu.target].name : "none";
}
