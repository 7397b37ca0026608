# SPDX-License-Identifier: Apache-2.0
# What makes a call of an operator from bytes, and checks it: for the fuzzers, by Clang, and for
# tests/c/test_values.c, by any compiler. Each folder of tests that has a fuzz.c is a target (of
# families, those that are built).

# The operators as plain loops, under names of their own to compare with: plainX for mluOpX.
set(plain "")
set(plain_names "")
foreach(family IN LISTS families)
  set(loops ${PROJECT_SOURCE_DIR}/tests/${family}/plain.c)
  list(APPEND plain ${loops})
  file(READ ${loops} text)
  string(REGEX MATCHALL "MLUOP_WIN_API[ \n]+mluOp[A-Za-z0-9_]+" names "${text}")
  list(TRANSFORM names REPLACE ".*mluOp(.+)" "mluOp\\1=plain\\1")
  list(APPEND plain_names ${names})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${loops})
endforeach()

# Neither the frame nor the plain loops are what is looked for errors in: without checks they are fast.
add_library(fuzz_flags INTERFACE)
target_link_libraries(fuzz_flags INTERFACE mluops_exact)
target_include_directories(fuzz_flags INTERFACE tests/fuzz c_src include
                                                ${PROJECT_BINARY_DIR}/generated)
target_compile_options(
  fuzz_flags INTERFACE -std=c99 -O2 -g -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion
                       -Wshadow $<$<BOOL:${MLUOP_WERROR}>:-Werror>)
if(MLUOP_SANITIZE)
  target_compile_definitions(fuzz_flags INTERFACE FUZZ_SANITIZED)
endif()
if(MLUOP_SANITIZE MATCHES address)
  target_compile_definitions(fuzz_flags INTERFACE FUZZ_ADDRESS_SANITIZER)
endif()

add_library(fuzz_plain OBJECT EXCLUDE_FROM_ALL ${plain})
target_link_libraries(fuzz_plain PRIVATE fuzz_flags)
target_compile_definitions(fuzz_plain PRIVATE ${plain_names})

set(frame bend.c capture.c compare.c input.c interrupt.c memory.c operators.c wraps.c)
list(TRANSFORM frame PREPEND tests/fuzz/)
add_library(fuzz_frame OBJECT EXCLUDE_FROM_ALL ${frame})
target_link_libraries(fuzz_frame PRIVATE fuzz_flags)

# For programs that link the frame.
add_library(fuzz_wraps INTERFACE)
target_link_options(
  fuzz_wraps INTERFACE
  LINKER:--wrap=mluop_scratch,--wrap=mluop_reserve,--wrap=mluop_parallel_for,--wrap=mluop_plan
  LINKER:--wrap=mluop_contract_holds,--wrap=mluop_begin_case_file,--wrap=mluop_end_case_file)

# Targets with an entry of their own fuzz no operators.
set(fuzz_targets "")
set(fuzz_targets_alone "")
set(target_list "")
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/fuzz.c)
foreach(file IN LISTS files)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(target ${folder} NAME)
  file(STRINGS ${file} entry REGEX "LLVMFuzzerTestOneInput")
  if(entry)
    list(APPEND fuzz_targets_alone ${target})
  elseif(NOT target IN_LIST families_left_out)
    list(APPEND fuzz_targets ${target})
    string(APPEND target_list " \\\n  X(${target})")
  endif()
endforeach()
# FUZZ_TARGETS(X) is X(name) for each of them.
file(CONFIGURE OUTPUT generated/fuzz_targets.h CONTENT "#define FUZZ_TARGETS(X)${target_list}\n")
