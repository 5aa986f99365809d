// What CUDA's users would run, beside the table's rows. CUB: DeviceReduce::Sum of 1 GB, DeviceSegmentedReduce::Sum of
// 64M elements in segments, and with their one size as a hint where CUB takes it (from 3.1). By hand: the gradient of
// a gather by atomics, whose sums differ from run to run. Medians by events. Compiled by nvcc in scripts/gpu-check;
// lines as those of bench_gpu.
#include <cub/cub.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("note %s failed: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

template <class T>
T* device(std::size_t count) {
  T* at = nullptr;
  CHECK(cudaMalloc(&at, count * sizeof(T)));
  return at;
}

__global__ void fill(float* x, std::int64_t n) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x)
    x[i] = static_cast<float>((i * 2654435761u) & 0xffff) / 65536.0f;
}

template <class Call>
double median_of(Call call) {
  cudaEvent_t first, last;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&last));
  for (int k = 0; k < 3; ++k) call();
  CHECK(cudaDeviceSynchronize());
  std::vector<float> times;
  for (int k = 0; k < 21; ++k) {
    float ms = 0;
    CHECK(cudaEventRecord(first));
    call();
    CHECK(cudaEventRecord(last));
    CHECK(cudaEventSynchronize(last));
    CHECK(cudaEventElapsedTime(&ms, first, last));
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Temporary memory asked for once, as a program would.
template <class Call>
double with_memory(Call call) {
  std::size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  void* memory = device<char>(bytes + 1);
  const double ms = median_of([&] { CHECK(call(memory, bytes)); });
  CHECK(cudaFree(memory));
  return ms;
}

std::uint64_t bits_at(std::uint64_t position) {  // as bench/workloads/data.hpp
  std::uint64_t z = (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
double uniform_at(std::uint64_t position) { return static_cast<double>(bits_at(position) >> 11) * 0x1p-53; }

std::vector<std::int64_t> offsets_of(std::int64_t elements, std::int64_t length) {
  std::vector<std::int64_t> at = {0};
  for (std::uint64_t n = 0; at.back() < elements; ++n) {
    const auto own = length != 0 ? length : static_cast<std::int64_t>(std::min(1e5, 1 / (1e-5 + uniform_at(n))));
    at.push_back(std::min(elements, at.back() + own));
  }
  return at;
}

void sums(const float* x, std::int64_t whole, float* out) {
  std::printf("row cub:sum 1GB %.6g ms 0 0\n", with_memory([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Sum(memory, bytes, x, out, whole);
              }));
}

void segments(const float* x, std::int64_t elements, float* out) {
  for (const std::int64_t length : {1, 4, 16, 64, 256, 0}) {
    const auto at = offsets_of(elements, length);
    auto* offsets = device<std::int64_t>(at.size());
    CHECK(cudaMemcpy(offsets, at.data(), at.size() * 8, cudaMemcpyHostToDevice));
    const auto count = static_cast<std::int64_t>(at.size()) - 1;
    const std::string what = length == 0 ? "power_law" : std::to_string(length);
    std::printf("row cub:segmented %s %.6g ms 0 0\n", what.c_str(), with_memory([&](void* memory, std::size_t& bytes) {
                  return cub::DeviceSegmentedReduce::Sum(memory, bytes, x, out, count, offsets, offsets + 1);
                }));
#if CUB_VERSION >= 300100
    if (length != 0)
      std::printf("row hinted:segmented %s %.6g ms 0 0\n", what.c_str(),
                  with_memory([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceSegmentedReduce::Sum(memory, bytes, x, out, count, static_cast<int>(length));
                  }));
#endif
    CHECK(cudaFree(offsets));
  }
}

// A warp takes a row of 128 values, a thread four in a row; four atomics in one where the architecture has that.
__global__ void add_rows(const float4* dy, const std::int64_t* ids, std::int64_t count, float4* into) {
  const std::int64_t n = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / 32, column = threadIdx.x % 32;
  if (n >= count) return;
  const float4 from = dy[n * 32 + column];
  float4* to = into + ids[n] * 32 + column;
#if __CUDA_ARCH__ >= 900
  atomicAdd(to, from);
#else
  atomicAdd(&to->x, from.x), atomicAdd(&to->y, from.y), atomicAdd(&to->z, from.z), atomicAdd(&to->w, from.w);
#endif
}

void gather_gradient(const float* dy, float* into) {  // the sizes and ids of bench/gpu/gather.cpp
  constexpr std::int64_t words = std::int64_t{1} << 20, count = words * 2, features = 128;
  std::vector<std::int64_t> picks(count);
  for (std::int64_t n = 0; n < count; ++n) picks[n] = static_cast<std::int64_t>(bits_at(n) % words);
  auto* ids = device<std::int64_t>(count);
  CHECK(cudaMemcpy(ids, picks.data(), count * 8, cudaMemcpyHostToDevice));
  const double ms = median_of([&] {
    CHECK(cudaMemsetAsync(into, 0, words * features * sizeof(float)));
    add_rows<<<count * 32 / 256, 256>>>(reinterpret_cast<const float4*>(dy), ids, count,
                                        reinterpret_cast<float4*>(into));
    CHECK(cudaGetLastError());
  });
  for (const char* what : {"each_call", "kept"}) std::printf("row atomic:gather_gradient %s %.6g ms 0 0\n", what, ms);
  CHECK(cudaFree(ids));
}

}  // namespace

// peers [ID...]: of sum, segmented, gather_gradient; all where none is given.
int main(int given, char** words) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("note no GPU here"), 0;
  const auto wants = [&](const char* id) {
    return given < 2 ||
           std::any_of(words + 1, words + given, [&](const char* one) { return std::strcmp(one, id) == 0; });
  };
  std::printf("note CUB %d.%d.%d\n", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
  const std::int64_t whole = std::int64_t{1} << 28, elements = std::int64_t{1} << 26;
  float* x = device<float>(whole);
  fill<<<1024, 256>>>(x, whole);
  float* out = device<float>(elements * 2);
  if (wants("sum")) sums(x, whole, out);
  if (wants("segmented")) segments(x, elements, out);
  if (wants("gather_gradient")) gather_gradient(x, out);
}
