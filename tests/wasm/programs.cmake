# Test programs in WebAssembly, run by ctest with node: with the system's files, this project's
# environment variables, Linux's stack size, and all addressable memory.
set(wasm_environment ${CMAKE_CURRENT_LIST_DIR}/environment.js)

function(tapestry_for_node target)
  target_link_options(${target} PRIVATE
    -O1 --pre-js ${wasm_environment} -sENVIRONMENT=node -sWASM_ASYNC_COMPILATION=0 -sEXIT_RUNTIME=1
    -sNODERAWFS=1 -sTOTAL_STACK=8MB -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${wasm_environment})
endfunction()

# The entries of excluded_tests: sources, relative to tests/, and patterns of test cases.
set(wasm_excluded_tests)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/excluded_tests lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^,]*[^, ])  # .")  # a comma would end a pattern
    message(FATAL_ERROR "tests/wasm/excluded_tests: no \"PATTERN  # reason\": ${line}")
  endif()
  list(APPEND wasm_excluded_tests ${CMAKE_MATCH_1})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/excluded_tests)
