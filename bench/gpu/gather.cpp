// W1: means of gathered rows. W2: the same as means under a mask that is given, under one made of the indices, and as
// a one-hot contraction. gather_gradient: rows of a table added up by the rows that picked them, beside atomics in
// bench/gpu/peers.cu.
#include "session.hpp"

#include <workloads/gather_programs.hpp>

namespace sheaf::bench {
namespace {

using namespace gathers_of;

void measure_means(gpu_session& s) {
  constexpr std::int64_t B = 512, T = 2048, F = 256, K = 64;  // 1 GB
  const auto x = s.random(0, 1, B, T, F);
  const auto dy = s.random(-1, 1, B, F);
  auto dx = s.empty(B, T, F);
  auto y = s.empty(B, F);
  array<std::int64_t, 2> ids(B, K);
  array<bool, 2> mask(B, T);
  mask.fill(false);
  double distinct = 0;
  for (std::int64_t r = 0; r < B; ++r)
    for (std::int64_t c = 0; c < K; ++c) {
      ids(r, c) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r * K + c)) % T);
      distinct += mask(r, ids(r, c)) ? 0 : 1;
      mask(r, ids(r, c)) = true;
    }
  const auto named = to_device(ids, s.s);
  const auto kept = to_device(mask, s.s);
  s.s.synchronise();
  const results into{y, dy, dx};
  const double by_ids = distinct * F * 4 + bytes_of(named), by_mask = distinct * F * 4 + bytes_of(kept);
  if (s.wants("W1")) s.both_rows("W1", "", gathered, data, into, by_ids, data = x, picks = named);
  if (!s.wants("W2")) return;
  s.both_rows("W2", "given", given, data, into, by_mask, data = x, keep = kept);
  s.both_rows("W2", "mask", masked, data, into, by_ids, data = x, picks = named);
  s.both_rows("W2", "onehot", contracted, data, into, by_ids, data = x, picks = named);
}

void measure_gradient(gpu_session& s) {
  constexpr std::int64_t words = std::int64_t{1} << 20, count = words * 2, F = 128;  // 0.5 GB and 1 GB
  constexpr auto table = tensor<"table", float, 2>;
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto picked = define<"picked">(t, f) = table(ids(t), f);
  constexpr auto dtable = vjp(picked, table);
  array<std::int64_t, 1> picks(count);
  for (std::int64_t n = 0; n < count; ++n)
    picks(n) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(n)) % words);
  const auto named = to_device(picks, s.s);
  const auto rows = s.random(-1, 1, words, F), dy = s.random(-1, 1, count, F);
  auto drows = s.empty(words, F);
  const double bytes = bytes_of_all(named, dy, drows);
  const auto program = compile(dtable, on(gpu));
  const auto run = [&](const auto& indices) {
    program(table = rows, indices, cotangent(picked) = dy, dtable = drows, on(s.s));
  };
  s.row("gather_gradient", "each_call", bytes, [&] { run(ids = named); });
  const auto fixed = program.keep(ids = named);
  s.row("gather_gradient", "kept", bytes, [&] { run(fixed); });
}

}  // namespace

void gathers(gpu_session& s) {
  if (s.wants("W1") || s.wants("W2")) measure_means(s);
  if (s.wants("gather_gradient")) measure_gradient(s);
}

}  // namespace sheaf::bench
