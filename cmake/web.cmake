# The scripts and styles of the pages that nn/pages writes, as a C++ source: one pair for `tapestry
# inspect`, one for the report of `tapestry train`. With npm at hand they are bundled by esbuild with the libraries that nn/pages/web/package.json names, which are
# installed under the build tree; without npm, or without a network, our own sources are joined as
# they are and draw their charts themselves. TAPESTRY_NPM=OFF asks for the latter.
#
# Included by CMakeLists.txt, where it makes page_assets; and run as a script by what it makes, with
# WEB (the sources), OUT (a folder) and NPM (a program, or nothing).
cmake_minimum_required(VERSION 3.25)

if(NOT CMAKE_SCRIPT_MODE_FILE)
  option(TAPESTRY_NPM "Bundle the pages' script with npm's uplot and dagre where npm works" ON)
  set(TAPESTRY_NPM_PROGRAM "")
  if(TAPESTRY_NPM)
    find_program(TAPESTRY_NPM_PATH npm)
    mark_as_advanced(TAPESTRY_NPM_PATH)
    if(TAPESTRY_NPM_PATH)
      set(TAPESTRY_NPM_PROGRAM ${TAPESTRY_NPM_PATH})
    endif()
  endif()
  set(TAPESTRY_WEB_DIR ${PROJECT_BINARY_DIR}/web)
  file(GLOB web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/nn/pages/web/*)
  add_custom_command(
    OUTPUT ${TAPESTRY_WEB_DIR}/page_assets.cpp
    COMMAND ${CMAKE_COMMAND} -DWEB=${PROJECT_SOURCE_DIR}/nn/pages/web -DOUT=${TAPESTRY_WEB_DIR}
            -DNPM=${TAPESTRY_NPM_PROGRAM} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${web_sources} ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "The pages' script" VERBATIM)
  target_sources(tapestry_frame PRIVATE ${TAPESTRY_WEB_DIR}/page_assets.cpp)
  # Both compilers take strings of any length; -Wpedantic speaks of compilers that may not.
  set_source_files_properties(${TAPESTRY_WEB_DIR}/page_assets.cpp PROPERTIES
    COMPILE_OPTIONS -Wno-overlength-strings)
  return()
endif()

# ---- as a script --------------------------------------------------------------------------------

# What each page is joined of, in the order in which the modules need one another.
set(page_modules dom table data heads libraries attention_lines attention_map attention_chain attention
                 graph tape_graph walk tape chart memory histogram non_finite units gradients
                 guesses predictions tabs main)
set(page_styles page)
set(report_modules dom data libraries plot lines_chart curves spikes samples histogram flow processes
                   recipe follow tabs report)
set(report_styles page report)

# Our modules as one, without import and export: their top-level names are all different.
function(join_page page)
  set(joined "'use strict';\n(() => {\n")
  foreach(module IN LISTS ${page}_modules)
    file(READ ${WEB}/${module}.js text)
    string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
    string(APPEND joined "${text}")
  endforeach()
  file(WRITE ${OUT}/plain/${page}.js "${joined}})();\n")
  set(joined "")
  foreach(style IN LISTS ${page}_styles)
    file(READ ${WEB}/${style}.css text)
    string(APPEND joined "${text}")
  endforeach()
  file(WRITE ${OUT}/plain/${page}.css "${joined}")
endfunction()

# npm's libraries and esbuild in OUT, once per lock file; empty `failed` if all went well.
function(bundle failed)
  set(${failed} "" PARENT_SCOPE)
  file(SHA256 ${WEB}/package-lock.json lock)
  set(stamp "")
  if(EXISTS ${OUT}/installed.txt)
    file(READ ${OUT}/installed.txt stamp)
  endif()
  if(NOT stamp STREQUAL lock)
    file(COPY ${WEB}/package.json ${WEB}/package-lock.json DESTINATION ${OUT})
    execute_process(
      COMMAND ${NPM} ci --prefix ${OUT} --no-audit --no-fund --ignore-scripts --prefer-offline
              --fetch-retries 0
      RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 120)
    if(NOT result EQUAL 0)
      set(${failed} "npm could not install what it needs (${result})" PARENT_SCOPE)
      file(WRITE ${OUT}/npm.log "${said}")
      return()
    endif()
    file(WRITE ${OUT}/installed.txt "${lock}")
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${OUT}/node_modules
            ${OUT}/node_modules/.bin/esbuild ${WEB}/page_npm.js ${WEB}/page_npm.css
            ${WEB}/report_npm.js ${WEB}/report_npm.css --bundle --minify --charset=ascii --format=iife --legal-comments=inline --log-level=warning
            --outdir=${OUT}/bundle
    WORKING_DIRECTORY ${OUT} RESULT_VARIABLE result ERROR_VARIABLE said TIMEOUT 60)
  if(NOT result EQUAL 0)
    set(${failed} "esbuild failed (${result}): ${said}" PARENT_SCOPE)
  endif()
endfunction()

# "sha256-" and the hash in base64: 64 digits of 4 bits are 43 of 6 and a rest.
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

# A C++ string, in pieces: one line of all would be too long for any editor.
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
  file(READ ${from}/${page}${suffix}.js script)
  file(READ ${from}/${page}${suffix}.css style)
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

file(MAKE_DIRECTORY ${OUT}/plain)
join_page(page)
join_page(report)
set(failed "npm is not installed, or not asked for")
if(NPM)
  bundle(failed)
endif()
if(failed)
  message("The pages' script: ${failed}; built without uplot and dagre")
  set(from ${OUT}/plain)
  set(suffix "")
else()
  set(from ${OUT}/bundle)
  set(suffix _npm)
endif()
assets_of(page page)
assets_of(report report)
file(WRITE ${OUT}/page_assets.cpp "// Made by cmake/web.cmake from nn/pages/web.
#include <tapestry/nn/pages/page_assets.h>

namespace tapestry::page_assets {

const PageAssets kInspect = ${page};

const PageAssets kReport = ${report};

}  // namespace tapestry::page_assets
")
