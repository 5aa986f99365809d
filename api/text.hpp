// Programs as text: read by the C++ compiler (program<"...">) or at run time (text_program).
#pragma once
#include <sheaf/api/needs.hpp>
#ifndef SHEAF_UNREADABLE
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include <sheaf/dsl/surface/fixed_string.hpp>
#include <sheaf/api/program_text.hpp>
#include <sheaf/api/text_program.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif
