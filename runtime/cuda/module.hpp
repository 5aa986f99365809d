// Machine code on a device. Shown by tests/gpu/runtime.cpp. Private header.
#pragma once
#include <string>
#include <vector>

#include <sheaf/runtime/cuda/context.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

class loaded_module {
 public:
  // Throws code::device_failed.
  loaded_module(device_context& where, const std::vector<unsigned char>& cubin);
  ~loaded_module();
  loaded_module(const loaded_module&) = delete;

  function find(const std::string& name) const;
  std::size_t bytes() const { return bytes_; }

 private:
  device_context& context_;
  module handle_ = nullptr;
  const std::size_t bytes_;
};

}  // namespace sheaf::inline v0_1::runtime::cuda
