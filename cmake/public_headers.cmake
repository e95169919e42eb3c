# public_headers: what users may include, as paths below the root of the tree. Every header but the kernels,
# the catalogues, and those that say of themselves "Internal to ROOM." (tests/frame/layers_test.cpp: no public
# header includes one that does). Used by the installation and the API reference; a script prints it:
#     cmake -P cmake/public_headers.cmake
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(depends CONFIGURE_DEPENDS)
if(CMAKE_SCRIPT_MODE_FILE)
  set(depends)
endif()
file(GLOB_RECURSE all_headers ${depends} RELATIVE ${root}
  ${root}/core/*.h ${root}/autograd/*.h ${root}/ops/*.h ${root}/nn/*.h)
if(EXISTS ${root}/tapestry.h)  # a recursive glob would find it below build/ as well
  list(APPEND all_headers tapestry.h)
endif()
list(FILTER all_headers EXCLUDE REGEX "/(kernels|catalog)/")
set(public_headers)
foreach(header IN LISTS all_headers)
  file(STRINGS ${root}/${header} internal REGEX "^//.*Internal to " LIMIT_COUNT 1)
  if(NOT internal)
    list(APPEND public_headers ${header})
  endif()
endforeach()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  list(JOIN public_headers "\n" lines)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${lines})
endif()
