// flavour: ok
// flags: -Wshadow -Werror=shadow
#include "whole_program.hpp"
