// CUB beside the table's rows: DeviceReduce::Sum of 1 GB, DeviceSegmentedReduce::Sum of 64M elements in segments, without and
// with a fixed size; medians by events. Compiled by nvcc in scripts/gpu-check; lines as those of bench_gpu.
#include <cub/cub.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < n; i += std::int64_t{gridDim.x} * blockDim.x)
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

double uniform_at(std::uint64_t position) {  // as bench/workloads/data.hpp
  std::uint64_t z = (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

std::vector<std::int64_t> offsets_of(std::int64_t elements, std::int64_t length) {
  std::vector<std::int64_t> at = {0};
  for (std::uint64_t n = 0; at.back() < elements; ++n) {
    const auto own = length != 0 ? length : static_cast<std::int64_t>(std::min(1e5, 1 / (1e-5 + uniform_at(n))));
    at.push_back(std::min(elements, at.back() + own));
  }
  return at;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("note no GPU here"), 0;
  const std::int64_t whole = std::int64_t{1} << 28, elements = std::int64_t{1} << 26;
  float* x = device<float>(whole);
  fill<<<1024, 256>>>(x, whole);
  float* out = device<float>(elements);
  std::printf("row cub:sum 1GB %.6g ms 0 0\n", with_memory([&](void* memory, std::size_t& bytes) {
                return cub::DeviceReduce::Sum(memory, bytes, x, out, whole);
              }));
  for (const std::int64_t length : {1, 4, 16, 64, 256, 0}) {
    const auto at = offsets_of(elements, length);
    auto* offsets = device<std::int64_t>(at.size());
    CHECK(cudaMemcpy(offsets, at.data(), at.size() * 8, cudaMemcpyHostToDevice));
    const auto count = static_cast<std::int64_t>(at.size()) - 1;
    const double plain = with_memory([&](void* memory, std::size_t& bytes) {
      return cub::DeviceSegmentedReduce::Sum(memory, bytes, x, out, count, offsets, offsets + 1);
    });
    if (length == 0)
      std::printf("row cub:segmented power_law %.6g ms 0 0\n", plain);
    else
      std::printf("row cub:segmented %lld %.6g ms 0 0\n", static_cast<long long>(length), plain);
#if CUB_VERSION >= 300100
    if (length != 0)
      std::printf("row cub:segmented_hinted %lld %.6g ms 0 0\n", static_cast<long long>(length),
                  with_memory([&](void* memory, std::size_t& bytes) {
                    return cub::DeviceSegmentedReduce::Sum(memory, bytes, x, out, count, static_cast<int>(length));
                  }));
#endif
    CHECK(cudaFree(offsets));
  }
}
