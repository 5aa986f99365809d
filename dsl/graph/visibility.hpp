// What keeps functions of headers in the library or program that includes them. Shown by tests/symbols and
// tests/libraries.
#pragma once

// Two libraries of a process may each hold a Sheaf. Weak symbols of one name are one in a process, whichever library
// brings them, unless they are hidden. Types stay as they are: g++ would warn of users' classes that hold hidden ones.
#define SHEAF_HIDDEN [[gnu::visibility("hidden")]]

// What takes expressions is inlined even in debug builds: its symbol would spell out their types, thousands of
// characters each, and all it does happens at compile time.
#define SHEAF_INLINE [[gnu::always_inline, gnu::visibility("hidden")]] inline
