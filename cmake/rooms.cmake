# A room is read once: up to TAPESTRY_ROOMS sources of a folder are compiled as one unit, which includes
# what they include, once, and then them. It halves the time of a whole build; a change of one source
# compiles its unit, several times as long, so the presets for editing go without.
#
# CMake's own UNITY_BUILD gives the sources no namespaces. A source says with CMake's property
# SKIP_UNITY_BUILD_INCLUSION that it stays alone; so does one with flags of its own.
set(TAPESTRY_ROOMS 0 CACHE STRING "Compile up to so many sources of a folder as one; 0: each by itself")

# tapestry_rooms(TARGET SOURCES [NAMESPACES]): puts units of TARGET in the place of the sources that
# the variable SOURCES lists. NAMESPACES: each source has a namespace of its own, for sources that
# define things of the same names, as tests do.
function(tapestry_rooms target variable)
  if(TAPESTRY_ROOMS LESS 2)
    return()
  endif()
  set(result)
  set(folders)
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
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    string(REPLACE "/" "_" folder ${folder})
    list(APPEND folders ${folder})
    list(APPEND together_${folder} ${path})
  endforeach()
  list(REMOVE_DUPLICATES folders)

  foreach(folder IN LISTS folders)  # in units of one size
    list(LENGTH together_${folder} count)
    math(EXPR units "(${count} + ${TAPESTRY_ROOMS} - 1) / ${TAPESTRY_ROOMS}")
    set(begin 0)
    foreach(unit RANGE 1 ${units})
      math(EXPR length "${count} * ${unit} / ${units} - ${begin}")
      list(SUBLIST together_${folder} ${begin} ${length} sources)
      math(EXPR begin "${begin} + ${length}")
      set(file ${CMAKE_CURRENT_BINARY_DIR}/rooms/${target}/${folder}_${unit}.cpp)
      list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
      add_custom_command(OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} "-DUNIT=${file}" "-DSOURCES=${sources}" "-DNAMESPACES=${ARGN}"
                -P ${PROJECT_SOURCE_DIR}/cmake/room_unit.cmake
        DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/room_unit.cmake
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        VERBATIM)
      list(APPEND result ${file})
    endforeach()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()
