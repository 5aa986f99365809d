// Arrays, copies, streams, events and graphs.
#include <sheaf/runtime/device.hpp>

#include <gtest/gtest.h>

#include <support/both.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using fake::with;
using test::sentence_of;

TEST(device, a_copy_there_and_back_is_the_same) {
  const auto rows = test::noise_array<float>(-1, 1, 5, 7);
  const stream s(on(gpu));
  const device_array<float, 2> there = to_device(rows, s);
  EXPECT_EQ(there.extent(1), 7);
  EXPECT_TRUE(test::same_bits(to_host(there, s), rows));
  device_array<float, 2> other(uninitialized, s, 5, 7);
  copy(other.view(), there.view(), s);
  EXPECT_TRUE(test::same_bits(to_host(other), rows));
  EXPECT_TRUE(test::same_bits(to_host(to_device(array<double, 0>(3), s), s), array<double, 0>(3)));
}

TEST(device, arrays_begin_as_zeros_and_may_be_empty) {
  const device_array<std::int32_t, 1> zeros(on(gpu), 100);
  for (const std::int32_t z : to_host(zeros)) ASSERT_EQ(z, 0);
  const device_array<float, 2> none(on(gpu), 0, 4);
  EXPECT_EQ(to_host(none).size(), 0);
}

TEST(device, memory_goes_back_in_the_order_of_its_stream) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  s.synchronise();
  const long long before = fake::allocated(0);
  {
    const device_array<float, 1> a(s, 1000);
    EXPECT_EQ(fake::allocated(0), before + 4000);
  }
  EXPECT_EQ(fake::allocated(0), before + 4000);
  s.synchronise();
  EXPECT_EQ(fake::allocated(0), before);
}

TEST(device, nothing_waits_but_what_says_so) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  const long before = fake::calls("cuStreamSynchronize");
  const device_array<float, 1> a(s, 10);
  device_array<float, 1> b(s, 10);
  copy(b.view(), a.view(), s);
  EXPECT_EQ(fake::calls("cuStreamSynchronize"), before);
  to_host(b, s);
  EXPECT_EQ(fake::calls("cuStreamSynchronize"), before + 1);
}

TEST(device, memory_that_is_used_up_is_an_error_and_can_be_freed) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  s.synchronise();
  const with little("FAKE_MEMORY", std::to_string(fake::allocated(0) + 4096));
  {
    const device_array<float, 1> most(s, 1000);
    EXPECT_EQ(
        sentence_of([&] { device_array<float, 1>(s, 1000); }),
        "out_of_memory: cuMemAllocFromPoolAsync: expected success, found CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  }
  const device_array<float, 1> again(s, 1000);
}

TEST(device, a_failed_fill_gives_the_memory_back) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  s.synchronise();
  const long long before = fake::allocated(0);
  {
    const with failing("FAKE_FAIL", "cuMemsetD8Async:719");
    EXPECT_THROW((device_array<float, 1>(s, 1000)), error);
  }
  s.synchronise();
  EXPECT_EQ(fake::allocated(0), before);
}

TEST(device, copies_check_their_shapes) {
  const stream s(on(gpu));
  device_array<float, 2> there(s, 3, 4);
  array<float, 2> here(3, 5);
  EXPECT_EQ(sentence_of([&] { copy(there.view(), view<float, 2>(here), s); }),
            "extent_mismatch: copy to a device, dimension 1: expected extent 4, found 5");
  EXPECT_EQ(sentence_of([&] { copy(view<float, 2>(here).sliced(1, 0, 4), there.view(), s); }),
            "bad_argument: copy from a device: expected stride 4 in dimension 0, found 5");
}

TEST(device, events_have_times) {
  const stream s(on(gpu));
  event first, last;
  first.record(s);
  device_array<float, 1> a(s, 1 << 20);
  last.record(s);
  EXPECT_GT(last.milliseconds_since(first), 0);
  const stream t(on(gpu));
  t.wait(last);
  t.synchronise();
}

TEST(device, each_call_that_fails_is_named) {
  SHEAF_FAKE_ONLY();
  const stream s(on(gpu));
  device_array<float, 1> a(s, 4), b(s, 4);
  array<float, 1> h(4);
  event e;
  const auto said = [&](const char* call, auto body) {
    const with failing("FAKE_FAIL", std::string(call) + ":719");
    const std::string expected = std::string("device_failed: ") + call +
                                 ": expected success, found CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure";
    EXPECT_EQ(sentence_of(body), expected);
  };
  said("cuCtxGetCurrent", [&] { s.synchronise(); });
  said("cuCtxPushCurrent_v2", [&] { s.synchronise(); });
  said("cuStreamCreate", [&] { stream(on(gpu)); });
  said("cuStreamSynchronize", [&] { s.synchronise(); });
  said("cuStreamGetId", [&] { s.check(); });
  said("cuStreamGetCaptureInfo_v2", [&] { s.check(); });
  said("cuCtxSynchronize", [&] { synchronise(on(gpu)); });
  said("cuMemAllocFromPoolAsync", [&] { device_array<float, 1>(s, 4); });
  said("cuMemsetD8Async", [&] { device_array<float, 1>(s, 4); });
  said("cuMemcpyHtoDAsync_v2", [&] { copy(a.view(), view<float, 1>(h), s); });
  said("cuMemcpyDtoHAsync_v2", [&] { copy(view<float, 1>(h), a.view(), s); });
  said("cuMemcpyAsync", [&] { copy(b.view(), a.view(), s); });
  said("cuEventCreate", [&] { event(on(gpu)); });
  said("cuEventRecord", [&] { e.record(s); });
  said("cuEventSynchronize", [&] { e.synchronise(); });
  said("cuEventElapsedTime", [&] { e.milliseconds_since(e); });
  said("cuStreamWaitEvent", [&] { s.wait(e); });
  said("cuStreamBeginCapture_v2", [&] { capture(s, [] {}); });
  said("cuStreamEndCapture", [&] { capture(s, [] {}); });
  graph_launch g = [&] {
    stream t(on(gpu));
    return capture(t, [&] { copy(b.view(), a.view(), t); });
  }();
  said("cuGraphLaunch", [&] { g.launch(s); });
  stream t(on(gpu));
  said("cuGraphInstantiateWithFlags", [&] { capture(t, [&] { copy(b.view(), a.view(), t); }); });
}

TEST(device, a_graph_runs_what_was_captured_when_it_is_launched) {
  const stream s(on(gpu));
  const auto values = test::list<float>({1, 2, 3});
  const device_array<float, 1> a = to_device(values, s);
  device_array<float, 1> b(s, 3);
  s.synchronise();
  const graph_launch g = capture(s, [&] { copy(b.view(), a.view(), s); });
  EXPECT_EQ(to_host(b, s).data()[1], 0);
  g.launch(s);
  EXPECT_EQ(to_host(b, s).data()[1], 2);
}

TEST(device, arrays_are_not_made_in_a_capture) {
  const stream s(on(gpu));
  capturing c(s);
  EXPECT_EQ(sentence_of([&] { device_array<float, 1>(s, 4); }),
            "unsupported: allocation in a capture: expected arrays that are made before it and given as views, found a "
            "new one");
}

TEST(device, devices_are_apart) {
  if (gpu_count() < 2) GTEST_SKIP() << "one GPU: nothing to tell apart";
  const stream s(on(gpu, 1));
  const device_array<float, 1> a(s, 8);
  EXPECT_EQ(a.device(), 1);
  EXPECT_EQ(a.view().device, 1);
  EXPECT_EQ(to_host(a).size(), 8);
}

}  // namespace
