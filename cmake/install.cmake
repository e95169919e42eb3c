# cmake --install: the library, its headers as <tapestry/ROOM/FILE.h>, and the package for
# find_package(tapestry) and pkg-config. tests/install builds a program against the result.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tapestry)

include(cmake/public_headers.cmake)
foreach(header IN LISTS public_headers)
  cmake_path(GET header PARENT_PATH room)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapestry/${room})
endforeach()

install(DIRECTORY ${TAPESTRY_MOVED_DIR}/tapestry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(TARGETS tapestry EXPORT tapestryTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tapestry_gradcheck)
  install(TARGETS tapestry_gradcheck LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endif()
install(EXPORT tapestryTargets NAMESPACE tapestry:: DESTINATION ${package_dir})
if(TARGET tapestry_mpi)  # the package's component mpi
  set_target_properties(tapestry_mpi PROPERTIES EXPORT_NAME mpi)
  install(TARGETS tapestry_mpi EXPORT tapestryMpiTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
  install(EXPORT tapestryMpiTargets NAMESPACE tapestry:: DESTINATION ${package_dir})
  set(TAPESTRY_WITH_MPI OFF)
  if(TAPESTRY_MPI AND MPI_CXX_FOUND)
    set(TAPESTRY_WITH_MPI ON)
  endif()
endif()
if(TARGET tapestry_command)
  # OPTIONAL: so a build of the library only can be installed.
  install(TARGETS tapestry_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
endif()

configure_package_config_file(
  cmake/tapestryConfig.cmake.in ${tapestry_BINARY_DIR}/tapestryConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its users (semver.org, 4).
write_basic_package_version_file(${tapestry_BINARY_DIR}/tapestryConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${tapestry_BINARY_DIR}/tapestryConfig.cmake
              ${tapestry_BINARY_DIR}/tapestryConfigVersion.cmake
        DESTINATION ${package_dir})

# pkg-config's file is in lib/pkgconfig: its prefix is two folders up, wherever that is.
configure_file(cmake/tapestry.pc.in ${tapestry_BINARY_DIR}/tapestry.pc @ONLY)
install(FILES ${tapestry_BINARY_DIR}/tapestry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
