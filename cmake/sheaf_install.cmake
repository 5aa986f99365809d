# Headers, libraries and the plug-in. No header of jit/llvm or jit/cuda is public.
include(GNUInstallDirs)
foreach(folder dsl jit runtime api)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "llvm" EXCLUDE PATTERN "cuda" EXCLUDE)
endforeach()
install(FILES api/sheaf.hpp api/text.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf OPTIONAL)
install(TARGETS sheaf sheaf_dsl sheaf_runtime sheaf_jit sheaf_text EXPORT sheaf_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET sheaf_llvm)
  install(TARGETS sheaf_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT sheaf_targets NAMESPACE sheaf:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf
  FILE sheaf_targets.cmake)
install(FILES cmake/sheaf-config.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)
