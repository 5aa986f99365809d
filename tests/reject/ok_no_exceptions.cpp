// flavour: ok
// flags: -fno-exceptions
#include "whole_program.hpp"
