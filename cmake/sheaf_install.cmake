# The plug-in, which every program needs at run time: installed with the project that adds Sheaf, too. Headers and libraries are
# installed where Sheaf is the project itself. No header of jit/llvm or jit/cuda is public.
include(GNUInstallDirs)
if(TARGET sheaf_llvm)
  install(TARGETS sheaf_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sheaf_plugin)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
foreach(folder dsl jit runtime api)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "llvm" EXCLUDE PATTERN "cuda" EXCLUDE)
endforeach()
install(FILES api/sheaf.hpp api/text.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf OPTIONAL)
install(TARGETS sheaf sheaf_dsl sheaf_runtime sheaf_jit sheaf_text EXPORT sheaf_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT sheaf_targets NAMESPACE sheaf:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf
  FILE sheaf_targets.cmake)
install(FILES cmake/sheaf-config.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)
