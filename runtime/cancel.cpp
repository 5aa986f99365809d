#include <sheaf/runtime/cancel.hpp>

#include <algorithm>
#include <csetjmp>

namespace sheaf::inline v0_1 {

namespace {

constexpr double look_after = 200'000;  // nanoseconds

thread_local const cancel_token* of_thread = nullptr;

struct cancellable_loops {
  const cancel_token* token;
  const sheaf_call* inner;  // as the caller has it
  std::jmp_buf ended;
};

// A task of a loop: a call, which carries what the task is really for.
struct task_call {
  sheaf_call call;
  sheaf_body body;
  const cancellable_loops* of;
  double cost;
};

void run_task(const sheaf_call* call, std::int64_t begin, std::int64_t end) {
  const auto* t = reinterpret_cast<const task_call*>(call);
  const auto at_once = static_cast<std::int64_t>(std::clamp(look_after / std::max(t->cost, 1e-3), 1.0, 1e15));
  for (; begin < end && !t->of->token->is_cancelled(); begin += std::min(at_once, end - begin))
    t->body(t->of->inner, begin, begin + std::min(at_once, end - begin));
}

// Loops within a loop have the caller's hook: a task that has begun is done with all of what it does.
void run_loop(void* pool, sheaf_body body, const sheaf_call*, std::int64_t count, double cost) {
  auto* const loops = static_cast<cancellable_loops*>(pool);
  const task_call task{*loops->inner, body, loops, cost};
  if (loops->inner->parallel_for == nullptr)
    run_task(&task.call, 0, count);
  else
    loops->inner->parallel_for(loops->inner->pool, run_task, &task.call, count, cost);
  // What follows reads what this loop did not write. Between here and there are frames of the kernel alone, which have
  // nothing to clean up.
  if (loops->token->is_cancelled()) std::longjmp(loops->ended, 1);
}

}  // namespace

cancel_scope::cancel_scope(const cancel_token& token) noexcept : before_(of_thread) {
  of_thread = &token;
  runtime::cancel_scopes.fetch_add(1, std::memory_order_relaxed);
}
cancel_scope::~cancel_scope() {
  of_thread = before_;
  runtime::cancel_scopes.fetch_sub(1, std::memory_order_relaxed);
}

namespace runtime {

const cancel_token* token_of_thread() noexcept { return of_thread; }

std::int32_t run_cancellable(sheaf_entry entry, const sheaf_call& call, const cancel_token& token) {
  cancellable_loops loops{&token, &call, {}};
  sheaf_call watched = call;
  watched.parallel_for = run_loop;
  watched.pool = &loops;
  if (token.is_cancelled() || setjmp(loops.ended) != 0) throw cancelled();
  return entry(&watched);
}

}  // namespace runtime
}  // namespace sheaf::inline v0_1
