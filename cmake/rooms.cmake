# Reads headers once for many sources: compiles up to TAPESTRY_ROOMS sources of a target as one unit,
# which includes their headers first and then the sources. A whole build takes less time; a change of
# one source recompiles its whole unit, so the presets for editing leave it off.
#
# CMake's own UNITY_BUILD gives the sources no namespaces. Sources with compile options or
# definitions are compiled by themselves, and so are those with CMake's property
# SKIP_UNITY_BUILD_INCLUSION. `.ci/long includes` compiles each source by itself.
set(TAPESTRY_ROOMS 0 CACHE STRING "Compile up to so many sources of a target as one; 0: each by itself")

# tapestry_rooms(TARGET SOURCES [NAMESPACES [MAINS]]): replaces the sources listed in the variable
# SOURCES by units of TARGET. NAMESPACES: wraps each source in its own namespace, because tests define
# the same names for different things. MAINS: each is a program, whose main() becomes start_NAME().
function(tapestry_rooms target variable)
  cmake_parse_arguments(PARSE_ARGV 2 unit "NAMESPACES;MAINS" "" "")
  if(TAPESTRY_ROOMS LESS 2)
    return()
  endif()
  set(result)
  set(together)
  foreach(source IN LISTS ${variable})
    set(own)
    foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(value ${source} ${property})
      if(value)
        list(APPEND own ${property})
      endif()
    endforeach()
    if(own)
      list(APPEND result ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${tapestry_SOURCE_DIR} OUTPUT_VARIABLE path)
    list(APPEND together ${path})
  endforeach()

  list(LENGTH together count)
  math(EXPR units "(${count} + ${TAPESTRY_ROOMS} - 1) / ${TAPESTRY_ROOMS}")
  set(begin 0)
  set(unit 0)
  while(unit LESS units)  # of one size
    math(EXPR unit "${unit} + 1")
    math(EXPR length "${count} * ${unit} / ${units} - ${begin}")
    list(SUBLIST together ${begin} ${length} sources)
    math(EXPR begin "${begin} + ${length}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/rooms/${target}_${unit}.cpp)
    list(TRANSFORM sources PREPEND ${tapestry_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
    add_custom_command(OUTPUT ${file}
      COMMAND ${CMAKE_COMMAND} "-DUNIT=${file}" "-DSOURCES=${sources}" "-DNAMESPACES=${unit_NAMESPACES}"
              "-DMAINS=${unit_MAINS}"
              -P ${tapestry_SOURCE_DIR}/cmake/room_unit.cmake
      DEPENDS ${paths} ${tapestry_SOURCE_DIR}/cmake/room_unit.cmake
      WORKING_DIRECTORY ${tapestry_SOURCE_DIR}
      VERBATIM)
    # A name inside a function may be another source's constant, which is no mistake.
    set_source_files_properties(${file} PROPERTIES
      COMPILE_OPTIONS "-Wno-shadow;$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>")
    list(APPEND result ${file})
  endwhile()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()
