# Headers are included as <sheaf/dsl/...>, though the folders stand at the root of the tree: the build tree holds links.
# sheaf_include_dir: what goes on the include path.
set(sheaf_include_dir ${CMAKE_CURRENT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${sheaf_include_dir}/sheaf)
foreach(folder dsl jit runtime api aot)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${sheaf_include_dir}/sheaf/${folder} SYMBOLIC)
endforeach()
foreach(header sheaf text)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/api/${header}.hpp ${sheaf_include_dir}/sheaf/${header}.hpp SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/aot/kernels.hpp ${sheaf_include_dir}/sheaf/kernels.hpp SYMBOLIC)
# The version, as macros for conditions and as a function for what is linked.
file(CONFIGURE OUTPUT ${sheaf_include_dir}/sheaf/version.hpp @ONLY CONTENT [[
// SHEAF_VERSION >= 10000 * major + 100 * minor + patch. docs/embedding.md says what stays the same between versions.
#pragma once
#define SHEAF_VERSION_MAJOR @PROJECT_VERSION_MAJOR@
#define SHEAF_VERSION_MINOR @PROJECT_VERSION_MINOR@
#define SHEAF_VERSION_PATCH @PROJECT_VERSION_PATCH@
#define SHEAF_VERSION (10000 * SHEAF_VERSION_MAJOR + 100 * SHEAF_VERSION_MINOR + SHEAF_VERSION_PATCH)
#define SHEAF_VERSION_STRING "@PROJECT_VERSION@"
]])
# Of the build tree alone: where its headers and so its plug-in are, for programs that are compiled by hand.
file(CONFIGURE OUTPUT ${sheaf_include_dir}/sheaf/build_tree.hpp
  CONTENT "#pragma once\n#define SHEAF_HEADERS \"@sheaf_include_dir@/sheaf/api/compile.hpp\"\n" @ONLY)
