// libnvrtc.so of the tests: the text that NVRTC would get, compiled for the host with the emulator's words before it.
// FAKE_NVRTC_VERSION=13000 is what it says it is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "image.hpp"

namespace {

using namespace sheaf::fake;

enum : int { success = 0, invalid_input = 3, invalid_option = 5, compilation = 6 };
constexpr int architectures[] = {75, 80, 86, 90, 100};

struct program {
  std::string text, log, image, ptx;
};

long made = 0;

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// A thread of each kernel as a function of its parameter's address, and the parameter's size.
std::string entries(const std::string& text) {
  std::string out = R"(
template <class P> static void fake_call(void (*f)(P), const void* p) {
  f(*static_cast<const P*>(p));
}
template <class P> static unsigned long fake_bytes(void (*)(P)) { return sizeof(P); }
)";
  const std::regex bounds(R"(__launch_bounds__\([^)]*\))"), kernel(R"(__global__[^;{(]*\b([A-Za-z_]\w*)\s*\()");
  const std::string bare = std::regex_replace(text, bounds, "");
  for (std::sregex_iterator at(bare.begin(), bare.end(), kernel), end; at != end; ++at) {
    const std::string name = (*at)[1];
    out += "extern \"C\" void " + name + "_thread(const void* p) { fake_call(" + name + ", p); }\n";
    out += "extern \"C\" unsigned long " + name + "_bytes() { return fake_bytes(" + name + "); }\n";
  }
  return out;
}

}  // namespace

extern "C" {

long fake_compiles() { return made; }

const char* nvrtcGetErrorString(int status) {
  return status == success         ? "NVRTC_SUCCESS"
         : status == invalid_input ? "NVRTC_ERROR_INVALID_INPUT"
         : status == compilation   ? "NVRTC_ERROR_COMPILATION"
                                   : "NVRTC_ERROR_INVALID_OPTION";
}
int nvrtcVersion(int* major, int* minor) {
  const char* text = std::getenv("FAKE_NVRTC_VERSION");
  const int version = text == nullptr ? 13000 : std::atoi(text);
  *major = version / 1000, *minor = version % 1000 / 10;
  return success;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(architectures));
  return success;
}
int nvrtcGetSupportedArchs(int* list) {
  std::copy(std::begin(architectures), std::end(architectures), list);
  return success;
}
int nvrtcCreateProgram(program** out, const char* text, const char*, int, const char* const*, const char* const*) {
  *out = new program{text, "", ""};
  return success;
}
int nvrtcDestroyProgram(program** p) {
  delete *p;
  *p = nullptr;
  return success;
}
int nvrtcCompileProgram(program* p, int count, const char* const* options) {
  std::string architecture;
  for (int k = 0; k < count; ++k)
    if (std::strncmp(options[k], "--gpu-architecture=", 19) == 0) architecture = options[k] + 19;
  if (architecture.rfind("sm_", 0) != 0) return p->log = "no architecture", invalid_option;
  if (p->text.find("#include") != std::string::npos) return p->log = "an include", compilation;
  ++made;
  std::string folder = (std::filesystem::temp_directory_path() / "sheaf-fake-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return invalid_input;
  const std::string source = folder + "/k.cpp", library = folder + "/k.so", log = folder + "/k.log";
  std::ofstream(source) << "#include \"" SHEAF_TEST_DIR "/cuda/emulate.hpp\"\n#line 1 \"kernels\"\n"
                        << p->text << entries(p->text);
  const std::string command = SHEAF_GXX " -std=c++17 -O1 -w -ffp-contract=off -fno-strict-aliasing -fPIC -shared " +
                              source + " -o " + library + " >" + log + " 2>&1";
  const bool fine = std::system(command.c_str()) == 0;
  p->log = contents(log);
  if (fine) {
    const std::string bytes = contents(library);
    image_header header = {"FAKEGPU", {}, bytes.size()};
    std::snprintf(header.architecture, sizeof header.architecture, "%s", architecture.c_str());
    p->image.assign(reinterpret_cast<const char*>(&header), sizeof header);
    p->image += bytes;
    std::snprintf(header.architecture, sizeof header.architecture, "compute_%s", architecture.c_str() + 3);
    p->ptx.assign(reinterpret_cast<const char*>(&header), sizeof header);
    p->ptx += bytes;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return fine ? success : compilation;
}
int nvrtcGetProgramLogSize(program* p, std::size_t* size) {
  *size = p->log.size() + 1;
  return success;
}
int nvrtcGetProgramLog(program* p, char* to) {
  std::memcpy(to, p->log.c_str(), p->log.size() + 1);
  return success;
}
int nvrtcGetCUBINSize(program* p, std::size_t* size) {
  *size = p->image.size();
  return success;
}
int nvrtcGetCUBIN(program* p, char* to) {
  std::memcpy(to, p->image.data(), p->image.size());
  return success;
}
int nvrtcGetPTXSize(program* p, std::size_t* size) {
  *size = p->ptx.size();
  return success;
}
int nvrtcGetPTX(program* p, char* to) {
  std::memcpy(to, p->ptx.data(), p->ptx.size());
  return success;
}

}  // extern "C"
