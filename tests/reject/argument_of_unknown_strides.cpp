// expect: call: argument a: expected f32 of rank 1, got something with data() whose strides are not known; view_of(pointer, {extents...}, {strides...}) says them
#include <cstddef>

#include <sheaf/sheaf.hpp>

// Every second element of something: data() and size() alone don't say so.
struct every_second {
  float* first;
  float* data() const { return first; }
  std::size_t size() const { return 4; }
};

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(every_second values) { compile(define<"y">(i) = a(i))(a = values); }
