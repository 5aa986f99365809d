// flavour: ok
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>

using namespace std;
#include "whole_program.hpp"
