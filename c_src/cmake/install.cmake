# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives: headers, libraries, the CMake package mluops (targets
# mluops::mluops and mluops::cnrt) and mluops.pc. All of it may be moved to another place afterwards.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mluops)

install(FILES include/mlu_op.h include/mlu_op_cpu.h include/cnrt.h include/cn_api.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS mluops cnrt cndrv EXPORT mluops-targets)
install(EXPORT mluops-targets NAMESPACE mluops:: DESTINATION ${package_dir})

if(MLUOP_BUILD_PYTHON)
  # Nothing else tells the loader where the libraries of a Python package are. DT_RPATH instead of
  # DT_RUNPATH: LD_LIBRARY_PATH may name a folder with the accelerator's own libmluops.so.
  set(MLUOP_PC_RPATH " -Wl,-rpath,\${libdir},--disable-new-dtags")
  foreach(target mluops cnrt)
    target_link_options(${target} INTERFACE $<INSTALL_INTERFACE:LINKER:--disable-new-dtags>)
  endforeach()
  target_link_options(cndrv PRIVATE LINKER:--disable-new-dtags)
else()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

configure_package_config_file(c_src/cmake/mluops-config.cmake.in generated/mluops-config.cmake
                              INSTALL_DESTINATION ${package_dir})

# A program may ask for a version of this library, or for one of the mluOp API (1.11).
file(STRINGS include/mlu_op.h api_version REGEX "#define MLUOP_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
list(TRANSFORM api_version REPLACE "[^0-9]+" "")
list(JOIN api_version "." api_version)
write_basic_package_version_file(generated/mluops-version-library.cmake
                                 COMPATIBILITY SameMinorVersion)
write_basic_package_version_file(generated/mluops-version-api.cmake VERSION ${api_version}
                                 COMPATIBILITY SameMajorVersion)
configure_file(c_src/cmake/mluops-config-version.cmake.in generated/mluops-config-version.cmake
               COPYONLY)
foreach(file config config-version version-library version-api)
  install(FILES ${PROJECT_BINARY_DIR}/generated/mluops-${file}.cmake DESTINATION ${package_dir})
endforeach()

# What a program that links the static library has to link besides it.
list(JOIN openmp_runtime " " MLUOP_PC_LIBS_PRIVATE)
string(PREPEND MLUOP_PC_LIBS_PRIVATE "-lm -pthread ")
file(RELATIVE_PATH MLUOP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MLUOP_PC_PREFIX "${MLUOP_PC_PREFIX}")
configure_file(c_src/cmake/mluops.pc.in generated/mluops.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/mluops.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
