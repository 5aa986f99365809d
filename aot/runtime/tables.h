/* What a library of kernels says of itself, as tables that sheaf-aot writes: this text stands before them in the one C
 * file of the library. C99. */
#include <stddef.h>
#include <stdint.h>

/* Integer expressions of extents, index data and positions, by number. Elementwise ones have the names of the
 * language. */
enum {
  sk_constant, /* number */
  sk_extent,   /* of input `first`, dimension `number` */
  sk_index,    /* has a value while a check is told about */
  sk_load,     /* of input `number`, at operands */
  sk_neg, sk_abs, sk_sign, sk_floor, sk_ceil, sk_round, sk_logical_not, sk_cast, sk_add, sk_sub, sk_mul, sk_quotient,
  sk_remainder, sk_minimum, sk_maximum, sk_equal, sk_not_equal, sk_less, sk_less_equal, sk_logical_and, sk_logical_or,
  sk_select, sk_bit_not, sk_bit_and, sk_bit_or, sk_bit_xor, sk_shift_left, sk_shift_right,
  /* of formulas alone */
  sk_truncated_remainder, sk_bit_width
};
typedef struct sk_expression {
  int16_t op, count;
  int32_t first; /* in operands */
  int64_t number;
} sk_expression;

/* Formulas of the extents as they are given, as numbers: decisions and costs follow from them. From sk_of_integers on
 * an operation on integers. */
enum {
  sk_number, sk_place, sk_plus, sk_minus, sk_times, sk_over, sk_least, sk_most, sk_log2, sk_below, sk_whole,
  sk_of_integers = 64
};
typedef struct sk_formula {
  int32_t op, a, b, c;
  double number;
} sk_formula;
/* Formula a / 2 is less than b / 2 (else equal, by the lowest bit of a), as the lowest bit of b says. */
typedef struct sk_comparison {
  int32_t a, b;
} sk_comparison;

typedef struct sk_argument_row {
  const char *name;
  int32_t type, bytes, rank;
  int64_t extents[8]; /* of an input: fixed ones, -1 for any; of an output: expressions */
  int32_t updates;    /* of an output: the input that it may lie on, or -1 */
} sk_argument_row;
typedef struct sk_constraint {
  const char *axis, *left_text, *right_text;
  int32_t left, right;
} sk_constraint;
typedef struct sk_demand {
  int32_t status, wrong, limit, found;
  const char *operation, *expected, *found_text;
} sk_demand;
typedef struct sk_check_index {
  const char *name;
  int32_t index, size, first;
} sk_check_index;
typedef struct sk_check {
  int32_t ordinal, demand, dimension; /* ordinal -1: evaluated before the kernels */
  int32_t outside, least, most, low, high;
  const char *tensor, *subscript;
  const sk_check_index *indices;
  int32_t count;
} sk_check;
typedef struct sk_workspace {
  int32_t bytes, rank, folded; /* folded: a bit for each dimension whose places share memory */
  const int32_t *extents;
} sk_workspace;

enum { sk_dense, sk_unit, sk_any }; /* what a class relies on: no gaps; neighbours in the last dimension; nothing */
typedef struct sk_class {
  int32_t layout, code;
  int32_t comparison_count, workspace_count, check_count, cost_count;
  const sk_comparison *comparisons;
  const int32_t *columns; /* by input: its last two dimensions are one where this is not 0; or null */
  const sk_workspace *workspaces;
  const sk_check *checks;
  const int32_t *costs; /* formulas */
  const int32_t *told;  /* formulas: the numbers that kernels which programs share are given; or null */
  const int32_t *slots; /* by workspace, then by check that has data, counted after the arguments; or null: in order */
} sk_class;

/* A code for GPUs: the words of its parameter, and what is launched, in order. The first four words are the address of
 * scratch memory, that of a record of failures, the call's ticket, the address of counts of blocks that are done; then
 * each slot has its address, extents and strides from first[slot] on. */
typedef struct sk_words {
  int32_t count, slots;
  const int32_t *first;
} sk_words;
typedef struct sk_shared {
  sk_words words;
  int32_t slot_count, number_count, told; /* told: where its numbers begin among those of the class */
  const int32_t *slots;                   /* of the program, whose addresses it is given */
} sk_shared;
typedef struct sk_launch {
  const char *function;
  int32_t image, threads, tiles_of_block, single, tiles; /* tiles: an expression; -1: as many blocks as there is room */
  int64_t shared_bytes, scratch_bytes;                   /* of a block */
  const sk_shared *shared;                               /* of a kernel that programs share */
} sk_launch;
typedef struct sk_gpu_code {
  sk_words words;
  int32_t arrivals, by_pointer, launch_count;
  const sk_launch *launches;
} sk_gpu_code;

typedef struct sk_program {
  const char *name;
  int32_t input_count, output_count, constraint_count, demand_count, class_count, code_count, formula_count;
  const sk_argument_row *inputs, *outputs;
  const sk_constraint *constraints;
  const sk_demand *demands;
  const sk_expression *expressions;
  const int32_t *operands;
  const sk_formula *formulas;
  const sk_class *classes;
  const sheaf_entry *entries; /* by target, then code; of a processor */
  const sk_gpu_code *codes;   /* of GPUs */
} sk_program;

/* A processor that there is code for, best last; level: of x86-64, else 0. */
typedef struct sk_target {
  const char *name;
  int32_t level;
} sk_target;

/* A GPU that there is code for, ten times its capability's major number and once the minor one. The last is text for
 * that one and later ones. */
typedef struct sk_gpu_target {
  const char *name;
  int32_t compute;
} sk_gpu_target;

typedef struct sk_argument {
  const void *data;
  const int64_t *extents, *strides; /* strides null: row after row */
} sk_argument;

/* NAME_run of the header has the same members. */
typedef struct sk_options {
  void *workspace;
  size_t workspace_bytes;
  sheaf_parallel_for parallel_for;
  void *pool;
  int threads;
} sk_options;

/* NAME_gpu_run of the header has the same members. */
typedef struct sk_gpu_options {
  void *workspace;
  size_t workspace_bytes;
  int queue_only;
} sk_gpu_options;
