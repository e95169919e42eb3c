# The fuzzer whose input is a directory. Every build replays its corpus as a test; .ci/long directories
# builds the fuzzer itself.
option(TAPESTRY_FUZZ "Instrument the library for directory_fuzzer (clang, with TAPESTRY_SANITIZE)" OFF)
set(fuzz_sources archive.cpp confine.cpp example_readers.cpp mutate.cpp mutate_text.cpp no_measurement.cpp readers.cpp repair.cpp
                 run_archive.cpp world.cpp writers.cpp)
list(TRANSFORM fuzz_sources PREPEND fuzz/)
tapestry_rooms(tapestry_fuzz fuzz_sources)
set(fuzz_libraries fmt::fmt tapestry_build_flags tapestry_test_build)

add_library(tapestry_fuzz OBJECT ${fuzz_sources})
target_link_libraries(tapestry_fuzz PRIVATE tapestry::tapestry ${fuzz_libraries})
set(corpus_sources fuzz/directory_corpus.cpp fuzz/hostile_seeds.cpp fuzz/seeds.cpp)
tapestry_rooms(directory_corpus corpus_sources)
add_executable(directory_corpus ${corpus_sources} $<TARGET_OBJECTS:tapestry_fuzz>)
target_link_libraries(directory_corpus PRIVATE tapestry::tapestry ${fuzz_libraries})
add_test(NAME directory_corpus COMMAND directory_corpus ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus)
set_tests_properties(directory_corpus PROPERTIES TIMEOUT 300)

if(TAPESTRY_FUZZ)
  # No comparisons are traced: they cost a quarter of the time, and the mutator knows the format.
  foreach(part IN ITEMS core numbers frame)
    target_compile_options(tapestry_${part} PRIVATE
      -fsanitize-coverage=inline-8bit-counters,pc-table
      -fsanitize-coverage-allowlist=${CMAKE_CURRENT_SOURCE_DIR}/fuzz/coverage.txt)
  endforeach()
  tapestry_archive(tapestry_fuzzed core numbers frame ISAS baseline)
  add_executable(directory_fuzzer EXCLUDE_FROM_ALL fuzz/directory_fuzzer.cpp
                                                   $<TARGET_OBJECTS:tapestry_fuzz>)
  target_link_libraries(directory_fuzzer PRIVATE tapestry_fuzzed ${fuzz_libraries})
  target_link_options(directory_fuzzer PRIVATE -fsanitize=fuzzer)
endif()
