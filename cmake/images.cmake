# PNG and JPEG files for nn/data, by Debian's libpng and libjpeg. Without them the same functions
# exist and say that they cannot.
set(TAPESTRY_IMAGES AUTO CACHE STRING "PNG and JPEG, by libpng and libjpeg: ON, OFF, or AUTO: those that are there")
set_property(CACHE TAPESTRY_IMAGES PROPERTY STRINGS ON OFF AUTO)

set(PNG_FOUND OFF)
set(JPEG_FOUND OFF)
if(NOT TAPESTRY_NN OR NOT TAPESTRY_IMAGES)
  # neither
elseif(NOT TAPESTRY_IMAGES STREQUAL AUTO)
  find_package(PNG REQUIRED)
  find_package(JPEG REQUIRED)
elseif(NOT CMAKE_CROSSCOMPILING)
  find_package(PNG QUIET)
  find_package(JPEG QUIET)
endif()

set(TAPESTRY_IMAGE_TARGETS)  # for the library
set(TAPESTRY_IMAGE_PACKAGES) # for those that use an installed one
set(TAPESTRY_IMAGE_LINKS)    # and for pkg-config
foreach(format IN ITEMS PNG JPEG)
  if(${format}_FOUND)
    string(TOLOWER ${format} name)
    list(APPEND TAPESTRY_IMAGE_TARGETS ${format}::${format})
    string(APPEND TAPESTRY_IMAGE_PACKAGES "find_dependency(${format})\n")
    string(APPEND TAPESTRY_IMAGE_LINKS " -l${name}")
    set_source_files_properties(nn/data/${name}.cpp PROPERTIES
      COMPILE_DEFINITIONS TAPESTRY_WITH_${format})
  endif()
endforeach()
