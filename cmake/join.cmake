# Tests go to the compiler several sources at a time (join.awk): what they include is read once, and what
# they use of templates is compiled once, which halves the time. Tests alone: a source of the library
# shows, being compiled by itself, that its header needs no other before it.

# tapestry_join(VARIABLE NAME): the sources in the list VARIABLE become a few. Those that specialise a
# template, which no other namespace may, stay as they are.
function(tapestry_join variable name)
  set(at_once 8)
  set(together)
  set(all_joined)
  foreach(source IN LISTS ${variable})
    file(STRINGS ${source} special REGEX "^template <>" LIMIT_COUNT 1)
    if(special)
      list(APPEND all_joined ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  list(LENGTH together count)
  if(NOT TAPESTRY_PRECOMPILE OR count LESS 5)
    return()
  endif()
  file(RELATIVE_PATH root ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  cmake_path(GET root PARENT_PATH root)  # without the / at the end
  list(TRANSFORM together REPLACE "^${PROJECT_SOURCE_DIR}/" "")
  set(first 0)
  while(first LESS count)
    list(SUBLIST together ${first} ${at_once} batch)
    list(TRANSFORM batch PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/joined/${name}_${first}.cpp)
    add_custom_command(OUTPUT ${joined}
      COMMAND awk -v root=${root} -f cmake/join.awk ${batch} > ${joined}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/join.awk
      COMMENT "Joining sources: ${name}_${first}.cpp" VERBATIM)
    list(APPEND all_joined ${joined})
    math(EXPR first "${first} + ${at_once}")
  endwhile()
  set(${variable} ${all_joined} PARENT_SCOPE)
endfunction()
