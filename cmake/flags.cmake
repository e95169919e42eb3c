# Flags for our own targets only; users of the library inherit none of them.
add_library(tapestry_build_flags INTERFACE)
target_compile_features(tapestry_build_flags INTERFACE cxx_std_20)
target_include_directories(tapestry_build_flags INTERFACE ${tapestry_BINARY_DIR}/include)
target_compile_options(tapestry_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  # Outside the kernels a product is rounded before a sum: the same bits from every compiler.
  -ffp-contract=off
  # sqrt and similar functions need not set errno, so loops over them vectorise.
  -fno-math-errno)
if(EMSCRIPTEN)  # what is in memory has indices of 32 bits; a region of OpenMP is its block alone
  target_compile_options(tapestry_build_flags INTERFACE
    -Wno-shorten-64-to-32 -Wno-unused-lambda-capture)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tapestry_build_flags INTERFACE
    -Winvalid-pch  # a precompiled header that does not fit says so
    # No garbage collection below a GB: a tenth of the time, and a tenth more memory.
    "SHELL:--param ggc-min-heapsize=1000000")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # a time in a precompiled header would defeat ccache
  target_compile_options(tapestry_build_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(TAPESTRY_WARNINGS_AS_ERRORS)
  target_compile_options(tapestry_build_flags INTERFACE -Werror)
endif()
if(TAPESTRY_SANITIZE)
  target_compile_options(tapestry_build_flags INTERFACE
    -fsanitize=${TAPESTRY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tapestry_build_flags INTERFACE -fsanitize=${TAPESTRY_SANITIZE})
endif()

# For what sanitizer builds optimise, linked after tapestry_build_flags. The preset asan leaves out three checks
# of UBSan there, a tenth to a third of the compile time: of pointers that are null, that overflow, or that point
# to fewer bytes than are accessed. AddressSanitizer finds each use of one; `.ci/long asan` has the checks.
add_library(tapestry_sanitize_except INTERFACE)
if(TAPESTRY_SANITIZE AND TAPESTRY_SANITIZE_EXCEPT)
  target_compile_options(tapestry_sanitize_except INTERFACE -fno-sanitize=${TAPESTRY_SANITIZE_EXCEPT})
endif()

# For the command and programs, whose own code does little besides calling the library.
add_library(tapestry_quick_build INTERFACE)
target_compile_options(tapestry_quick_build INTERFACE $<$<CONFIG:Release>:-O1>)

# For tests, which do even less. Sanitizers need not check their own integer and pointer use, and
# those checks take a quarter of the compile time.
add_library(tapestry_test_build INTERFACE)
target_compile_options(tapestry_test_build INTERFACE $<$<CONFIG:Release>:-O0>)
# A comparison becomes a call instead of a block with its own try: a sixth less compile time. If it
# throws, its test case ends, which has failed either way.
target_compile_definitions(tapestry_test_build INTERFACE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
if(TAPESTRY_SANITIZE)
  target_compile_options(tapestry_test_build INTERFACE -fno-sanitize=undefined)
endif()

# The archive also goes into shared objects, including a Python module. Names that these do not
# export are hidden and cannot be interposed, so calls stay direct: a program is as fast as without
# (tests/frame/instruction_counts.sh).
function(tapestry_position_independent target)
  if(EMSCRIPTEN)  # there are no shared objects, and code would be slower
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

# Common includes are read once per target, whose sources all have the same flags. OFF: to check
# that every source includes what it uses.
function(tapestry_precompile target)
  if(TAPESTRY_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${tapestry_SOURCE_DIR}/cmake/standard.h)
    if(TAPESTRY_PRECOMPILE_ALL)  # said on the command line, so that a change of it compiles anew
      target_compile_definitions(${target} PRIVATE TAPESTRY_PRECOMPILE_ALL)
    endif()
  endif()
endfunction()
