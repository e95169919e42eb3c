# The libraries for a cross build, from their headers alone: the installed packages speak of x86-64 code.
# They get an include folder of their own, for /usr/include holds x86-64's C library as well.
# Included by the first project() (CMAKE_PROJECT_TOP_LEVEL_INCLUDES): see ./check --neon.
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

# fmt is compiled once: as a header alone it triples the time of every source. The option keeps what is
# inline there, whether called or not.
file(CONFIGURE OUTPUT fmt.cpp CONTENT "#include <fmt/format.h>\n")
add_library(fmt STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/fmt.cpp)
add_library(fmt::fmt ALIAS fmt)
target_include_directories(fmt SYSTEM PUBLIC ${headers})
target_compile_definitions(fmt PRIVATE FMT_HEADER_ONLY)
target_compile_options(fmt PRIVATE -fkeep-inline-functions)

# Every find_package comes here first; what is not found here (OpenMP) is looked for as ever.
macro(tapestry_find_header_only method name)
  if("${name}" MATCHES "^(fmt|xsimd|nlohmann_json|doctest|CLI11)$")
    set(${name}_FOUND TRUE)
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER tapestry_find_header_only
               SUPPORTED_METHODS FIND_PACKAGE)
