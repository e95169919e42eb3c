# Debian's packages first; FetchContent only if they are missing (FIND_PACKAGE_ARGS).
include(FetchContent)

FetchContent_Declare(fmt URL https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
                     FIND_PACKAGE_ARGS)
FetchContent_Declare(xsimd URL https://github.com/xtensor-stack/xsimd/archive/refs/tags/13.0.0.tar.gz
                     FIND_PACKAGE_ARGS)
FetchContent_Declare(nlohmann_json
                     URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
                     FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(fmt xsimd nlohmann_json)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# xxHash is a single header here (XXH_INLINE_ALL), included in one source; Debian's has no CMake
# package.
find_path(TAPESTRY_XXHASH_INCLUDE_DIR xxhash.h)
if(NOT TAPESTRY_XXHASH_INCLUDE_DIR)
  FetchContent_Declare(xxhash
                       URL https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.1.tar.gz
                       SOURCE_SUBDIR without-its-CMakeLists)
  FetchContent_MakeAvailable(xxhash)
  set(TAPESTRY_XXHASH_INCLUDE_DIR ${xxhash_SOURCE_DIR})
endif()

# TAPESTRY_XSIMD_INCLUDE_DIR names another xsimd's headers, for testing the build with xsimd 13.
set(TAPESTRY_XSIMD_INCLUDE_DIR "" CACHE PATH "Headers of another xsimd than the installed one")
add_library(tapestry_xsimd INTERFACE)
if(TAPESTRY_XSIMD_INCLUDE_DIR)
  target_include_directories(tapestry_xsimd SYSTEM INTERFACE ${TAPESTRY_XSIMD_INCLUDE_DIR})
else()
  target_link_libraries(tapestry_xsimd INTERFACE xsimd)
endif()

if(TAPESTRY_BUILD_EXAMPLES)
  FetchContent_Declare(CLI11 URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.1.2.tar.gz
                       FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(CLI11)
endif()
if(TAPESTRY_BUILD_TESTS)
  FetchContent_Declare(doctest URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.9.tar.gz
                       FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(doctest)
endif()
