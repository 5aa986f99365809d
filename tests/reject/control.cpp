// flavour: ok
#include <sheaf/dsl/graph/element.hpp>
int main() {}
