// Of 64 cores none waits long, and hardly anything runs on one alone: what tasks do is counted, not timed, and
// scheduled as the pool would. Programs are those of the bench and of docs/scheduling.md, smaller.
#include <sheaf/dsl/text/parse.hpp>
#include <support/cores.hpp>

#include "counted_work.hpp"
#include "plan_harness.hpp"

namespace sheaf::test::many_cores_tests {
namespace {

constexpr int workers = 64;

struct counted_program {
  const char* name;
  const char* text;
  std::vector<std::pair<const char*, std::vector<std::int64_t>>> numbers;  // inputs of random numbers
  // Percent, at most. Of programs as small as these, joins of partial results are done sooner by one thread, which are
  // less than 1 % of the bench's; windows have a few tasks for each thread, lists of slices are made by one.
  double serial = 1, waiting = 10;
};

graph parsed(const std::string& text) { return parse(text.data(), static_cast<int>(text.size())); }

std::int64_t extent_of(const counted_program& p, const char* name) {
  for (const auto& [input, extents] : p.numbers)
    if (std::string(input) == name) return extents.front();
  return 0;
}

// Lengths of a heavy tail, none of more than a hundredth of all.
std::vector<double> uneven_offsets(std::int64_t count, std::int64_t rows) {
  std::vector<double> lengths, list{0};
  double all = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const double u = static_cast<double>((static_cast<std::uint64_t>(k) * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
    lengths.push_back(1 / (u + 1.0 / 64));
    all += lengths.back();
  }
  double at = 0;
  for (const double n : lengths) list.push_back(std::floor((at += n) / all * static_cast<double>(rows)));
  list.back() = static_cast<double>(rows);
  return list;
}

bench::many_cores counted(const counted_program& p) {
  trial t(parsed(p.text));
  t.counts_work = true;
  for (const auto& [name, extents] : p.numbers) t.random(name, extents);
  const auto has = [&](const char* name) { return std::string(p.text).find(name) != std::string::npos; };
  if (has("off: i64")) t.with("off", {2001}, uneven_offsets(2000, extent_of(p, "x")));
  if (has("id: i64")) t.below("id", {extent_of(p, "v")}, extent_of(p, "x"));
  t.make();
  const auto& work = t.rest.back();
  bench::task_recorder tasks(workers, [&] {
    std::int64_t done = 0;
    std::memcpy(&done, work.bytes.data(), sizeof done);
    return static_cast<double>(done);
  });
  const parallel_hook hook = tasks.hook();
  t.code->call.parallel_for = hook.run;
  t.code->call.pool = hook.pool;
  t.code->call.threads = hook.threads;
  std::memset(t.rest.back().bytes.data(), 0, sizeof(std::int64_t));
  const bench::timed_call call = tasks.record([&] { EXPECT_EQ(t.run(), 0); });
  const bench::many_cores of = simulated(call, workers);
  if (std::getenv("SHEAF_SHOW") != nullptr)
    std::printf("%s\n%s%s: serial %.2f %%, waiting %.1f %%\n", t.plan_text().c_str(),
                described(call, workers).c_str(), p.name, of.serial_percent(), of.waiting_percent());
  return of;
}

const counted_program programs[] = {
    {"columns", R"(input x: f32[?, ?]
input g: f32[?]
y(j) = mean(i, x(i, j))
loss = sum(j, y(j) * g(j))
output y, grad(loss, x))", {{"x", {8192, 512}}, {"g", {512}}}, 2},
    {"rows", R"(input x: f32[?, ?]
y(i) = logsumexp(j, x(i, j))
loss = sum(i, y(i))
output y, grad(loss, x))", {{"x", {8192, 512}}}},
    {"all", R"(input x: f32[?, ?]
y = mean(over(i, j), (x(i, j) - 1) * (x(i, j) - 1))
output y)", {{"x", {8192, 512}}}},
    {"layer_norm", R"(input x: f32[?, ?]
input g: f32[?, ?]
input w: f32[?]
c(i) = mean(j, x(i, j))
s(i) = mean(j, (x(i, j) - c(i)) * (x(i, j) - c(i)))
y(i, j) = (x(i, j) - c(i)) * rsqrt(s(i) + 1e-5) * w(j)
loss = sum(over(i, j), y(i, j) * g(i, j))
output y, grad(loss, x), grad(loss, w))", {{"x", {4096, 512}}, {"g", {4096, 512}}, {"w", {512}}}},
    {"variance of columns", R"(input x: f32[?, ?]
c(j) = mean(i, x(i, j))
y(j) = mean(i, (x(i, j) - c(j)) * (x(i, j) - c(j)))
output y)", {{"x", {8192, 4096}}}},
    {"window", R"(input x: f32[?]
y(t.in(0, extent(x, 0) - 1023)) = mean(u.in(0, 1024), x(t + u))
output y)", {{"x", {1 << 23}}}, 1, 20},
    {"pooling", R"(input x: f32[?, ?, ?]
y(c, i.in(0, 64), j.in(0, 64)) = max(over(u.in(0, 2), v.in(0, 2)), x(c, 2 * i + u, 2 * j + v))
output y)", {{"x", {256, 128, 128}}}},
    {"softmax of segments", R"(input x: f32[?]
input off: i64[?]
top(m.in(0, extent(off, 0) - 1)) = logsumexp(t.in(off(m), off(m + 1)), x(t))
y(t) = sum(m.in(0, extent(off, 0) - 1).where(off(m) <= t && t < off(m + 1)), exp(x(t) - top(m)))
output y)", {{"x", {1 << 21}}}, 2, 12},
    {"bags", R"(input x: f32[?, ?]
input v: f32[?]
input off: i64[?]
input id: i64[?]
y(m.in(0, extent(off, 0) - 1), f) = sum(t.in(off(m), off(m + 1)), v(t) * x(id(t), f))
loss = sum(over(m, f), y(m, f) * y(m, f))
output y, grad(loss, x))", {{"x", {100000, 16}}, {"v", {100000}}}, 1, 12},
};

TEST(many_cores, hardly_any_work_is_of_one_and_none_waits_long) {
  for (const counted_program& p : programs) {
    SCOPED_TRACE(p.name);
    const bench::many_cores of = counted(p);
    EXPECT_GT(of.shared, 0);
    EXPECT_LE(of.serial_percent(), p.serial);
    EXPECT_LE(of.waiting_percent(), p.waiting);
  }
}

}  // namespace
}  // namespace sheaf::test::many_cores_tests
