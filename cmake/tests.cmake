# Test programs, for tests/ and for the wings: one per folder of tests/.
set(tapestry_test_libraries doctest::doctest tapestry_build_flags tapestry_test_build
    OpenMP::OpenMP_CXX  # for threads that a test starts itself
    nlohmann_json::nlohmann_json)
if(EMSCRIPTEN)
  include(${tapestry_SOURCE_DIR}/tests/wasm/programs.cmake)
endif()

# tapestry_add_test(NAME PROGRAM [ARGUMENT...] [EXCLUDE PATTERN...]): without the test cases that match
# a PATTERN, and in WebAssembly without those of tests/wasm/excluded_tests.
function(tapestry_add_test name program)
  cmake_parse_arguments(PARSE_ARGV 2 test "" "" EXCLUDE)
  list(APPEND test_EXCLUDE ${wasm_excluded_tests})
  list(JOIN test_EXCLUDE "," excluded)
  if(excluded)
    list(APPEND test_UNPARSED_ARGUMENTS "--test-case-exclude=${excluded}")
  endif()
  add_test(NAME ${name} COMMAND ${program} ${test_UNPARSED_ARGUMENTS})
  if(TAPESTRY_SANITIZE)  # tests/skip.h; of the calls to an allocation, the nearest say enough
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "TAPESTRY_TESTS=short;ASAN_OPTIONS=malloc_context_size=6")
  endif()
  # Long enough for sanitizers at the lowest priority beside other tests, as in .ci/run, on a slow machine.
  set_tests_properties(${name} PROPERTIES TIMEOUT 2700)
endfunction()

# tapestry_add_tests(NAME [LIBRARY...]): the program test_NAME of tests/NAME, and the test NAME that runs
# it. The caller may set library_NAME (instead of the whole library), excluded_NAME (patterns) and
# arguments_NAME (of the program).
function(tapestry_add_tests name)
  set(tests ${tapestry_SOURCE_DIR}/tests)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${tests} ${tests}/${name}/*_test.cpp)
  list(REMOVE_ITEM sources "" ${wasm_excluded_tests})
  if(NOT sources)
    return()
  endif()
  list(TRANSFORM sources PREPEND ${tests}/)
  tapestry_rooms(test_${name} sources NAMESPACES)
  add_executable(test_${name} ${sources} $<TARGET_OBJECTS:tapestry_test_main>)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${tapestry_BINARY_DIR}/tests)
  set(library tapestry::tapestry)
  if(library_${name})
    set(library ${library_${name}})
  endif()
  target_link_libraries(test_${name} PRIVATE ${library} ${tapestry_test_libraries} ${ARGN})
  target_precompile_headers(test_${name} REUSE_FROM tapestry_test_main)
  if(EMSCRIPTEN)
    tapestry_for_node(test_${name})
  endif()
  tapestry_add_test(${name} test_${name} ${arguments_${name}} EXCLUDE ${excluded_${name}})
endfunction()

# tapestry_runs_command(SOURCE): a test's source that starts the command.
function(tapestry_runs_command source)
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS TAPESTRY_COMMAND="$<TARGET_FILE:tapestry_command>")
endfunction()

# What ctest is told of tests. Call this at the end of a folder: CMake 3.25 only knows the tests of the
# current folder.
function(tapestry_order_tests)
  # Starts with the longest tests, or the last one would leave a core idle.
  set(cost 100)
  foreach(name inspect_pages nn cli documents hostile nn_a_to_g mpirun ops_odd_rows failing_calls ops experiments
          mpirun_killed examples install python survival examples_page judge commands bits
          mpirun_machines isa_reach mutations torch_gradcheck mutations_templates course_figures
          wasm_playground_page wasm_same_bits course_command core compile_errors
          reference emulate planned_bits tokenizer_json frame instruction_counts
          judge_causes)
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
    math(EXPR cost "${cost} - 1")
  endforeach()
  # What takes a minute or more and mostly looks at what no single change breaks: ./check leaves these to
  # ./check --complete.
  foreach(name compile_errors documents emulate examples_page install isa_reach mutations mutations_templates
          planned_bits reference torch_gradcheck)
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES LABELS complete)
    endif()
  endforeach()
endfunction()
