# What is installed, in three components: sheaf_plugin, what programs need at run time (shared libraries and the
# plug-in; also with the project that adds Sheaf as a folder); sheaf_development, headers, libraries and how CMake and
# pkg-config find them; sheaf_aot, the generator of kernels ahead of time. No header of jit/llvm or jit/cuda is public.
include(GNUInstallDirs)
if(TARGET sheaf_llvm)
  install(TARGETS sheaf_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_plugin)
endif()
set(libraries sheaf_runtime sheaf_jit sheaf_text)
if(BUILD_SHARED_LIBS)
  set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  if(BUILD_SHARED_LIBS)
    install(TARGETS ${libraries} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_plugin)
  endif()
  return()
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)
foreach(folder dsl jit runtime api)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf COMPONENT sheaf_development
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "llvm" EXCLUDE PATTERN "cuda" EXCLUDE)
endforeach()
install(FILES api/sheaf.hpp api/text.hpp aot/kernels.hpp ${sheaf_include_dir}/sheaf/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf COMPONENT sheaf_development)
install(TARGETS sheaf sheaf_dsl ${libraries} EXPORT sheaf_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_plugin NAMELINK_COMPONENT sheaf_development)
install(EXPORT sheaf_targets NAMESPACE sheaf:: DESTINATION ${package} FILE sheaf_targets.cmake
  COMPONENT sheaf_development)
if(TARGET sheaf_aot)
  set_target_properties(sheaf_aot PROPERTIES EXPORT_NAME aot INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS sheaf_aot EXPORT sheaf_aot_targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sheaf_aot)
  install(EXPORT sheaf_aot_targets NAMESPACE sheaf:: DESTINATION ${package} FILE sheaf_aot_targets.cmake
    COMPONENT sheaf_aot)
  install(FILES cmake/sheaf_kernels.cmake DESTINATION ${package} COMPONENT sheaf_aot)
endif()

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sheaf-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/sheaf-config.cmake ${PROJECT_BINARY_DIR}/sheaf-config-version.cmake DESTINATION ${package}
  COMPONENT sheaf_development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sheaf_plugin)

# pkg-config finds the prefix by where its file is, so that it can be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/sheaf.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: sheaf
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Cflags: -I${includedir} -std=c++20
Libs: -L${libdir} -lsheaf_text -lsheaf_jit -lsheaf_runtime -ldl -pthread
]])
install(FILES ${PROJECT_BINARY_DIR}/sheaf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT sheaf_development)

# cpack: a .tar.gz and a .deb of everything.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME sheaf)
set(CPACK_PACKAGE_VENDOR Sheaf)
set(CPACK_PACKAGE_CONTACT "the authors of Sheaf <sheaf@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME sheaf-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libboost-dev (>= 1.74)")
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
include(CPack)
