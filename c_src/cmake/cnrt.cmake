# SPDX-License-Identifier: Apache-2.0
# The host runtime libcnrt (cnrt.h and cn_api.h): a library of its own that libmluops neither links
# nor needs. Programs written for the accelerator use both, so whoever links mluops gets it too.

add_library(cnrt c_src/cnrt/convert.c c_src/cnrt/device.c c_src/cnrt/driver.c c_src/cnrt/error.c
                 c_src/cnrt/memory.c c_src/cnrt/queue.c c_src/cnrt/registry.c)
add_library(mluops::cnrt ALIAS cnrt)
target_link_libraries(cnrt PRIVATE $<BUILD_INTERFACE:mluops_flags>
                                   $<BUILD_INTERFACE:mluops_guarded> Threads::Threads)
target_include_directories(cnrt PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(cnrt PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
                                      C_EXTENSIONS OFF)

# Link lines for the accelerator may name a driver library besides: here all of its names are in
# libcnrt, and this one only leads there.
add_library(cndrv c_src/cnrt/cndrv.c)
add_library(mluops::cndrv ALIAS cndrv)
target_link_libraries(cndrv PRIVATE $<BUILD_INTERFACE:mluops_flags> PUBLIC cnrt)
target_link_options(cndrv PRIVATE $<$<PLATFORM_ID:Linux>:LINKER:--no-as-needed>)
set_target_properties(cndrv PROPERTIES C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                                       BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)

if(NOT MLUOP_BUILD_PYTHON)
  set_target_properties(cnrt cndrv PROPERTIES VERSION ${PROJECT_VERSION}
                                              SOVERSION ${PROJECT_VERSION_MAJOR})
endif()

target_link_libraries(mluops INTERFACE cnrt)
