#include <sheaf/runtime/object_loader.hpp>

#include <elf.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <sheaf/runtime/error.hpp>

#include "temporary_folder.hpp"

namespace {

using namespace sheaf::runtime;
using bytes = std::vector<unsigned char>;

// What kernels are made of, and what a C compiler adds: calls out of the object, constants, a jump table, pointers in
// data, zeroed data, calls within the object.
constexpr const char* source = R"(
#include <math.h>
#include <string.h>
static const double table[5] = {1.5, -2.25, 1e-30, 7, 0.1};
static int zeroed[1000];
static int counter = 40;
int next_count(void) { zeroed[999] += 1; return ++counter + zeroed[999]; }
double constant_at(long i) { return table[i]; }
float wave(float x) { return sinf(x) + 0.5f; }
void copy_all(void *to, const void *from, unsigned long n) { memcpy(to, from, n); }
int choose(int k, int a, int b) {
  switch (k) {
    case 0: return a + b; case 1: return a - b; case 2: return a * b; case 3: return a / b; case 4: return a % b;
    case 5: return a & b; case 6: return a | b;   case 7: return a ^ b; case 8: return a << b; default: return -1;
  }
}
__attribute__((noinline)) static float twice(float x) { return 2 * x; }
float (*const chosen[2])(float) = {twice, cosf};
float apply(int i, float x) { return chosen[i](x); }
extern int outside_number;
int read_outside(void) { return outside_number; }
const char *greeting(void) { return "sheaf"; }
__attribute__((aligned(64))) static const float lanes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
float lane(int i) { return lanes[i]; }
)";

int outside_number = 1234;

void* resolve(void*, const char* name) {
  if (std::strcmp(name, "outside_number") == 0) return &outside_number;
  return resolve_from_process(nullptr, name);
}

bytes compile(const std::string& code, const std::string& flags) {
  const temporary_folder folder;
  std::ofstream(folder.path() + "/k.c") << code;
  const std::string command = "cc " + flags + " -c " + folder.path() + "/k.c -o " + folder.path() + "/k.o";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot run: " + command);
  std::ifstream in(folder.path() + "/k.o", std::ios::binary);
  return bytes(std::istreambuf_iterator<char>(in), {});
}

const bytes& object() {
  static const bytes compiled = compile(source, "-O2 -fPIC");
  return compiled;
}

template <class Function>
Function* function(const loaded_object& from, const char* name) {
  void* found = from.find(name);
  if (!found) throw std::runtime_error(std::string("no symbol ") + name);
  return reinterpret_cast<Function*>(found);
}

void expect_all_works(const loaded_object& kernels) {
  EXPECT_EQ(function<int()>(kernels, "next_count")(), 42);
  EXPECT_EQ(function<int()>(kernels, "next_count")(), 44);
  EXPECT_EQ(function<double(long)>(kernels, "constant_at")(1), -2.25);
  EXPECT_EQ(function<float(float)>(kernels, "wave")(1.25f), sinf(1.25f) + 0.5f);
  char text[6] = {};
  function<void(void*, const void*, unsigned long)>(kernels, "copy_all")(text, "stalk", 6);
  EXPECT_STREQ(text, "stalk");
  const int expected[] = {10, 4, 21, 2, 1, 3, 7, 4, 56, -1};
  for (int k = 0; k < 10; ++k) EXPECT_EQ(function<int(int, int, int)>(kernels, "choose")(k, 7, 3), expected[k]) << k;
  EXPECT_EQ(function<float(int, float)>(kernels, "apply")(0, 4.f), 8.f);
  EXPECT_EQ(function<float(int, float)>(kernels, "apply")(1, 4.f), cosf(4.f));
  EXPECT_EQ(function<int()>(kernels, "read_outside")(), 1234);
  EXPECT_STREQ(function<const char*()>(kernels, "greeting")(), "sheaf");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(function<float(int)>(kernels, "lane")(i), i + 1);
}

TEST(object_loader, code_from_a_compiler_runs) {
  for (const char* flags :
       {"-O2 -fPIC", "-O0 -fPIC", "-O3 -fPIC -fno-plt", "-O2 -fPIC -ffunction-sections -fdata-sections",
        "-O2 -fPIC -mcmodel=large", "-O2 -fPIC -g"}) {
    SCOPED_TRACE(flags);
    const bytes file = compile(source, flags);
    expect_all_works(load_object(file.data(), file.size(), resolve));
  }
}

TEST(object_loader, two_loads_share_nothing) {
  const loaded_object first = load_object(object().data(), object().size(), resolve);
  const loaded_object second = load_object(object().data(), object().size(), resolve);
  EXPECT_EQ(function<int()>(first, "next_count")(), 42);
  EXPECT_EQ(function<int()>(first, "next_count")(), 44);
  EXPECT_EQ(function<int()>(second, "next_count")(), 42);
}

TEST(object_loader, bytes_may_lie_at_any_address) {
  bytes shifted(object().size() + 1);
  std::memcpy(shifted.data() + 1, object().data(), object().size());
  expect_all_works(load_object(shifted.data() + 1, object().size(), resolve));
}

TEST(object_loader, moves_and_gives_nothing_for_unknown_names) {
  loaded_object first = load_object(object().data(), object().size(), resolve);
  loaded_object moved = std::move(first);
  EXPECT_EQ(first.find("lane"), nullptr);
  EXPECT_NE(moved.find("lane"), nullptr);
  EXPECT_EQ(moved.find("twice"), nullptr);  // local
  EXPECT_EQ(moved.find("sinf"), nullptr);   // not its own
  moved = loaded_object();
  EXPECT_EQ(moved.mapped_bytes(), 0u);
}

TEST(object_loader, nothing_is_writable_and_executable) {
  const loaded_object kernels = load_object(object().data(), object().size(), resolve);
  std::ifstream maps("/proc/self/maps");
  int seen = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char rights[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3);
    const auto place = reinterpret_cast<std::uintptr_t>(kernels.find("lane"));
    if (place >= begin && place < end) {
      EXPECT_STREQ(rights, "r-xp");
      ++seen;
    }
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
  }
  EXPECT_EQ(seen, 1);
}

sheaf::code code_of(const bytes& file) {
  try {
    load_object(file.data(), file.size(), resolve);
  } catch (const sheaf::error& e) {
    return e.code();
  }
  ADD_FAILURE() << "loaded";
  return sheaf::code::broken_invariant;
}

TEST(object_loader, names_a_missing_symbol) {
  const bytes file =
      compile("int nowhere_to_be_found(int); int f(int x) { return nowhere_to_be_found(x) + 1; }", "-O2 -fPIC");
  try {
    load_object(file.data(), file.size());
    FAIL();
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), sheaf::code::symbol_not_found);
    EXPECT_STREQ(e.what(), "loading of a kernel object: expected a definition of \"nowhere_to_be_found\", found none");
  }
}

TEST(object_loader, refuses_what_it_does_not_do) {
  EXPECT_EQ(code_of(compile("__thread int x; int f(void) { return ++x; }", "-O2 -fPIC")), sheaf::code::bad_object);
  EXPECT_EQ(code_of(compile("int n; int f(void) { return n; }", "-O2 -fPIC -fcommon")), sheaf::code::bad_object);
  EXPECT_EQ(code_of(compile("int x; __attribute__((constructor)) void f(void) { x = 1; }", "-O2 -fPIC")),
            sheaf::code::bad_object);
  EXPECT_EQ(code_of(compile("static int x[9]; int f(long i) { return x[i]++; }", "-O2 -fno-pic -mcmodel=small")),
            sheaf::code::bad_object);  // 32-bit absolute addresses
  EXPECT_EQ(code_of(compile("extern int outside_number; int f(void) { return outside_number; }", "-O2 -fPIE")),
            sheaf::code::bad_object);  // data taken to lie within 2 GB
  bytes other = object();
  other[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64;
  EXPECT_EQ(code_of(other), sheaf::code::unsupported);
  EXPECT_EQ(code_of({}), sheaf::code::bad_object);
  EXPECT_EQ(code_of(bytes(4096, 0)), sheaf::code::bad_object);
}

// Loads a copy that ends where its heap block ends, so that an address sanitizer sees a read past it.
bool loads(const bytes& file) {
  const bytes exact(file);
  try {
    load_object(exact.data(), exact.size(), resolve);
    return true;
  } catch (const sheaf::error&) {
    return false;
  }
}

TEST(object_loader, every_truncation_is_an_error) {
  for (std::size_t size = 0; size < object().size(); ++size)
    ASSERT_FALSE(loads(bytes(object().begin(), object().begin() + static_cast<std::ptrdiff_t>(size)))) << size;
}

TEST(object_loader, damage_never_crashes_the_loader) {
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const std::size_t headers = *reinterpret_cast<const Elf64_Off*>(object().data() + offsetof(Elf64_Ehdr, e_shoff));
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    bytes damaged = object();
    for (std::size_t hits = 1 + below(4); hits > 0; --hits) {
      const bool in_tables = below(2) != 0;  // where a lie does most harm
      const std::size_t at = in_tables ? headers + below(damaged.size() - headers) : below(damaged.size());
      damaged[at] =
          below(3) ? static_cast<unsigned char>(random()) : static_cast<unsigned char>(below(2) ? 0xff : 0x7f);
    }
    refused += !loads(damaged);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
