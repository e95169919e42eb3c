# Every file of ops/kernels named here is compiled once per instruction set. The flags apply only to
# these objects, never to the whole build: one binary runs on every machine and chooses at start
# (core/cpu.h).
set(TAPESTRY_KERNELS elementwise gemm unfold attention reduce softmax norm channel_norm cross_entropy
    rotary optimizer_step dropout_mask half peak)
# An instruction set that extends another one's kernels only has those that differ (table.cpp).
set(TAPESTRY_KERNELS_avx512_bf16 bf16_gemm)
set(TAPESTRY_KERNELS_avx512_amx amx_gemm)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(known_isas baseline avx2 avx512 avx512_bf16 avx512_amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(known_isas neon)
else()
  set(known_isas baseline)
endif()
set(TAPESTRY_ISAS "${known_isas}" CACHE STRING
    "Instruction sets that kernels are compiled for, the first always among them: ${known_isas}")
list(GET known_isas 0 least_isa)
set(unknown_isas ${TAPESTRY_ISAS})
list(REMOVE_ITEM unknown_isas ${known_isas})
if(unknown_isas OR NOT least_isa IN_LIST TAPESTRY_ISAS)
  message(FATAL_ERROR "TAPESTRY_ISAS is ${TAPESTRY_ISAS}; the known ISAs are ${known_isas}, and ${least_isa} "
                      "is always among them")
endif()
set(TAPESTRY_FLAGS_baseline "" CACHE STRING
    "Flags for the baseline's kernels, such as -mavx2;-mfma: the library then needs such a processor")
if(EMSCRIPTEN)  # which has SSE2's functions, on its own vectors: the kernels are x86-64's, and the bits
  set(TAPESTRY_FLAGS_baseline -msse2)
endif()
set(TAPESTRY_FLAGS_neon "")
set(TAPESTRY_FLAGS_avx2 -mavx2 -mfma)
set(TAPESTRY_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma
                          -mprefer-vector-width=512)
set(TAPESTRY_FLAGS_avx512_bf16 ${TAPESTRY_FLAGS_avx512} -mavx512bf16)
set(TAPESTRY_FLAGS_avx512_amx ${TAPESTRY_FLAGS_avx512} -mamx-tile -mamx-bf16)

# The targets tapestry_kernels_ISA; an archive takes those it needs (library.cmake).
function(tapestry_add_kernels)
  foreach(isa IN LISTS TAPESTRY_ISAS)
    set(objects tapestry_kernels_${isa})
    set(kernels ${TAPESTRY_KERNELS})
    if(TAPESTRY_KERNELS_${isa})
      set(kernels ${TAPESTRY_KERNELS_${isa}})
    endif()
    list(TRANSFORM kernels PREPEND ops/kernels/ OUTPUT_VARIABLE sources)
    list(TRANSFORM sources APPEND .cpp)
    add_library(${objects} OBJECT ${sources})
    # xsimd is renamed per ISA: the linker keeps one copy of an inline function compiled for both
    # AVX-512 and the baseline, and it could be the wrong one.
    target_compile_definitions(${objects} PRIVATE TAPESTRY_ISA_NAME=${isa} xsimd=xsimd_${isa})
    target_compile_options(${objects} PRIVATE ${TAPESTRY_FLAGS_${isa}})
    # The ISA's own code contracts to fused multiply-add anyway (simd.h: fma). Set on the sources,
    # because these options come last, after the -ffp-contract=off of tapestry_build_flags.
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
    if(TAPESTRY_SANITIZE)  # xsimd 8.1 converts the argument of exp before it replaces infinities
      set_property(SOURCE ${sources} APPEND PROPERTY
        COMPILE_OPTIONS -fno-sanitize=float-cast-overflow)
    endif()
    tapestry_position_independent(${objects})
    target_link_libraries(${objects} PRIVATE tapestry_build_flags tapestry_sanitize_except tapestry_xsimd)
    if(isa MATCHES "^avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC 12's own headers warn: _mm512_undefined_ps is written as `__m512 y = y` (GCC bug 105593).
      target_compile_options(${objects} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
      target_compile_options(${objects} PRIVATE -O3)
    else()  # without any, GCC's AVX-512 intrinsics are macros, on which xsimd 8.1 does not compile
      target_compile_options(${objects} PRIVATE -O1)
    endif()
  endforeach()
endfunction()

# tapestry_machine_isa(VARIABLE): the one that programs choose on this machine (core/cpu.cpp), or
# all compiled ones if unknown.
function(tapestry_machine_isa variable)
  set(${variable} ${TAPESTRY_ISAS} PARENT_SCOPE)
  set(needed_avx512 avx512f avx512cd avx512dq avx512bw avx512vl fma)
  set(needed_avx2 avx2 fma)
  if(CMAKE_CROSSCOMPILING OR NOT EXISTS /proc/cpuinfo)
    return()
  endif()
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  string(REPLACE " " ";" flags "${flags}")
  foreach(isa IN ITEMS avx512 avx2)
    list(REMOVE_ITEM needed_${isa} ${flags})
    if(flags AND isa IN_LIST TAPESTRY_ISAS AND NOT needed_${isa})
      set(isas ${isa})
      if(isa STREQUAL avx512)
        set(flag_of_avx512_bf16 avx512_bf16)
        set(flag_of_avx512_amx amx_bf16)
        foreach(child IN ITEMS avx512_bf16 avx512_amx)
          if(child IN_LIST TAPESTRY_ISAS AND flag_of_${child} IN_LIST flags)
            list(APPEND isas ${child})
          endif()
        endforeach()
      endif()
      set(${variable} ${isas} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
