// NVRTC, opened at run time: CUDA C++ to machine code of one architecture. Shown by tests/cuda/nvrtc.cpp. Private
// header.
#pragma once
#include <string>
#include <vector>

namespace sheaf::inline v0_1::runtime::cuda {

// Of the library that is used, "13.0 /path". Opens it: throws code::device_failed, saying
// what is missing. driver_version: NVRTC of a newer major version than the driver makes code that the driver can't
// load, so that is an error, or another NVRTC if there is one. 0: any will do.
std::string compiler_version(int driver_version);

// Changes with the library; for keys. Does not open it where its file can be seen: opening takes 6 ms.
std::string compiler_identity(int driver_version);

// Machine code ("cubin") of a source without includes. architecture: "sm_90", or "sm_90a". Throws code::codegen_failed
// with NVRTC's log, which quotes the source; code::unsupported where this NVRTC does not know the architecture. ptx:
// gets the text, ended by a 0, that drivers translate for later architectures.
std::vector<unsigned char> compile_source(const std::string& source, const std::string& name,
                                          const std::string& architecture, std::vector<const char*> options,
                                          int driver_version, std::vector<unsigned char>* ptx = nullptr);

// The architectures that NVRTC knows, "sm_75" and so on.
std::vector<std::string> known_architectures();

}  // namespace sheaf::inline v0_1::runtime::cuda
