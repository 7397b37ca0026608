# SPDX-License-Identifier: Apache-2.0
# The instruction sets that kernels are built for, best first, and the flags of each. The names are
# those that mluOpCpuGetIsaName returns; c_src/core/isa.c asks the CPU for each.
# -DMLUOP_ISAS="avx2;baseline" builds fewer of them, -DMLUOP_ISAS=native the best of this machine.

set(MLUOP_ISAS "" CACHE STRING "Instruction sets, such as avx2;baseline, or native (empty: all)")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(all_isas neon)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(all_isas avx512 avx2 baseline)
else()
  message(FATAL_ERROR "no kernels for ${CMAKE_SYSTEM_PROCESSOR}: add it to c_src/cmake/isa.cmake")
endif()
mluops_check_choices(MLUOP_ISAS ${all_isas} native)

# What each asks of the CPU, as /proc/cpuinfo has it. c_src/core/isa.c asks for the same.
set(cpu_flags_avx2 avx2 fma bmi2 f16c)
set(cpu_flags_avx512 ${cpu_flags_avx2} avx512f avx512dq avx512bw avx512vl)

# The best instruction set of the machine that builds: the last of the list if nothing else is known.
function(mluops_native_isa result)
  set(words "")
  if(EXISTS /proc/cpuinfo AND NOT CMAKE_CROSSCOMPILING)
    file(READ /proc/cpuinfo info)
    string(REGEX MATCH "flags[^\n]*" words "${info}")
    string(REGEX REPLACE "[ \t]+" ";" words "${words}")
  endif()
  foreach(isa IN LISTS all_isas)
    set(runs TRUE)
    foreach(flag IN LISTS cpu_flags_${isa})
      if(NOT flag IN_LIST words)
        set(runs FALSE)
      endif()
    endforeach()
    if(runs)
      set(${result} ${isa} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(asked ${MLUOP_ISAS})
if(native IN_LIST asked)
  mluops_native_isa(best)
  list(APPEND asked ${best})
endif()
set(MLUOP_ISAS ${all_isas})
if(asked)
  # In the order of the list: the first one that a CPU has is the best.
  foreach(isa IN LISTS all_isas)
    if(NOT isa IN_LIST asked)
      list(REMOVE_ITEM MLUOP_ISAS ${isa})
    endif()
  endforeach()
  message(STATUS "kernels for ${MLUOP_ISAS} only")
endif()

# Floats in a vector.
set(MLUOP_ISA_FLOATS_neon 4)
set(MLUOP_ISA_FLOATS_baseline 4)
set(MLUOP_ISA_FLOATS_avx2 8)
set(MLUOP_ISA_FLOATS_avx512 16)

set(MLUOP_ISA_FLAGS_neon "")
set(MLUOP_ISA_FLAGS_baseline -march=x86-64)
set(MLUOP_ISA_FLAGS_avx2 -march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt)
set(MLUOP_ISA_FLAGS_avx512 ${MLUOP_ISA_FLAGS_avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl
                           -mprefer-vector-width=512)

# Where intrinsics come from, if that takes a compiler longer than most kernels: read once for all
# files. A compiler cache would not know files that begin with a precompiled header.
if(NOT CMAKE_C_COMPILER_LAUNCHER)
  set(MLUOP_ISA_HEADERS_avx2 <immintrin.h>)
  set(MLUOP_ISA_HEADERS_avx512 <immintrin.h>)
endif()

foreach(isa IN LISTS MLUOP_ISAS)
  set(MLUOP_ISA_DEFINITIONS_${isa} MLUOP_ISA=${isa} MLUOP_ISA_FLOATS=${MLUOP_ISA_FLOATS_${isa}})
endforeach()
