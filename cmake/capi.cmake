# libtapestry_gradcheck: the C ABI (autograd/capi) and everything it needs, for languages that load
# shared libraries. The archive has the same objects, for static linking.
file(GLOB capi_sources CONFIGURE_DEPENDS ${tapestry_SOURCE_DIR}/autograd/capi/*.cpp)
add_library(tapestry_capi OBJECT ${capi_sources})
tapestry_position_independent(tapestry_capi)
set_source_files_properties(${tapestry_SOURCE_DIR}/autograd/capi/tapestry_gradcheck.cpp PROPERTIES
  COMPILE_OPTIONS -fvisibility=default)
target_link_libraries(tapestry_capi
  PRIVATE fmt::fmt tapestry_build_flags tapestry_quick_build)
target_sources(tapestry PRIVATE $<TARGET_OBJECTS:tapestry_capi>)

if(tapestry_IS_TOP_LEVEL AND NOT TAPESTRY_SANITIZE AND NOT EMSCRIPTEN)
  set(exported ${tapestry_SOURCE_DIR}/autograd/capi/exported.map)
  add_library(tapestry_gradcheck SHARED $<TARGET_OBJECTS:tapestry_capi>)
  target_link_libraries(tapestry_gradcheck PRIVATE tapestry::tapestry)
  target_link_options(tapestry_gradcheck PRIVATE LINKER:--version-script=${exported}
    LINKER:--as-needed)  # it reads no images
  set_target_properties(tapestry_gradcheck PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${tapestry_BINARY_DIR} LINK_DEPENDS ${exported} VERSION ${tapestry_VERSION} SOVERSION ${tapestry_VERSION_MAJOR})
endif()
