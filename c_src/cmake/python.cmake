# SPDX-License-Identifier: Apache-2.0
# The extension module pymluops._native: the headers' declarations, compiled by way of cffi against
# the headers themselves. It stands beside lib/libmluops.so in the installed package.

if(CMAKE_VERSION VERSION_LESS 3.26)
  message(FATAL_ERROR "MLUOP_BUILD_PYTHON needs CMake 3.26 or later")
endif()
# The stable ABI is that of Python 3.10: with a later one Python.h no longer declares all that
# cffi's code uses.
find_package(Python 3.11 COMPONENTS Interpreter Development.SABIModule)
if(NOT Python_Interpreter_FOUND)
  message(FATAL_ERROR "the Python extension needs Python 3.11 or later, and there is none")
elseif(NOT Python_FOUND)
  message(
    FATAL_ERROR
      "Python.h of ${Python_EXECUTABLE} is not installed: the Python extension needs the headers of "
      "that Python. Debian, Ubuntu: apt-get install python3-dev; Fedora: dnf install python3-devel")
endif()

set(native_source ${PROJECT_BINARY_DIR}/generated/_native.c)
# Its types stand beside the Python files, where mypy looks: of an editable installation these are
# the sources.
set(native_stub ${PROJECT_BINARY_DIR}/generated/_native.pyi)
if(SKBUILD_STATE STREQUAL editable)
  set(native_stub ${PROJECT_SOURCE_DIR}/pymluops/_native.pyi)
endif()
add_custom_command(
  OUTPUT ${native_source} ${native_stub}
  COMMAND Python::Interpreter ${PROJECT_SOURCE_DIR}/c_src/cmake/generate_native.py
          ${PROJECT_SOURCE_DIR}/include ${native_source} ${families_left_out}
  COMMAND Python::Interpreter ${PROJECT_SOURCE_DIR}/c_src/cmake/generate_stub.py
          ${PROJECT_SOURCE_DIR}/include ${native_stub} ${families_left_out}
  DEPENDS c_src/cmake/generate_native.py c_src/cmake/generate_stub.py include/mlu_op.h
          include/mlu_op_cpu.h include/cnrt.h
  VERBATIM)

# Looks at the sources in every build: what it writes changes when one of them has changed.
set(build_id_source ${PROJECT_BINARY_DIR}/generated/build_id.c)
add_custom_target(
  mluops_build_id
  COMMAND Python::Interpreter ${PROJECT_SOURCE_DIR}/pymluops/_build_id.py ${PROJECT_SOURCE_DIR}
          ${build_id_source}
  BYPRODUCTS ${build_id_source}
  VERBATIM)

# What a machine can do, for `pymluops bench`: no part of the library.
set(limits_objects "")
foreach(isa IN LISTS MLUOP_ISAS)
  add_library(mluops_limits_${isa} OBJECT c_src/limits/loops.c)
  target_link_libraries(mluops_limits_${isa} PRIVATE mluops_flags)
  target_compile_definitions(mluops_limits_${isa} PRIVATE ${MLUOP_ISA_DEFINITIONS_${isa}})
  target_compile_options(mluops_limits_${isa} PRIVATE ${MLUOP_ISA_FLAGS_${isa}} -O3)
  set_target_properties(mluops_limits_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                        C_VISIBILITY_PRESET hidden)
  list(APPEND limits_objects $<TARGET_OBJECTS:mluops_limits_${isa}>)
endforeach()
add_library(mluops_limits OBJECT c_src/limits/limits.c)
target_link_libraries(mluops_limits PRIVATE mluops_flags)
set_target_properties(mluops_limits PROPERTIES POSITION_INDEPENDENT_CODE ON
                                               C_VISIBILITY_PRESET hidden)

Python_add_library(_native MODULE USE_SABI 3.10 WITH_SOABI ${native_source} ${build_id_source}
                   $<TARGET_OBJECTS:mluops_limits> ${limits_objects})
target_include_directories(_native PRIVATE ${PROJECT_SOURCE_DIR}/c_src)
target_link_libraries(_native PRIVATE mluops mluops_exact mluops_guarded ${CMAKE_DL_LIBS})
# The module needs no host runtime, though programs that link mluops get it.
target_link_options(_native PRIVATE LINKER:--as-needed)
# DT_RPATH instead of DT_RUNPATH: what is in LD_LIBRARY_PATH comes later, such as the accelerator's
# own libmluops.so. It is in the module from the start: a later change leaves traces of the build's
# folder, and two builds of the same sources would differ.
target_link_options(_native PRIVATE LINKER:--disable-new-dtags)
set_target_properties(_native PROPERTIES C_VISIBILITY_PRESET hidden BUILD_WITH_INSTALL_RPATH ON
                                         INSTALL_RPATH $ORIGIN/${CMAKE_INSTALL_LIBDIR})
install(TARGETS _native DESTINATION . COMPONENT python)
install(FILES ${native_stub} DESTINATION . COMPONENT python)

# A wheel for other machines brings GNU's OpenMP runtime, as slim images have none. Under its own
# name: whichever libgomp.so.1 a process loads first, torch's or this one, serves all that need one.
# (Tools that repair wheels would rename what they add, and make it a second runtime.)
option(MLUOP_BUNDLE_OPENMP "Put the OpenMP runtime into the Python package" OFF)
set(sbom_runtime "")
if(MLUOP_BUNDLE_OPENMP)
  if(NOT threading STREQUAL openmp OR NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
    message(FATAL_ERROR "MLUOP_BUNDLE_OPENMP is for GCC with OpenMP")
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgomp.so.1
                  OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${runtime}" runtime)
  file(SHA256 "${runtime}" runtime_hash)
  configure_file(packaging/sbom-libgomp.json.in generated/sbom-libgomp.json @ONLY)
  file(READ ${PROJECT_BINARY_DIR}/generated/sbom-libgomp.json sbom_runtime)
  install(FILES ${runtime} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libgomp.so.1
          COMPONENT python)
endif()
# DT_RPATH, as above.
set_target_properties(mluops PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)
target_link_options(mluops PRIVATE LINKER:--disable-new-dtags)

# What a wheel consists of, for those who look for known weaknesses: a CycloneDX file.
if(SKBUILD)
  configure_file(packaging/sbom.json.in generated/pymluops.cdx.json @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/generated/pymluops.cdx.json
          DESTINATION ${SKBUILD_METADATA_DIR}/sboms COMPONENT python)
  if(MLUOP_BUNDLE_OPENMP)
    install(FILES packaging/LICENSE.libgomp DESTINATION ${SKBUILD_METADATA_DIR}/licenses
            COMPONENT python)
  endif()
endif()
