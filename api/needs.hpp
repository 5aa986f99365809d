// One sentence for compilers that cannot read the rest. Shown by tests/reject/older_standard.cpp.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "sheaf: C++20 is needed; compile with -std=c++20"
#define SHEAF_UNREADABLE
#elif defined(__clang__) && __clang_major__ < 18
#error "sheaf: clang 18 or later, or g++ 12 or later, is needed"
#define SHEAF_UNREADABLE
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "sheaf: g++ 12 or later, or clang 18 or later, is needed"
#define SHEAF_UNREADABLE
#endif
