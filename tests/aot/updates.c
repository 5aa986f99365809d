/* Updates and additions from C: what lies where, what comes out, and that any other overlap stays an error. */
#include <stdio.h>
#include <updated.h>

static int failures;

static void expect(int holds, const char *what) {
  if (!holds) ++failures, printf("%s\n", what);
}

int main(void) {
  const int64_t n[1] = {1000}, few[1] = {5}, shape[2] = {3, 40};
  float w[1001], g[1000], apart[1000], rate = 0.25f, five[5] = {1, 2, 3, 4, 5}, loss;
  double x[120], dx[120], sum = 7;
  int k;
  for (k = 0; k < 1000; ++k) w[k] = (float)k, g[k] = 4;
  w[1000] = -1;
  expect(updated_descend(w, n, NULL, g, n, NULL, &rate, apart, NULL, NULL) == UPDATED_OK, "apart");
  expect(apart[999] == 998 && w[999] == 999, "memory of its own");
  expect(updated_descend(w, n, NULL, g, n, NULL, &rate, w, NULL, NULL) == UPDATED_OK, "in place");
  for (k = 0; k < 1000; ++k) expect(w[k] == (float)k - 1, "a value in place");
  expect(w[1000] == -1, "what is behind");
  expect(updated_descend(w, n, NULL, g, n, NULL, &rate, w + 1, NULL, NULL) == UPDATED_BAD_ARGUMENT, "one further");
  expect(updated_descend(w, n, NULL, g, n, NULL, &rate, g, NULL, NULL) == UPDATED_BAD_ARGUMENT, "another input");
  expect(w[1] == 0 && g[0] == 4, "an error writes nothing");

  expect(updated_reversed(five, few, NULL, five, NULL, NULL) == UPDATED_OK, "reversed");
  for (k = 0; k < 5; ++k) expect(five[k] == (float)(5 - k), "a value that is read after its place is written");

  for (k = 0; k < 120; ++k) x[k] = k, dx[k] = 1;
  for (k = 0; k < 2; ++k)
    expect(updated_accumulated(x, shape, NULL, &sum, dx, shape, NULL, &sum, dx, NULL, NULL) == UPDATED_OK, "added");
  expect(sum == 7 + 2 * 568820.0, "a sum is added to what is there");
  for (k = 0; k < 120; ++k) expect(dx[k] == 1 + 4.0 * k, "a gradient is added to what is there");

  loss = 1;
  expect(updated_trained(five, few, NULL, &loss, five, NULL, &loss, NULL) == UPDATED_OK, "trained");
  expect(loss == 56 && five[0] == 0 && five[4] == 0, "a training step in place");
  if (failures == 0) puts("updates and additions: as expected");
  return failures != 0;
}
