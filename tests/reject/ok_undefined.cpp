// flavour: ok
// flags: -fsanitize=undefined -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute
#include "whole_program.hpp"
