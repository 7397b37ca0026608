# SPDX-License-Identifier: Apache-2.0
# The families: a new one is a name in this list, and a folder of that name in c_src/families whose
# family.cmake lists its files: `sources` are compiled once, `kernels` for each instruction set.
# -DMLUOP_FAMILIES="..." builds fewer of them; the functions of the others are not there, nor does
# the Python extension have them.

set(all_families border_align carafe deform_roi_pool masked nms psamask)

set(families ${all_families})
if(MLUOP_FAMILIES)
  set(families ${MLUOP_FAMILIES})
  message(STATUS "only the families ${families}")
endif()

set(family_sources "")
set(kernel_sources "")
foreach(family IN LISTS families)
  if(NOT family IN_LIST all_families)
    message(FATAL_ERROR "MLUOP_FAMILIES: ${family} is none of ${all_families}")
  endif()
  set(sources "")
  set(kernels "")
  include(c_src/families/${family}/family.cmake)
  list(TRANSFORM sources PREPEND c_src/families/${family}/)
  list(TRANSFORM kernels PREPEND c_src/families/${family}/)
  list(APPEND family_sources ${sources})
  list(APPEND kernel_sources ${kernels})
endforeach()

# The families that are left out, for what reads the headers.
set(families_left_out ${all_families})
list(REMOVE_ITEM families_left_out ${families})
