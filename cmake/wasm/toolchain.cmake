# WebAssembly, compiled by Debian's emscripten (install.sh) and run by node: the preset wasm.
# EMSCRIPTEN_ROOT_PATH names another one. shims/ supplies what em++ lacks.
if(NOT EMSCRIPTEN_ROOT_PATH)
  set(EMSCRIPTEN_ROOT_PATH /usr/share/emscripten)
endif()
if(NOT EXISTS ${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)
  message(FATAL_ERROR "There is no emscripten in ${EMSCRIPTEN_ROOT_PATH}: "
    "cmake/wasm/install.sh installs it")
endif()
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)

# Vectors of 128 bits, which browsers have had since 2021 (Safari since 2023).
set(CMAKE_CXX_FLAGS_INIT "-fexceptions -msimd128")
