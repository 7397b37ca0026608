# SPDX-License-Identifier: Apache-2.0
# The instruction sets that kernels are built for, best first, and the flags of each. The names are
# those that mluOpCpuGetIsaName returns; c_src/core/isa.c asks the CPU for each.
# -DMLUOP_ISAS=... builds fewer of them.

if(MLUOP_ISAS)
  message(STATUS "kernels for ${MLUOP_ISAS} only")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(MLUOP_ISAS neon)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(MLUOP_ISAS avx512 avx2 baseline)
else()
  message(FATAL_ERROR "no kernels for ${CMAKE_SYSTEM_PROCESSOR}: add it to c_src/cmake/isa.cmake")
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

foreach(isa IN LISTS MLUOP_ISAS)
  set(MLUOP_ISA_DEFINITIONS_${isa} MLUOP_ISA=${isa} MLUOP_ISA_FLOATS=${MLUOP_ISA_FLOATS_${isa}})
endforeach()
