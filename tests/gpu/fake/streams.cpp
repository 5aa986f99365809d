// The calls of the fake driver, see driver.cpp, on streams, captures, graphs and events. There is one queue for all.
#include <cstdint>
#include <memory>
#include <utility>

#include "calls.hpp"

using namespace sheaf::fake;

extern "C" {

int cuStreamCreate(void** made, unsigned) {
  ENTER_CONTEXT("cuStreamCreate");
  *made = new stream{current(), here().next_number++};
  return success;
}
int cuStreamDestroy_v2(void* s) {
  ENTER_CONTEXT("cuStreamDestroy_v2");
  here().run();
  delete static_cast<stream*>(s);
  return success;
}
int cuStreamSynchronize(void* on) {
  ENTER_CONTEXT("cuStreamSynchronize");
  stream& s = here().stream_of(on);
  if (s.owner != current()) return invalid_handle;
  NO_CAPTURE(s);
  return here().run();
}
int cuStreamGetId(void* on, unsigned long long* number) {
  ENTER_CONTEXT("cuStreamGetId");
  stream& s = here().stream_of(on);
  NO_CAPTURE(s);
  *number = s.number;
  return success;
}
int cuStreamWaitEvent(void* on, void* of, unsigned) {
  ENTER_CONTEXT("cuStreamWaitEvent");
  here().stream_of(on);
  return of == nullptr ? invalid_handle : success;  // the one queue is in order already
}
int cuStreamBeginCapture_v2(void* on, int) {
  ENTER_CONTEXT("cuStreamBeginCapture_v2");
  if (on == nullptr) return capture_unsupported;
  stream& s = here().stream_of(on);
  if (s.capturing != nullptr) return capture_invalidated;
  s.capturing = std::make_unique<graph>();
  s.invalidated = false;
  s.capture = here().next_number++;
  return success;
}
int cuStreamEndCapture(void* on, void** made) {
  ENTER_CONTEXT("cuStreamEndCapture");
  stream& s = here().stream_of(on);
  *made = nullptr;
  if (s.capturing == nullptr) return invalid_value;
  const auto taken = std::move(s.capturing);
  if (s.invalidated) return capture_invalidated;
  *made = new graph(*taken);
  return success;
}
int cuStreamGetCaptureInfo_v2(void* on, int* status, std::uint64_t* id, void**, const void**, std::size_t*) {
  ENTER_CONTEXT("cuStreamGetCaptureInfo_v2");
  stream& s = here().stream_of(on);
  *status = s.capturing == nullptr ? 0 : s.invalidated ? 2 : 1;
  *id = s.capturing != nullptr ? s.capture : 0;
  return success;
}
int cuGraphInstantiateWithFlags(void** made, void* of, unsigned long long) {
  ENTER_CONTEXT("cuGraphInstantiateWithFlags");
  *made = new graph(*static_cast<graph*>(of));
  return success;
}
int cuGraphLaunch(void* g, void* on) {
  ENTER_CONTEXT("cuGraphLaunch");
  for (const work& node : static_cast<graph*>(g)->nodes)
    if (const int status = here().put(here().stream_of(on), node); status != success) return status;
  return success;
}
int cuGraphDestroy(void* g) {
  ENTER("cuGraphDestroy");
  delete static_cast<graph*>(g);
  return success;
}
int cuGraphExecDestroy(void* g) {
  ENTER("cuGraphExecDestroy");
  delete static_cast<graph*>(g);
  return success;
}

int cuEventCreate(void** made, unsigned) {
  ENTER_CONTEXT("cuEventCreate");
  *made = new event{current()};
  return success;
}
int cuEventDestroy_v2(void* e) {
  ENTER("cuEventDestroy_v2");
  here().run();
  delete static_cast<event*>(e);
  return success;
}
int cuEventRecord(void* e, void* on) {
  ENTER_CONTEXT("cuEventRecord");
  auto* at = static_cast<event*>(e);
  if (at->owner != current()) return invalid_handle;
  at->at = -1;
  return here().put(here().stream_of(on), [at] { return at->at = here().clock, success; });
}
int cuEventQuery(void* e) {
  ENTER_CONTEXT("cuEventQuery");
  return static_cast<event*>(e)->at >= 0 ? success : not_ready;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  thread_local int now = 0;
  std::swap(now, *mode);
  return success;
}
int cuEventSynchronize(void*) {
  ENTER_CONTEXT("cuEventSynchronize");
  return here().run();
}
int cuEventElapsedTime(float* ms, void* from, void* to) {
  ENTER_CONTEXT("cuEventElapsedTime");
  const auto *a = static_cast<event*>(from), *b = static_cast<event*>(to);
  if (a->at < 0 || b->at < 0) return invalid_handle;
  *ms = static_cast<float>(b->at - a->at);
  return success;
}

}  // extern "C"
