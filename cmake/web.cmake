# The scripts and styles of the pages that nn/pages writes, as a C++ source: one pair for `tapestry
# inspect`, one for the report of `tapestry train`. Our modules, and the libraries next to them
# (libraries/make.sh), are joined unchanged.
#
# Included by CMakeLists.txt, where it defines page_assets; and run as a script to make it, with WEB
# (the sources), OUT (a folder) and WASM (the library in WebAssembly, or nothing).
cmake_minimum_required(VERSION 3.25)

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(TAPESTRY_WASM "" CACHE FILEPATH
      "playground.wasm of the preset wasm: pages of `tapestry inspect` then take other prompts")
  set(TAPESTRY_WEB_DIR ${tapestry_BINARY_DIR}/web)
  file(GLOB web_sources CONFIGURE_DEPENDS ${tapestry_SOURCE_DIR}/nn/pages/web/*.js
       ${tapestry_SOURCE_DIR}/nn/pages/web/*.css ${tapestry_SOURCE_DIR}/nn/pages/web/libraries/*)
  add_custom_command(
    OUTPUT ${TAPESTRY_WEB_DIR}/page_assets.cpp
    COMMAND ${CMAKE_COMMAND} -DWEB=${tapestry_SOURCE_DIR}/nn/pages/web -DOUT=${TAPESTRY_WEB_DIR}
            -DWASM=${TAPESTRY_WASM} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${web_sources} ${TAPESTRY_WASM} ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "The pages' script" VERBATIM)
  target_sources(tapestry_frame PRIVATE ${TAPESTRY_WEB_DIR}/page_assets.cpp)
  # Both compilers accept strings of any length; -Wpedantic warns about compilers that may not.
  set_source_files_properties(${TAPESTRY_WEB_DIR}/page_assets.cpp PROPERTIES
    COMPILE_OPTIONS -Wno-overlength-strings)
  return()
endif()

# ---- as a script --------------------------------------------------------------------------------

# The modules of each page, in dependency order.
set(page_modules libraries/uplot libraries/dagre address dom speak roving export figure_svg headline live help play table data heads head_roles attention_lines attention_map attention_svg small_maps attention_chain image_view attention
                 graph tape_graph walk tape plot chart_svg chart memory_stack memory_plan memory histogram non_finite units gradients
                 guesses predictions layers token_path token_stage token_tab picture_columns step_drawing step_card step_picture picture tabs story inspect_story main)
set(page_styles libraries/uplot colours page)
set(report_modules libraries/uplot address dom speak roving export figure_svg headline help play table data head_roles attention_map attention_svg small_maps plot chart_svg lines_chart steps_view other_runs sweep curves spikes samples layers seen_step sentence guesses
                   picture_columns step_drawing step_card step_picture scrubber run_picture histogram flow processes recipe follow tabs story report_story report)
set(report_styles libraries/uplot colours page report)

# Joins the modules into one, without imports, exports, comments, indentation and newlines that mean
# nothing, because pages are stored by the dozen: their top-level names are all different.
function(join_page page)
  set(joined "'use strict';\n(() => {\n")
  foreach(module IN LISTS ${page}_modules)
    file(READ ${WEB}/${module}.js text)
    string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n) *//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "([;,{]) *// [^\"`\n]*\n" "\\1\n" text "${text}")
    string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
    string(REGEX REPLACE "([;,{(])\n" "\\1" text "${text}")
    string(APPEND joined "${text}")
  endforeach()
  file(WRITE ${OUT}/${page}.js "${joined}})();\n")
  set(joined "")
  foreach(style IN LISTS ${page}_styles)
    file(READ ${WEB}/${style}.css text)
    string(REGEX REPLACE "/\\*[^*]*\\*/" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
    string(APPEND joined "${text}")
  endforeach()
  file(WRITE ${OUT}/${page}.css "${joined}")
endfunction()

# "sha256-" and the hash in base64: 64 digits of 4 bits are 43 of 6 bits and a remainder.
function(policy_hash text variable)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hex "${text}")
  string(APPEND hex 00)
  set(hash "")
  foreach(place RANGE 0 63 3)
    string(SUBSTRING ${hex} ${place} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING ${alphabet} ${high} 1 first)
    string(SUBSTRING ${alphabet} ${low} 1 second)
    string(APPEND hash ${first}${second})
  endforeach()
  string(SUBSTRING ${hash} 0 43 hash)
  set(${variable} "sha256-${hash}=" PARENT_SCOPE)
endfunction()

# A C++ string, in pieces: a single line would be too long for any editor.
function(literal text variable)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(place 0)
  while(place LESS length)
    string(SUBSTRING "${text}" ${place} 8000 piece)
    string(APPEND pieces "\n    R\"page(${piece})page\"")
    math(EXPR place "${place} + 8000")
  endwhile()
  set(${variable} "${pieces}" PARENT_SCOPE)
endfunction()

# The C++ text of a PageAssets.
function(assets_of page variable)
  file(READ ${OUT}/${page}.js script)
  file(READ ${OUT}/${page}.css style)
  string(FIND "${script}" "</script" end_of_script)
  string(FIND "${style}" "</style" end_of_style)
  if(NOT end_of_script EQUAL -1 OR NOT end_of_style EQUAL -1)
    message(FATAL_ERROR "The script or style of ${page} would end its element early")
  endif()
  policy_hash("${script}" script_hash)
  policy_hash("${style}" style_hash)
  literal("${script}" script)
  literal("${style}" style)
  set(${variable} "{\n    .script =${script},\n    .style =${style},
    .script_hash = \"${script_hash}\",\n    .style_hash = \"${style_hash}\"}" PARENT_SCOPE)
endfunction()

# The C++ text of a LiveAssets: emscripten's script is next to the library.
function(live_assets_of wasm variable)
  string(REGEX REPLACE "\\.wasm$" ".js" glue "${wasm}")
  file(READ ${glue} glue)
  file(READ ${WEB}/live_worker.js worker)
  string(FIND "${glue}${worker}" "</script" end_of_script)
  execute_process(COMMAND gzip -9 -n -c ${wasm} COMMAND base64 -w 0
    OUTPUT_VARIABLE packed RESULTS_VARIABLE results)
  if(NOT end_of_script EQUAL -1 OR NOT results STREQUAL "0;0")
    message(FATAL_ERROR "${wasm} cannot become part of a page")
  endif()
  literal("${glue}${worker}" worker)
  literal("${packed}" packed)
  set(${variable} "{\n    .worker =${worker},\n    .wasm =${packed}}" PARENT_SCOPE)
endfunction()

join_page(page)
join_page(report)
assets_of(page page)
assets_of(report report)
set(live "{}")
if(WASM)
  live_assets_of(${WASM} live)
endif()
file(WRITE ${OUT}/page_assets.cpp "// Made by cmake/web.cmake from nn/pages/web.
#include <tapestry/nn/pages/html.h>

namespace tapestry::page_assets {

const PageAssets kInspect = ${page};

const PageAssets kReport = ${report};

const LiveAssets kLive = ${live};

}  // namespace tapestry::page_assets
")
