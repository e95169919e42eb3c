# The libraries for a cross build, from their headers only: the installed packages refer to x86-64
# code. They get a separate include folder, because /usr/include also holds x86-64's C library.
# Included by the first project() (CMAKE_PROJECT_TOP_LEVEL_INCLUDES): see ./check --neon and the
# preset wasm.
set(headers ${CMAKE_BINARY_DIR}/header_only)
file(MAKE_DIRECTORY ${headers})
foreach(library fmt xsimd nlohmann doctest CLI xxhash.h)
  file(CREATE_LINK /usr/include/${library} ${headers}/${library} SYMBOLIC)
endforeach()
set(TAPESTRY_XXHASH_INCLUDE_DIR ${headers} CACHE PATH "xxHash's header")

add_library(header_only INTERFACE)
target_include_directories(header_only SYSTEM INTERFACE ${headers})
foreach(target xsimd nlohmann_json::nlohmann_json doctest::doctest CLI11::CLI11)
  add_library(${target} ALIAS header_only)
endforeach()

# fmt is compiled once: header-only, it triples the compile time of every source. g++'s option keeps
# its inline functions, whether called or not; clang does not treat them as functions, and the two
# templates that fmt's headers leave to others are instantiated explicitly.
if(EMSCRIPTEN)
  file(CONFIGURE OUTPUT fmt.cpp CONTENT [[
#include <fmt/format-inl.h>
template auto fmt::detail::thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl(locale_ref) -> char;
]])
else()
  file(CONFIGURE OUTPUT fmt.cpp CONTENT "#include <fmt/format.h>\n")
endif()
add_library(fmt STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/fmt.cpp)
add_library(fmt::fmt ALIAS fmt)
target_include_directories(fmt SYSTEM PUBLIC ${headers})
if(EMSCRIPTEN)  # what em++ has no OpenMP and no complete <charconv> for
  add_library(wasm_shims INTERFACE)
  target_include_directories(wasm_shims SYSTEM INTERFACE ${CMAKE_CURRENT_LIST_DIR}/wasm/shims)
  add_library(OpenMP::OpenMP_CXX ALIAS wasm_shims)
  target_link_libraries(fmt PUBLIC wasm_shims)
else()
  target_compile_definitions(fmt PRIVATE FMT_HEADER_ONLY)
  target_compile_options(fmt PRIVATE -fkeep-inline-functions)
endif()

# Every find_package comes here first; everything else is found in the usual way.
macro(tapestry_find_header_only method name)
  if("${name}" MATCHES "^(fmt|xsimd|nlohmann_json|doctest|CLI11)$" OR TARGET ${name}::${name}_CXX)
    set(${name}_FOUND TRUE)
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER tapestry_find_header_only
               SUPPORTED_METHODS FIND_PACKAGE)
