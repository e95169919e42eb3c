# Forwarding headers for users of the paths listed in moved_headers.txt. Tapestry's own build does
# not see them. Their warning appears unless the headers count as system headers, as with
# find_package.
set(TAPESTRY_MOVED_DIR ${tapestry_BINARY_DIR}/moved)
file(REMOVE_RECURSE ${TAPESTRY_MOVED_DIR})  # all of it is installed, so nothing may stay from an earlier list
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/moved_headers.txt lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  string(REPLACE " " ";" paths "${line}")
  list(POP_FRONT paths old new)
  file(CONFIGURE OUTPUT ${TAPESTRY_MOVED_DIR}/tapestry/${old} @ONLY CONTENT [[
#pragma once
#pragma GCC warning "<tapestry/@old@> is <tapestry/@new@> now; the old path goes with the next version"
#include <tapestry/@new@>
]])
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/moved_headers.txt)
if(NOT tapestry_IS_TOP_LEVEL)
  target_include_directories(tapestry INTERFACE $<BUILD_INTERFACE:${TAPESTRY_MOVED_DIR}>)
endif()
