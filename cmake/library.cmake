# The library, compiled in parts and archived as one libtapestry.a. The sources of a part share all
# flags, because g++ accepts a precompiled header only with the flags it was made with; and ./demo
# first builds a command from only the parts that training a GPT needs.
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${tapestry_SOURCE_DIR}
  core/*.cpp core/*/*.cpp autograd/*.cpp autograd/*/*.cpp ops/*.cpp nn/*/*.cpp nn/models/*/*.cpp nn/train/*/*.cpp)
# Other targets' sources (catalogue, MPI, C ABI), and those that depend on the instruction sets,
# which belong to an archive.
set(chosen_by_isa ${tapestry_SOURCE_DIR}/core/cpu.cpp ${tapestry_SOURCE_DIR}/ops/kernels/table.cpp)
list(REMOVE_ITEM sources core/cpu.cpp)
list(FILTER sources EXCLUDE REGEX "^nn/(catalog/|distributed/mpi.cpp)|^autograd/capi/")
if(NOT TAPESTRY_NN)
  list(FILTER sources EXCLUDE REGEX "^nn/")
endif()

# core: loops over elements; sanitizer builds optimise it as well. numbers: the rest that computes.
# frame: mostly calls the other two; -O1 is enough. later: the same, but not needed to train a GPT
# (./demo's command would not link otherwise).
set(TAPESTRY_PARTS core numbers frame later)
set(core_folders core core/text)
set(later_folders autograd/check nn/bench)
set(frame_folders nn/attention nn/chat nn/data_parallel nn/distributed nn/inspect nn/io nn/layers nn/models nn/module
    nn/pages nn/recurrent nn/terminal nn/train nn/transformer)
foreach(source IN LISTS sources)
  cmake_path(GET source PARENT_PATH folder)
  set(part numbers)
  foreach(other IN ITEMS core later frame)
    if(folder IN_LIST ${other}_folders)
      set(part ${other})
    endif()
  endforeach()
  if(folder MATCHES "^nn/(models|train)/")  # a kind's folder, or a task's
    set(part frame)
  elseif(source STREQUAL "autograd/check/long_vectors.cpp")
    set(part numbers)
  endif()
  list(APPEND ${part} ${source})
endforeach()

set_source_files_properties(ops/machine_peak.cpp PROPERTIES  # the fuzzer has these functions of its own
  SKIP_UNITY_BUILD_INCLUSION ON)
# An object of its own, which the playground is linked without.
set_source_files_properties(nn/train/task_rows.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The only source that includes nlohmann-json, compiled by itself so its options affect no other.
set_source_files_properties(core/text/json_tree.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The only source with a parallel region. In a unit of many sources, OpenMP's optimiser takes a third of clang's
# time and finds nothing.
set_source_files_properties(core/thread_pool.cpp PROPERTIES
  COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
set_source_files_properties(core/version.cpp PROPERTIES
  COMPILE_DEFINITIONS TAPESTRY_VERSION="${PROJECT_VERSION}")

# Common to parts and archives of the library.
function(tapestry_library_target target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${tapestry_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} SYSTEM PRIVATE ${TAPESTRY_XXHASH_INCLUDE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  tapestry_position_independent(${target})
  target_link_libraries(${target}
    PUBLIC fmt::fmt
    PRIVATE ${TAPESTRY_IMAGE_TARGETS} $<BUILD_INTERFACE:tapestry_build_flags>)
endfunction()

foreach(part IN LISTS TAPESTRY_PARTS)
  if(${part})
    tapestry_rooms(tapestry_${part} ${part})
    add_library(tapestry_${part} OBJECT ${${part}})
    tapestry_library_target(tapestry_${part})
    if(NOT part STREQUAL "core" OR NOT TAPESTRY_SANITIZE)  # it would make core slower to build
      tapestry_precompile(tapestry_${part})
    endif()
  endif()
endforeach()
# -O3 takes half as long again to compile, and steps are no faster: kernels use it, the rest needs
# only its vectoriser cost model and, in a unit of many sources, its inliner limits. Where a preset
# asks for less than -O2, for a build that tests the kernels, these parts have that.
if(NOT CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[01]")
  foreach(part IN ITEMS core numbers)
    target_compile_options(tapestry_${part} PRIVATE $<$<CONFIG:Release>:-O2>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(tapestry_${part} PRIVATE $<$<CONFIG:Release>:-fvect-cost-model=dynamic>
        "SHELL:--param early-inlining-insns=14" "SHELL:--param inline-unit-growth=200")
    endif()
  endforeach()
  foreach(part IN ITEMS frame later)
    if(TARGET tapestry_${part})
      target_compile_options(tapestry_${part} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  endforeach()
endif()
target_link_libraries(tapestry_core PRIVATE nlohmann_json::nlohmann_json)
if(TAPESTRY_SANITIZE)
  target_compile_options(tapestry_core PRIVATE -O2)
  target_compile_options(tapestry_numbers PRIVATE -O1)  # its tests save what that costs
  target_link_libraries(tapestry_core PRIVATE tapestry_sanitize_except)
  target_link_libraries(tapestry_numbers PRIVATE tapestry_sanitize_except)
  set_source_files_properties(core/text/json_tree.cpp PROPERTIES COMPILE_OPTIONS -O0)  # 4 seconds, not 12
endif()

# tapestry_archive(NAME PART... ISAS ISA...): a library of these parts, with kernels for these
# instruction sets.
function(tapestry_archive name)
  cmake_parse_arguments(PARSE_ARGV 1 archive "" "" ISAS)
  add_library(${name} STATIC ${chosen_by_isa})
  tapestry_library_target(${name})
  target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
  foreach(part IN LISTS archive_UNPARSED_ARGUMENTS)
    if(TARGET tapestry_${part})
      target_sources(${name} PRIVATE
        $<FILTER:$<TARGET_OBJECTS:tapestry_${part}>,EXCLUDE,cmake_pch>)
    endif()
  endforeach()
  foreach(isa IN LISTS archive_ISAS)
    string(TOUPPER "TAPESTRY_WITH_${isa}" with)
    target_compile_definitions(${name} PRIVATE ${with})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:tapestry_kernels_${isa}>)
  endforeach()
endfunction()

tapestry_add_kernels()
tapestry_archive(tapestry ${TAPESTRY_PARTS} ISAS ${TAPESTRY_ISAS})
add_library(tapestry::tapestry ALIAS tapestry)

# tapestry_add_on(NAME SOURCE...): a library on top of tapestry::tapestry, whose objects,
# NAME_objects, also go into ./demo's command without it.
function(tapestry_add_on name)
  add_library(${name}_objects OBJECT ${ARGN})
  target_link_libraries(${name}_objects
    PRIVATE fmt::fmt tapestry_build_flags tapestry_quick_build)
  add_library(${name} STATIC $<TARGET_OBJECTS:${name}_objects>)
  target_link_libraries(${name} PUBLIC tapestry::tapestry)
endfunction()
