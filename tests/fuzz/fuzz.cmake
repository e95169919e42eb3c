# The fuzzer whose input is a directory. Every build replays its corpus as a test. The fuzzer itself
# needs a library that clang has instrumented: TAPESTRY_SANITIZE=address,undefined,fuzzer-no-link, as
# in .ci/long directories.
set(fuzz_sources archive.cpp confine.cpp mutate.cpp mutate_text.cpp no_measurement.cpp readers.cpp repair.cpp run_archive.cpp
                 world.cpp writers.cpp)
list(TRANSFORM fuzz_sources PREPEND fuzz/)
set(fuzz_libraries fmt::fmt tapestry_build_flags tapestry_test_build)

add_library(tapestry_fuzz OBJECT ${fuzz_sources})
target_link_libraries(tapestry_fuzz PRIVATE tapestry::tapestry ${fuzz_libraries})
add_executable(directory_corpus fuzz/directory_corpus.cpp fuzz/hostile_seeds.cpp fuzz/seeds.cpp
                                $<TARGET_OBJECTS:tapestry_fuzz>)
target_link_libraries(directory_corpus PRIVATE tapestry::tapestry ${fuzz_libraries})
add_test(NAME directory_corpus COMMAND directory_corpus ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus)

if(TAPESTRY_SANITIZE MATCHES "fuzzer-no-link" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_executable(directory_fuzzer EXCLUDE_FROM_ALL fuzz/directory_fuzzer.cpp
                                                   $<TARGET_OBJECTS:tapestry_fuzz>)
  tapestry_archive(tapestry_fuzzed numbers frame ISAS baseline)  # the parts that read and write directories
  target_link_libraries(directory_fuzzer PRIVATE tapestry_fuzzed ${fuzz_libraries})
  target_link_options(directory_fuzzer PRIVATE -fsanitize=fuzzer)
  # Coverage of the library guides it, not that of its own code.
  set_source_files_properties(${fuzz_sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
endif()
