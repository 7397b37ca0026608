# SPDX-License-Identifier: Apache-2.0
# The extension module pymluops._native: the headers' declarations, compiled by way of cffi against
# the headers themselves. It stands beside lib/libmluops.so in the installed package.

if(CMAKE_VERSION VERSION_LESS 3.26)
  message(FATAL_ERROR "MLUOP_BUILD_PYTHON needs CMake 3.26 or later")
endif()
# The stable ABI is that of Python 3.10: with a later one Python.h no longer declares all that
# cffi's code uses.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.SABIModule)

set(native_source ${PROJECT_BINARY_DIR}/generated/_native.c)
add_custom_command(
  OUTPUT ${native_source}
  COMMAND Python::Interpreter ${PROJECT_SOURCE_DIR}/c_src/cmake/generate_native.py
          ${PROJECT_SOURCE_DIR}/include ${native_source}
  DEPENDS c_src/cmake/generate_native.py include/mlu_op.h include/mlu_op_cpu.h include/cnrt.h
  VERBATIM)

Python_add_library(_native MODULE USE_SABI 3.10 WITH_SOABI ${native_source})
target_link_libraries(_native PRIVATE mluops)
# The module needs no host runtime, though programs that link mluops get it.
target_link_options(_native PRIVATE LINKER:--as-needed)
set_target_properties(_native PROPERTIES C_VISIBILITY_PRESET hidden
                                         INSTALL_RPATH $ORIGIN/${CMAKE_INSTALL_LIBDIR})
install(TARGETS _native DESTINATION . COMPONENT python)
