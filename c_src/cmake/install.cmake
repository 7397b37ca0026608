# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives: headers, libraries, the CMake package mluops (targets
# mluops::mluops and mluops::cnrt) and mluops.pc. All of it may be moved to another place afterwards.

include(CMakePackageConfigHelpers)

if(BUILD_SHARED_LIBS)
  set(library_type SHARED)
else()
  set(library_type STATIC)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mluops)

install(FILES include/mlu_op.h include/mlu_op_cpu.h include/cnrt.h include/cn_api.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS mluops cnrt cndrv EXPORT mluops-targets)
# For "-lcndrv": a text file that sends the linker on to libcnrt.
set(cndrv_script ${PROJECT_BINARY_DIR}/generated/libcndrv${CMAKE_${library_type}_LIBRARY_SUFFIX})
file(CONFIGURE OUTPUT ${cndrv_script} CONTENT "/* GNU ld script */\nINPUT(-lcnrt)\n")
install(FILES ${cndrv_script} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT mluops-targets NAMESPACE mluops:: DESTINATION ${package_dir})

set(MLUOP_THREADING_USED ${threading})
configure_package_config_file(c_src/cmake/mluops-config.cmake.in generated/mluops-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(generated/mluops-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/mluops-config.cmake
              ${PROJECT_BINARY_DIR}/generated/mluops-config-version.cmake
        DESTINATION ${package_dir})

# What a program that links the static library has to link besides it.
set(MLUOP_PC_LIBS_PRIVATE -lm)
if(threading STREQUAL openmp)
  list(APPEND MLUOP_PC_LIBS_PRIVATE ${OpenMP_C_FLAGS})
endif()
list(APPEND MLUOP_PC_LIBS_PRIVATE -pthread)
list(JOIN MLUOP_PC_LIBS_PRIVATE " " MLUOP_PC_LIBS_PRIVATE)
file(RELATIVE_PATH MLUOP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MLUOP_PC_PREFIX "${MLUOP_PC_PREFIX}")
configure_file(c_src/cmake/mluops.pc.in generated/mluops.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/mluops.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
