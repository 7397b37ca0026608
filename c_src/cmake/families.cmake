# SPDX-License-Identifier: Apache-2.0
# The families: a new one is a name in this list, and a folder of that name in c_src/families whose
# family.cmake lists its files: `sources` are compiled once, `kernels` for each instruction set, and
# `shared` are folders of c_src/shared whose shared.cmake lists files that other families need, too.
# -DMLUOP_FAMILIES="..." builds fewer of them; the functions of the others are not there, nor does
# the Python extension have them.

set(all_families border_align carafe dcn deform_roi_pool masked nms psamask roi_align)

set(families ${all_families})
if(MLUOP_FAMILIES)
  set(families ${MLUOP_FAMILIES})
  message(STATUS "only the families ${families}")
endif()

set(family_sources "")
set(kernel_sources "")

# Adds the files that `file` lists, which are in its folder.
macro(mluops_add_files file)
  set(sources "")
  set(kernels "")
  include(${file})
  get_filename_component(folder ${file} DIRECTORY)
  list(TRANSFORM sources PREPEND ${folder}/)
  list(TRANSFORM kernels PREPEND ${folder}/)
  list(APPEND family_sources ${sources})
  list(APPEND kernel_sources ${kernels})
endmacro()

set(all_shared "")
foreach(family IN LISTS families)
  if(NOT family IN_LIST all_families)
    message(FATAL_ERROR "MLUOP_FAMILIES: ${family} is none of ${all_families}")
  endif()
  set(shared "")
  mluops_add_files(c_src/families/${family}/family.cmake)
  list(APPEND all_shared ${shared})
endforeach()
list(REMOVE_DUPLICATES all_shared)
foreach(shared IN LISTS all_shared)
  mluops_add_files(c_src/shared/${shared}/shared.cmake)
endforeach()

# The families that are left out, for what reads the headers.
set(families_left_out ${all_families})
list(REMOVE_ITEM families_left_out ${families})
