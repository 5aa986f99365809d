// Programs as text: read by the C++ compiler (program<"...">) or at run time (text_program).
#pragma once
#include <sheaf/api/program_text.hpp>
#include <sheaf/api/text_program.hpp>
