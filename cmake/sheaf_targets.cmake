# The flags of Sheaf's own translation units, and how its libraries are declared. Users of sheaf::sheaf get none of the
# warnings.
add_library(sheaf_flags INTERFACE)
target_compile_options(sheaf_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wextra-semi -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-qual -Wvla
  $<$<BOOL:${SHEAF_WERROR}>:-Werror>
  # g++ 12 sees overlaps and overflows inside std::string where there are none (GCC bugs 105329, 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wshadow=local>)
# A project without a build type gets a fast Sheaf all the same.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  target_compile_options(sheaf_flags INTERFACE -O2)
  target_compile_definitions(sheaf_flags INTERFACE NDEBUG)
endif()
if(SHEAF_SANITIZE)
  target_compile_options(sheaf_flags INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer)
  target_link_options(sheaf_flags INTERFACE -fsanitize=address,undefined)
endif()

# sheaf_unity(NAME sources...): headers are read once for eight sources, see SHEAF_UNITY. A using-directive, as that for
# an algorithm's constants, reaches the sources after it: those together have the same.
function(sheaf_unity name)
  list(LENGTH ARGN count)
  if(NOT SHEAF_UNITY OR count LESS 2)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(source ${ARGN})
    file(STRINGS ${source} directives REGEX "^ *using namespace")
    string(MAKE_C_IDENTIFIER "of${directives}" kind)
    list(APPEND sources_${kind} ${source})
    list(LENGTH sources_${kind} count)
    math(EXPR group "(${count} - 1) / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${kind}_${group})
  endforeach()
endfunction()

# sheaf_precompile(NAME headers...): the standard library's headers, and these, are read once, see SHEAF_PRECOMPILE.
# None of Sheaf's: a source that forgets one does not compile.
function(sheaf_precompile name)
  if(SHEAF_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE <algorithm> <bit> <cmath> <cstdint> <cstring> <functional> <map> <memory>
      <mutex> <optional> <set> <span> <string> <unordered_map> <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()

# sheaf_library(NAME sources...): a static library, position-independent because the plug-in and users' libraries link
# it, with hidden symbols: what links it keeps it to itself. With BUILD_SHARED_LIBS a shared one, whose symbols have the
# version of Sheaf. Without sources it is headers only. SHEAF_SCOPE_NAME is set to the keyword its properties take.
function(sheaf_library name)
  if(ARGN)
    if(BUILD_SHARED_LIBS)
      add_library(${name} SHARED ${ARGN})
      set(symbols ${PROJECT_BINARY_DIR}/${name}.symbols)
      file(WRITE ${symbols} "SHEAF_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} {\n"
        "  global: extern \"C++\" { sheaf::v*; typeinfo?for?sheaf::*; "
        "typeinfo?name?for?sheaf::*; vtable?for?sheaf::*; };\n"
        "  local: *;\n};\n")
      target_link_options(${name} PRIVATE -Wl,--version-script=${symbols})
      set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} LINK_DEPENDS ${symbols}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} VISIBILITY_INLINES_HIDDEN ON)
    else()
      add_library(${name} STATIC ${ARGN})
      set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    endif()
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
    sheaf_unity(${name} ${ARGN})
    sheaf_precompile(${name})
    target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:sheaf_flags>)
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(${name} ${scope} cxx_std_20)
  target_include_directories(${name} ${scope} $<BUILD_INTERFACE:${sheaf_include_dir}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(SHEAF_VERIFY)
    target_compile_definitions(${name} ${scope} SHEAF_VERIFY=1)
  endif()
  set(${name}_scope ${scope} PARENT_SCOPE)
endfunction()

# sheaf_executable(NAME sources...): a program of this tree: a test, an example, a benchmark.
function(sheaf_executable name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE sheaf_flags)
endfunction()
