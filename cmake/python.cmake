# The Python module `tapestry`, on top of the C ABI (docs/python.md).
#
# AUTO builds it if there is a python3 with NumPy and its headers, and pybind11 (Debian:
# python3-dev, python3-numpy, pybind11-dev). The first python3 on PATH may lack them: Debian's is
# tried next, and Python3_EXECUTABLE selects another.
set(TAPESTRY_PYTHON AUTO CACHE STRING "Build the Python module: ON, OFF, or AUTO where possible")
set_property(CACHE TAPESTRY_PYTHON PROPERTY STRINGS AUTO ON OFF)
if(NOT TAPESTRY_PYTHON OR TAPESTRY_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()

# Prints the location of pybind11's headers, if that Python has them, or an empty line.
set(look_around "
import importlib.util, os, sysconfig, numpy
assert os.path.exists(sysconfig.get_path('include') + '/Python.h')
pybind11 = importlib.util.find_spec('pybind11')
print(os.path.dirname(pybind11.origin) + '/include' if pybind11 and pybind11.origin else '')")
foreach(candidate IN ITEMS ${Python3_EXECUTABLE} python3 /usr/bin/python3)
  execute_process(COMMAND ${candidate} -c "${look_around}" RESULT_VARIABLE status
    OUTPUT_VARIABLE own_pybind11 OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(status EQUAL 0)
    execute_process(COMMAND ${candidate} -c "import sys; print(sys.executable)"
      OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE)
    break()
  endif()
endforeach()
find_path(TAPESTRY_PYBIND11_INCLUDE_DIR pybind11/pybind11.h HINTS ${own_pybind11})
mark_as_advanced(TAPESTRY_PYBIND11_INCLUDE_DIR)
if(status EQUAL 0 AND TAPESTRY_PYBIND11_INCLUDE_DIR)
  find_package(Python3 COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python3_FOUND OR NOT TAPESTRY_PYBIND11_INCLUDE_DIR)
  if(NOT TAPESTRY_PYTHON STREQUAL AUTO)
    message(FATAL_ERROR "TAPESTRY_PYTHON is ${TAPESTRY_PYTHON}, and there is no python3 with its "
      "headers, NumPy and pybind11 (Debian: python3-dev, python3-numpy, pybind11-dev)")
  endif()
  return()
endif()

# In the build tree the module is in python/: links to the sources, next to the object.
set(module_dir ${tapestry_BINARY_DIR}/python/tapestry)
file(MAKE_DIRECTORY ${module_dir})
file(GLOB module_sources CONFIGURE_DEPENDS ${tapestry_SOURCE_DIR}/python/tapestry/*.py)
foreach(source IN LISTS module_sources)
  cmake_path(GET source FILENAME name)
  file(CREATE_LINK ${source} ${module_dir}/${name} SYMBOLIC)
endforeach()
Python3_add_library(tapestry_python MODULE WITH_SOABI ${tapestry_SOURCE_DIR}/python/gradcheck_module.cpp)
target_include_directories(tapestry_python SYSTEM PRIVATE ${TAPESTRY_PYBIND11_INCLUDE_DIR})
target_link_libraries(tapestry_python
  PRIVATE tapestry::tapestry tapestry_build_flags tapestry_quick_build)
target_link_options(tapestry_python PRIVATE LINKER:--as-needed)  # it reads no images
set_target_properties(tapestry_python PROPERTIES
  OUTPUT_NAME _gradcheck LIBRARY_OUTPUT_DIRECTORY ${module_dir} CXX_VISIBILITY_PRESET hidden)

# Under a prefix known only at installation, where that Python looks for modules.
if(TAPESTRY_INSTALL)
  install(CODE "set(interpreter \"${Python3_EXECUTABLE}\")
set(module_object \"$<TARGET_FILE:tapestry_python>\")
set(module_sources \"${module_sources}\")
set(modules_dir_of \"${tapestry_SOURCE_DIR}/cmake/python_modules_dir.py\")" COMPONENT python)
  install(CODE [[
execute_process(COMMAND ${interpreter} ${modules_dir_of} ${CMAKE_INSTALL_PREFIX}
  OUTPUT_VARIABLE modules_dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${module_object})  # those who built the library alone can install it alone
  file(INSTALL ${module_sources} ${module_object} DESTINATION ${modules_dir}/tapestry)
endif()]] COMPONENT python)
endif()
