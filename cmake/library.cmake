# The library, compiled in parts and archived as one libtapestry.a. The sources of a part share all
# flags, for g++ takes a precompiled header only where they are those it was made with; and ./demo
# builds a command of its own from what a GPT's training needs, before anything else.
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  core/*.cpp core/*/*.cpp autograd/*.cpp autograd/*/*.cpp ops/*.cpp nn/*.cpp nn/*/*.cpp)
# Other targets' sources (catalogue, MPI, C ABI), and those that depend on the instruction sets, which
# belong to an archive.
set(chosen_by_isa ${PROJECT_SOURCE_DIR}/core/cpu.cpp ${PROJECT_SOURCE_DIR}/ops/kernels/table.cpp)
list(REMOVE_ITEM sources core/cpu.cpp)
list(FILTER sources EXCLUDE REGEX "^nn/(catalog/|distributed/mpi.cpp)|^autograd/capi/")
if(NOT TAPESTRY_NN)
  list(FILTER sources EXCLUDE REGEX "^nn/")
endif()

# later: what no GPT's training needs (should it come to need one, ./demo's command will not link).
# frame: what does little beside what it calls; most of the time to compile it would go into
# optimising JSON. numbers: all else.
string(CONCAT later_ops "einsum|einsum_equation|contraction|contraction_order|scatter|interpolate|"
  "masked_select|sampling|channel_norm|windows|convolution|convolution_loops|pooling|scan|products|"
  "prod|unique|diagonal|linalg|lu|unfold|subscript|elementwise_loss|rounding|transcendental|"
  "compound_assignment|rearrange|division")
set(later ${sources})
list(FILTER later INCLUDE REGEX "^(autograd/check|nn/bench|nn/recurrent)/|^ops/(${later_ops})\\.cpp$")
set(frame ${sources})
list(FILTER frame INCLUDE REGEX "^nn/((io|train|distributed|inspect|pages|terminal)/|json_)")
set(numbers ${sources})
list(REMOVE_ITEM numbers ${later} ${frame})

set_source_files_properties(core/version.cpp PROPERTIES
  COMPILE_DEFINITIONS TAPESTRY_VERSION="${PROJECT_VERSION}")
if(TAPESTRY_SANITIZE)  # like the kernels, core goes through every number; the rest is not optimised
  set(core_sources ${numbers})
  list(FILTER core_sources INCLUDE REGEX "^core/")
  set_source_files_properties(${core_sources} PROPERTIES
    COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endif()

# What parts and archives of the library have in common.
function(tapestry_library_target target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} SYSTEM PRIVATE ${TAPESTRY_XXHASH_INCLUDE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  tapestry_position_independent(${target})
  target_link_libraries(${target}
    PUBLIC fmt::fmt
    PRIVATE OpenMP::OpenMP_CXX $<BUILD_INTERFACE:tapestry_build_flags>
            $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
endfunction()

foreach(part IN ITEMS numbers frame later)
  if(${part})
    tapestry_rooms(tapestry_${part} ${part})
    add_library(tapestry_${part} OBJECT ${${part}})
    tapestry_library_target(tapestry_${part})
    tapestry_precompile(tapestry_${part})
  endif()
endforeach()
if(TARGET tapestry_frame)
  target_compile_options(tapestry_frame PRIVATE $<$<CONFIG:Release>:-O1>)
endif()

# tapestry_archive(NAME PART... ISAS ISA...): a library of these parts, with kernels for these
# instruction sets.
function(tapestry_archive name)
  cmake_parse_arguments(PARSE_ARGV 1 archive "" "" ISAS)
  add_library(${name} STATIC ${chosen_by_isa})
  tapestry_library_target(${name})
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
tapestry_archive(tapestry numbers frame later ISAS ${TAPESTRY_ISAS})
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
