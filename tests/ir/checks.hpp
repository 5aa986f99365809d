// Between the checks that try programs and the main program that notes their kernels.
#pragma once
#include <string>

namespace sheaf::test {

// Of the subject that is being tried; empty: none is.
std::string& subject_name();

}  // namespace sheaf::test
