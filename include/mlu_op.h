/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLU_OP_H_
#define MLU_OP_H_

/**
 * @file mlu_op.h
 * The mluOp API, contract version 1.11.1, on CPUs: handles, tensor descriptors, ten vision
 * operators.
 *
 * A program creates a handle and a descriptor for each tensor. It calls operators with descriptors
 * and with pointers to its own memory:
 *
 *     mluOpHandle_t handle;
 *     mluOpTensorDescriptor_t x_desc, y_desc;
 *     const int x_dims[] = {1, 2, 2, 9}, y_dims[] = {1, 2, 2, 4};
 *     mluOpCreate(&handle);
 *     mluOpCreateTensorDescriptor(&x_desc);
 *     mluOpCreateTensorDescriptor(&y_desc);
 *     mluOpSetTensorDescriptor(x_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, x_dims);
 *     mluOpSetTensorDescriptor(y_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, y_dims);
 *     mluOpStatus_t status = mluOpPsamaskForward(handle, 0, x_desc, x, 3, 3, y_desc, y);
 *     if (status != MLUOP_STATUS_SUCCESS) puts(mluOpGetErrorString(status));
 *     mluOpDestroyTensorDescriptor(y_desc);
 *     mluOpDestroyTensorDescriptor(x_desc);
 *     mluOpDestroy(handle);
 *
 * These rules hold for every function:
 *   - A NULL handle, descriptor or out-pointer gives MLUOP_STATUS_BAD_PARAM, unless the function
 *     says otherwise. A function that fails changes nothing: no descriptor, no output, and no
 *     variable that an out-pointer points to.
 *   - Each failure leaves a message for its thread: see mluOpCpuGetLastErrorMessage in
 *     mlu_op_cpu.h. The library never ends the process. docs/process.md says what the library
 *     changes there, and when the system or OpenMP may end the process.
 *   - Operators compute in the default floating-point state of a new program, whatever the state
 *     of the caller is. The state of the caller is restored. A caller needs 64 KiB of stack.
 *   - The caller destroys each object that it has created, once. The library keeps no pointer to an
 *     argument after the call. The queue of mluOpSetQueue is the exception: it is kept, but never
 *     read through.
 *   - An operator is complete when its call returns. Tensors are in ordinary memory.
 *   - A data pointer must be aligned to its element: 2 bytes for HALF, 4 for FLOAT and INT32. One
 *     that is not gives MLUOP_STATUS_BAD_PARAM, at the place of the check for NULL. A workspace
 *     needs no more alignment than malloc gives.
 *   - If another thread changes the data during a call, the results are meaningless, but nothing
 *     worse happens.
 *   - One thread at a time may use a handle or change a descriptor. Several threads may read the
 *     same descriptor, as operators do, or use different handles at the same time.
 *   - A forked child may continue to use handles and descriptors. Until it calls exec, its
 *     operators run on one thread, even if the child itself has loaded the library.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cn_api.h"
#include "cnrt.h"

/** Major version of the API. mluOpCpuGetVersion gives the version of this library instead. */
#define MLUOP_MAJOR 1
/** Minor version of the API. */
#define MLUOP_MINOR 11
/** Patch level of the API. */
#define MLUOP_PATCHLEVEL 1
/** Version of the API as one number. */
#define MLUOP_VERSION (MLUOP_MAJOR * 1000 + MLUOP_MINOR * 100 + MLUOP_PATCHLEVEL)

/** A descriptor of up to this many dims allocates no further memory. More dims are accepted. */
#define MLUOP_DIM_MAX 8

/** The calling convention of every function. Empty except on Windows. */
#ifndef MLUOP_WIN_API
#ifdef _WIN32
#define MLUOP_WIN_API __stdcall
#else
#define MLUOP_WIN_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin: read by the Python binding; no preprocessor lines until "cdef end". */

/* ---------------------------------------------------------------------------------- Types */

/**
 * What a function returns. This library returns SUCCESS, ALLOC_FAILED, BAD_PARAM (the arguments
 * contradict the contract or each other), NOT_SUPPORTED (the arguments are legal, but beyond a
 * limit), ARCH_MISMATCH (from mluOpCreate only), and EXECUTION_FAILED (only from an operator that
 * mluOpCpuSetInterruptCheck has ended). The other values are part of the API.
 */
typedef enum {
  MLUOP_STATUS_SUCCESS = 0,           /**< the call has done its work */
  MLUOP_STATUS_NOT_INITIALIZED = 1,   /**< not returned by this library */
  MLUOP_STATUS_ALLOC_FAILED = 2,      /**< no memory */
  MLUOP_STATUS_BAD_PARAM = 3,         /**< an argument is wrong */
  MLUOP_STATUS_INTERNAL_ERROR = 4,    /**< not returned by this library */
  MLUOP_STATUS_ARCH_MISMATCH = 5,     /**< no such instruction set here */
  MLUOP_STATUS_EXECUTION_FAILED = 6,  /**< mluOpCpuSetInterruptCheck ended the call */
  MLUOP_STATUS_NOT_SUPPORTED = 7,     /**< legal, but beyond a limit */
  MLUOP_STATUS_NUMERICAL_OVERFLOW = 8 /**< not returned by this library */
} mluOpStatus_t;

/**
 * What the dims of a tensor mean, the slowest first: N images, C channels, D depth, H height,
 * W width, T time, L length. ARRAY gives the dims no meaning. A layout is only a name: it does not
 * change how dims and strides are read.
 */
typedef enum {
  MLUOP_LAYOUT_NCHW = 0,  /**< images, channels first */
  MLUOP_LAYOUT_NHWC = 1,  /**< images, channels last */
  MLUOP_LAYOUT_HWCN = 2,  /**< filters */
  MLUOP_LAYOUT_NDHWC = 3, /**< volumes, channels last */
  MLUOP_LAYOUT_ARRAY = 4, /**< no meaning */
  MLUOP_LAYOUT_NCDHW = 5, /**< volumes, channels first */
  MLUOP_LAYOUT_TNC = 6,   /**< sequences, time first */
  MLUOP_LAYOUT_NTC = 7,   /**< sequences, images first */
  MLUOP_LAYOUT_NC = 8,    /**< a vector for each image */
  MLUOP_LAYOUT_NLC = 9,   /**< lines, channels last */
  MLUOP_LAYOUT_NCL = 10   /**< lines, channels first */
} mluOpTensorLayout_t;

/**
 * The type of an element. HALF is IEEE 754 binary16, FLOAT binary32, DOUBLE binary64, BFLOAT16 the
 * upper half of a FLOAT; INT31 takes 4 bytes, BOOL 1; complex types are pairs. INVALID stands for
 * "not set". The value 10 is not used. Operators accept HALF, FLOAT and INT32 where they say so.
 */
typedef enum {
  MLUOP_DTYPE_INVALID = 0,        /**< not set */
  MLUOP_DTYPE_HALF = 1,           /**< binary16 */
  MLUOP_DTYPE_FLOAT = 2,          /**< binary32 */
  MLUOP_DTYPE_INT8 = 3,           /**< 1 byte */
  MLUOP_DTYPE_INT16 = 4,          /**< 2 bytes */
  MLUOP_DTYPE_INT31 = 5,          /**< 4 bytes */
  MLUOP_DTYPE_INT32 = 6,          /**< 4 bytes */
  MLUOP_DTYPE_UINT8 = 7,          /**< 1 byte, unsigned */
  MLUOP_DTYPE_BOOL = 8,           /**< 1 byte: 0 or 1 */
  MLUOP_DTYPE_INT64 = 9,          /**< 8 bytes */
  MLUOP_DTYPE_UINT32 = 11,        /**< 4 bytes, unsigned */
  MLUOP_DTYPE_UINT64 = 12,        /**< 8 bytes, unsigned */
  MLUOP_DTYPE_UINT16 = 13,        /**< 2 bytes, unsigned */
  MLUOP_DTYPE_DOUBLE = 14,        /**< binary64 */
  MLUOP_DTYPE_COMPLEX_HALF = 15,  /**< two binary16 */
  MLUOP_DTYPE_COMPLEX_FLOAT = 16, /**< two binary32 */
  MLUOP_DTYPE_BFLOAT16 = 17       /**< the upper half of a FLOAT */
} mluOpDataType_t;

/** Whether NaN is propagated. Part of the API; no function here takes it. */
typedef enum {
  MLUOP_NOT_PROPAGATE_NAN = 0, /**< NaN is not propagated */
  MLUOP_PROPAGATE_NAN = 1      /**< NaN is propagated */
} mluOpNanPropagation_t;

/** Speed or precision. Part of the API; no function here takes it. */
typedef enum {
  MLUOP_COMPUTATION_FAST = 0,               /**< speed */
  MLUOP_COMPUTATION_HIGH_PRECISION = 1,     /**< precision */
  MLUOP_COMPUTATION_ULTRAHIGH_PRECISION = 2 /**< more precision */
} mluOpComputationPreference_t;

/**
 * Whether an operator may add in an order that differs from run to run. NOT_ALLOWED: results have
 * the same bits in every run and for any number of threads.
 */
typedef enum {
  MLUOP_ATOMICS_NOT_ALLOWED = 1, /**< the same bits in every run */
  MLUOP_ATOMICS_ALLOWED = 2      /**< the last bits may differ from run to run */
} mluOpAtomicsMode_t;

/** How ties are rounded in quantisation. Kept in the handle; no operator here quantises. */
typedef enum {
  MLUOP_ROUND_HALF_TO_EVEN = 0, /**< to the even number */
  MLUOP_ROUND_HALF_UP = 1,      /**< up */
  MLUOP_ROUND_HALF_OFF_ZERO = 2 /**< away from zero */
} mluOpQuantizeRoundMode_t;

/** Where a scalar operand is. HOST lets a descriptor have no dims: a scalar. */
typedef enum {
  MLUOP_POINTER_MODE_HOST = 0,  /**< in the memory of the host */
  MLUOP_POINTER_MODE_DEVICE = 1 /**< in the memory of the device */
} mluOpPointerMode_t;

/** The settings of one user of the library, and working memory for its operators. Opaque. */
typedef struct mluOpContext *mluOpHandle_t;

/** Layout, data type, dims and strides of a tensor, without its data. Opaque. */
typedef struct mluOpTensorStruct *mluOpTensorDescriptor_t;

/** The parameters of CARAFE. Opaque. */
typedef struct mluOpCarafeStruct *mluOpCarafeDescriptor_t;

/* -------------------------------------------------------------------------------- Context */

/**
 * Creates a handle, and chooses the kernels for this CPU: the best instruction set that it has, or
 * the one that the environment variable MLUOP_CPU_ISA names.
 *
 * @param handle  Receives the handle; destroy it with mluOpDestroy.
 *
 * @return MLUOP_STATUS_ARCH_MISMATCH if MLUOP_CPU_ISA names a set that this CPU or this build does
 *         not have; MLUOP_STATUS_BAD_PARAM if MLUOP_CPU_CACHE_BYTES (mlu_op_cpu.h) is not a number,
 *         or MLUOP_CPU_KERNEL is too long; MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCreate(mluOpHandle_t *handle);

/**
 * Destroys a handle and its working memory. It ends no threads.
 *
 * @param handle  The handle; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDestroy(mluOpHandle_t handle);

/**
 * Does nothing: a handle keeps no copy of anything that may change. It is here for programs that
 * call it.
 *
 * @param handle  The handle.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpUpdateContextInformation(mluOpHandle_t handle);

/**
 * Sets the queue of a handle. Operators do not use it: they are complete when they return.
 *
 * @param handle  The handle.
 * @param queue   The queue, or NULL for the default queue. It still belongs to the caller.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue);

/**
 * Gets the queue of a handle.
 *
 * @param handle  The handle.
 * @param queue   Receives the queue that was set last; NULL if none was set.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t *queue);

/**
 * Sets whether operators may trade reproducible results for speed. A new handle does not allow it.
 * No operator of this library uses the permission: results are the same in both modes.
 *
 * @param handle        The handle.
 * @param atomics_mode  The mode.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetAtomicsMode(mluOpHandle_t handle,
                                                mluOpAtomicsMode_t atomics_mode);

/**
 * Gets the mode that mluOpSetAtomicsMode has set.
 *
 * @param handle        The handle.
 * @param atomics_mode  Receives the mode; MLUOP_ATOMICS_NOT_ALLOWED for a new handle.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetAtomicsMode(mluOpHandle_t handle,
                                                mluOpAtomicsMode_t *atomics_mode);

/**
 * Sets how ties are rounded in quantisation. No operator of this library quantises.
 *
 * @param handle      The handle.
 * @param round_mode  The mode.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetQuantizeRoundMode(mluOpHandle_t handle,
                                                      mluOpQuantizeRoundMode_t round_mode);

/**
 * Gets the mode that mluOpSetQuantizeRoundMode has set.
 *
 * @param handle      The handle.
 * @param round_mode  Receives the mode; MLUOP_ROUND_HALF_TO_EVEN for a new handle.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetQuantizeRoundMode(mluOpHandle_t handle,
                                                      mluOpQuantizeRoundMode_t *round_mode);

/**
 * Returns the name of a status, such as "MLUOP_STATUS_BAD_PARAM".
 *
 * @param status  The status.
 *
 * @return A constant string, never NULL: "MLUOP_STATUS_UNKNOWN" for a value outside the enum.
 */
const char *MLUOP_WIN_API mluOpGetErrorString(mluOpStatus_t status);

/**
 * Gets the version of the API that the library was built for.
 *
 * @param major  Receives MLUOP_MAJOR; may be NULL.
 * @param minor  Receives MLUOP_MINOR; may be NULL.
 * @param patch  Receives MLUOP_PATCHLEVEL; may be NULL.
 */
void MLUOP_WIN_API mluOpGetLibVersion(int *major, int *minor, int *patch);

/**
 * Gets the size of an element: 1 byte (BOOL, INT8, UINT8), 2 (HALF, BFLOAT16, INT16, UINT16),
 * 4 (FLOAT, INT32, UINT32, INT31, COMPLEX_HALF) or 8 (DOUBLE, INT64, UINT64, COMPLEX_FLOAT).
 *
 * @param data_type  The type of the element.
 * @param size       Receives the number of bytes.
 *
 * @return MLUOP_STATUS_BAD_PARAM for MLUOP_DTYPE_INVALID, a value outside the enum, or a NULL size.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetSizeOfDataType(mluOpDataType_t data_type, size_t *size);

/* ------------------------------------------------------------------------------ Debugging */

/**
 * Turns calls of operators into test cases, for the whole process: files from which a call can be
 * repeated (docs/cases.md). The environment variable MLUOP_GEN_CASE sets the first mode.
 *
 * @param mode  1: shapes and parameters. 2: also the values of the inputs, so that a repeated call
 *              gives the same bits. 3: a line in the log, no file. Any other value: off.
 *
 * A case is written after the arguments have been accepted, before the operator runs. A problem
 * with the file is logged, and does not affect the operator. May be called at any time.
 */
void MLUOP_WIN_API mluOpSetGenCaseMode(int mode);

/**
 * Sets where test cases are written, for the whole process: to DIRECTORY/gen_case/OPERATOR, which
 * is created when it is needed. The environment variable MLUOP_GEN_CASE_DIR sets the first
 * directory; without it, that is the current one. May be called at any time.
 *
 * @param directory  The directory, of at most 1023 characters. {pid} in it stands for the number of
 *                   the process and {deviceid} for 0; "" is the current directory.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL or a longer text.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetGenCaseDirectory(const char *directory);

/**
 * Returns the directory where test cases are written, as it was set.
 *
 * @return The directory, never NULL; valid until the next call by the same thread.
 */
const char *MLUOP_WIN_API mluOpGetGenCaseDirectory(void);

/* --------------------------------------------------------------------- Tensor descriptors */

/**
 * Creates a tensor descriptor. It has no dims, 0 elements, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT,
 * the on-chip data type MLUOP_DTYPE_INVALID, MLUOP_POINTER_MODE_DEVICE, position 0, scale 1 and
 * offset 0.
 *
 * @param desc  Receives the descriptor; destroy it with mluOpDestroyTensorDescriptor.
 *
 * @return MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t *desc);

/**
 * Destroys a tensor descriptor. The data that it described belongs to the caller and stays.
 *
 * @param desc  The descriptor; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc);

/**
 * Sets a tensor descriptor back to what it was when it was created.
 *
 * @param desc  The descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc);

/**
 * Creates several tensor descriptors.
 *
 * @param group_descs  desc_num pointers, each to a variable that receives a descriptor.
 * @param desc_num     How many: at least 1.
 *
 * @return MLUOP_STATUS_BAD_PARAM for desc_num <= 0 or a NULL among the pointers;
 *         MLUOP_STATUS_ALLOC_FAILED if there is no memory for all of them. Then those that had been
 *         created are destroyed, and their variables are NULL.
 *
 * Example:
 *
 *     mluOpTensorDescriptor_t x, y;
 *     mluOpTensorDescriptor_t *group[] = {&x, &y};
 *     mluOpCreateGroupTensorDescriptors(group, 2);
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[], const int desc_num);

/**
 * Destroys several tensor descriptors: all of them, or none if the call fails.
 *
 * @param group_descs  desc_num pointers, each to a variable that has a descriptor.
 * @param desc_num     How many: at least 1.
 *
 * @return MLUOP_STATUS_BAD_PARAM for desc_num <= 0, a NULL pointer or descriptor, or a descriptor
 *         that is given twice.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[], const int desc_num);

/**
 * Sets several tensor descriptors as mluOpSetTensorDescriptor does: all of them, or none if the
 * call fails.
 *
 * @param group_descs    desc_num pointers to descriptors.
 * @param group_layout   desc_num layouts.
 * @param group_dtype    desc_num data types.
 * @param group_dimNb    desc_num numbers of dims.
 * @param group_dimSize  The dims of all descriptors, one after another.
 * @param desc_num       How many: at least 1.
 *
 * @return MLUOP_STATUS_BAD_PARAM for desc_num <= 0, a NULL argument, pointer or descriptor, or
 *         anything that mluOpSetTensorDescriptor rejects; MLUOP_STATUS_ALLOC_FAILED if there is no
 *         memory.
 *
 * Example, tensors of the shapes [2, 3] and [4]:
 *
 *     const mluOpTensorLayout_t layouts[] = {MLUOP_LAYOUT_NC, MLUOP_LAYOUT_ARRAY};
 *     const mluOpDataType_t dtypes[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_INT32};
 *     const int dim_nbs[] = {2, 1}, dims[] = {2, 3, 4};
 *     mluOpSetGroupTensorDescriptors(group, layouts, dtypes, dim_nbs, dims, 2);
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t *group_descs[],
                                                           const mluOpTensorLayout_t group_layout[],
                                                           const mluOpDataType_t group_dtype[],
                                                           const int group_dimNb[],
                                                           const int group_dimSize[],
                                                           const int desc_num);

/**
 * Sets layout, data type and dims. The strides become those of a contiguous row-major tensor: each
 * stride is the product of the dims after it, even if one of these is 0.
 *
 * @param desc     The descriptor. Its pointer mode, on-chip data type, position, scale and offset
 *                 stay as they are.
 * @param layout   A name for the dims; it does not change them.
 * @param dtype    The type of an element.
 * @param dimNb    The number of dims: 1 or more. In pointer mode MLUOP_POINTER_MODE_HOST it may be
 *                 0, for a scalar, which has 1 element.
 * @param dimSize  The dims, the slowest first; they are copied. A dim of 0 makes an empty tensor.
 *                 May be NULL for a scalar.
 *
 * @return MLUOP_STATUS_BAD_PARAM for an unknown layout or dtype, a negative dimNb or dim, dimNb 0
 *         in pointer mode DEVICE, NULL dims, and a tensor whose number of elements (dims of 0
 *         counted as 1) does not fit into an int64_t; MLUOP_STATUS_ALLOC_FAILED if there is no
 *         memory for more than MLUOP_DIM_MAX dims. A tensor of 2^31 elements or more can be
 *         described, but operators reject it.
 *
 * Example, 8 images of 64 x 48 pixels and 3 channels:
 *
 *     const int dims[] = {8, 48, 64, 3};
 *     mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims);
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t layout,
                                                     mluOpDataType_t dtype, int dimNb,
                                                     const int dimSize[]);

/**
 * Does what mluOpSetTensorDescriptor does, with dims of 64 bits.
 *
 * @param desc     The descriptor.
 * @param layout   The layout.
 * @param dtype    The type of an element.
 * @param dimNb    The number of dims.
 * @param dimSize  The dims, the slowest first.
 *
 * @return As mluOpSetTensorDescriptor.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t layout,
                                                        mluOpDataType_t dtype, int dimNb,
                                                        const int64_t dimSize[]);

/**
 * Does what mluOpSetTensorDescriptor does, with strides given by the caller.
 *
 * @param desc       The descriptor.
 * @param layout     The layout.
 * @param dtype      The type of an element.
 * @param dimNb      The number of dims.
 * @param dimSize    The dims, the slowest first.
 * @param dimStride  For each dim, the number of elements (not bytes) from one index to the next.
 *                   Any value is kept. Operators accept contiguous tensors only: those that are
 *                   empty, or whose dims other than 1 have the strides that
 *                   mluOpSetTensorDescriptor sets.
 *
 * @return As mluOpSetTensorDescriptor, and MLUOP_STATUS_BAD_PARAM if dimStride is NULL but dimNb is
 *         not 0.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t layout,
                                                       mluOpDataType_t dtype, int dimNb,
                                                       const int dimSize[], const int dimStride[]);

/**
 * Does what mluOpSetTensorDescriptorEx does, with dims and strides of 64 bits.
 *
 * @param desc       The descriptor.
 * @param layout     The layout.
 * @param dtype      The type of an element.
 * @param dimNb      The number of dims.
 * @param dimSize    The dims, the slowest first.
 * @param dimStride  The strides, in elements.
 *
 * @return As mluOpSetTensorDescriptorEx.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t layout,
                                                          mluOpDataType_t dtype, int dimNb,
                                                          const int64_t dimSize[],
                                                          const int64_t dimStride[]);

/**
 * Sets the dims as mluOpSetTensorDescriptor does, and keeps layout and data type.
 *
 * @param desc     The descriptor.
 * @param dimNb    The number of dims.
 * @param dimSize  The dims, the slowest first.
 *
 * @return As mluOpSetTensorDescriptor.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                                        const int *dimSize);

/**
 * Does what mluOpSetTensorDescriptorDim does, with dims of 64 bits.
 *
 * @param desc     The descriptor.
 * @param dimNb    The number of dims.
 * @param dimSize  The dims, the slowest first.
 *
 * @return As mluOpSetTensorDescriptorDim.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                                           const int64_t *dimSize);

/**
 * Sets where a scalar operand is. HOST allows a descriptor without dims. Dims that have been set
 * stay.
 *
 * @param desc          The descriptor.
 * @param pointer_mode  The mode.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL or a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t pointer_mode);

/**
 * Gets the pointer mode.
 *
 * @param desc          The descriptor.
 * @param pointer_mode  Receives the mode; MLUOP_POINTER_MODE_DEVICE for a new descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t *pointer_mode);

/**
 * Sets the data type in which an accelerator would compute. Deformable convolution accepts the data
 * type of the tensor itself and MLUOP_DTYPE_INVALID; other operators ignore it.
 *
 * @param desc          The descriptor.
 * @param onchip_dtype  The type; MLUOP_DTYPE_INVALID for none.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL or a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t onchip_dtype);

/**
 * Gets the on-chip data type.
 *
 * @param desc          The descriptor.
 * @param onchip_dtype  Receives the type; MLUOP_DTYPE_INVALID for a new descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorOnchipDataType(
    const mluOpTensorDescriptor_t desc, mluOpDataType_t *onchip_dtype);

/**
 * Sets the fixed-point position of quantised data. A descriptor keeps position, scale and offset,
 * whatever their values; no operator here uses them.
 *
 * @param desc      The descriptor.
 * @param position  The position.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc,
                                                             int position);

/**
 * Sets position and scale, and keeps the offset.
 *
 * @param desc      The descriptor.
 * @param position  The position.
 * @param scale     The scale.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc,
                                                                     int position, float scale);

/**
 * Sets position, scale and offset.
 *
 * @param desc      The descriptor.
 * @param position  The position.
 * @param scale     The scale.
 * @param offset    The offset.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionScaleAndOffset(
    mluOpTensorDescriptor_t desc, int position, float scale, int offset);

/**
 * Gets the position.
 *
 * @param desc      The descriptor.
 * @param position  Receives the position; 0 for a new descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc,
                                                             int *position);

/**
 * Gets position and scale.
 *
 * @param desc      The descriptor.
 * @param position  Receives the position; 0 for a new descriptor.
 * @param scale     Receives the scale; 1 for a new descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionAndScale(
    const mluOpTensorDescriptor_t desc, int *position, float *scale);

/**
 * Gets position, scale and offset.
 *
 * @param desc      The descriptor.
 * @param position  Receives the position; 0 for a new descriptor.
 * @param scale     Receives the scale; 1 for a new descriptor.
 * @param offset    Receives the offset; 0 for a new descriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionScaleAndOffset(
    const mluOpTensorDescriptor_t desc, int *position, float *scale, int *offset);

/**
 * Reads a tensor descriptor. An out-pointer that is NULL is skipped.
 *
 * @param desc     The descriptor.
 * @param layout   Receives the layout.
 * @param dtype    Receives the data type.
 * @param dimNb    Receives the number of dims.
 * @param dimSize  Receives the dims; it needs room for all of them. Get dimNb first if it is not
 *                 known.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL descriptor, or if dimSize is not NULL and a dim does
 *         not fit into an int (the _v2 form reads it).
 *
 * Example:
 *
 *     int dim_nb;
 *     mluOpGetTensorDescriptor(desc, NULL, NULL, &dim_nb, NULL);
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t *layout,
                                                     mluOpDataType_t *dtype, int *dimNb,
                                                     int dimSize[]);

/**
 * Does what mluOpGetTensorDescriptor does, with dims of 64 bits, which always fit.
 *
 * @param desc     The descriptor.
 * @param layout   Receives the layout.
 * @param dtype    Receives the data type.
 * @param dimNb    Receives the number of dims.
 * @param dimSize  Receives the dims.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL descriptor.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t *layout,
                                                        mluOpDataType_t *dtype, int *dimNb,
                                                        int64_t dimSize[]);

/**
 * Reads a tensor descriptor with its strides. No out-pointer may be NULL.
 *
 * @param desc       The descriptor.
 * @param layout     Receives the layout.
 * @param dtype      Receives the data type.
 * @param dimNb      Receives the number of dims.
 * @param dimSize    Receives the dims; it needs room for all of them.
 * @param dimStride  Receives the strides, in elements; it needs room for all of them.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument, or a dim or stride that does not fit into an
 *         int (the _v2 form reads it).
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t *layout,
                                                       mluOpDataType_t *dtype, int *dimNb,
                                                       int dimSize[], int dimStride[]);

/**
 * Does what mluOpGetTensorDescriptorEx does, with dims and strides of 64 bits, which always fit.
 *
 * @param desc       The descriptor.
 * @param layout     Receives the layout.
 * @param dtype      Receives the data type.
 * @param dimNb      Receives the number of dims.
 * @param dimSize    Receives the dims.
 * @param dimStride  Receives the strides, in elements.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL argument.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t *layout,
                                                          mluOpDataType_t *dtype, int *dimNb,
                                                          int64_t dimSize[], int64_t dimStride[]);

/**
 * Returns the number of elements, which is the product of the dims.
 *
 * @param desc  The descriptor.
 *
 * @return The number: 0 for a new descriptor and for NULL, 1 for a scalar.
 */
size_t MLUOP_WIN_API mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc);

/* --------------------------------------------------------------------------------- CARAFE */

/**
 * Creates a CARAFE descriptor. It must be set before an operator accepts it.
 *
 * @param carafe_desc  Receives the descriptor; destroy it with mluOpDestroyCarafeDescriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL, MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCreateCarafeDescriptor(mluOpCarafeDescriptor_t *carafe_desc);

/**
 * Destroys a CARAFE descriptor.
 *
 * @param carafe_desc  The descriptor; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc);

/**
 * Sets the parameters of CARAFE.
 *
 * @param carafe_desc   The descriptor.
 * @param dimNb         Dims of the tensors: 4.
 * @param kernel_size   Side k of the square window: odd, at least 1. The forward operator accepts
 *                      up to 45, the backward operator up to 137.
 * @param group_size    Number G of groups of channels; each group has a mask of its own. At least
 *                      1.
 * @param scale_factor  Output pixels per input pixel along each axis: at least 1. The forward
 *                      operator accepts up to 5.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL descriptor, or a value that is too small or even; the
 *         descriptor keeps the values it had. The operators check the upper limits.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc,
                                                     const int dimNb, const int kernel_size,
                                                     const int group_size, const int scale_factor);

/**
 * CARAFE, content-aware reassembly of features: upsamples a map. Each output pixel is a weighted
 * sum over a window of the input, with weights of its own. With k the kernel_size, s the
 * scale_factor, G the group_size and r = (k - 1) / 2,
 *
 *     output[n, p, q, c] = sum over kh, kw in [0, k) of
 *         mask[n, p, q, (g * k + kh) * k + kw] * input[n, p / s + kh - r, q / s + kw - r, c]
 *
 * where g = c / (C / G), and divisions round down.
 *
 * @param handle       The handle.
 * @param carafe_desc  A descriptor that has been set.
 * @param input_desc   [N, H, W, C], C a multiple of G.
 * @param input        The map.
 * @param mask_desc    [N, s * H, s * W, G * k * k].
 * @param mask         The weights. They are not normalised.
 * @param output_desc  [N, s * H, s * W, C].
 * @param output       Receives every element. Must not overlap input or mask.
 *
 * All tensors are NHWC, contiguous, and all half or all float. Sums are made in float, and rounded
 * to half once.
 *
 * A tap outside the map is skipped: its weight is not read, even if it is infinite or NaN. NaN and
 * infinity of taps on the map propagate. Results have the same bits for any number of threads.
 *
 * @return The first of these that applies; output is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL.
 *   - MLUOP_STATUS_SUCCESS: a tensor is empty; nothing is read or written.
 *   - MLUOP_STATUS_BAD_PARAM: carafe_desc has not been set; a tensor does not have 4 dims, is not
 *     NHWC, not contiguous, not half or float, or does not have the data type of input.
 *   - MLUOP_STATUS_NOT_SUPPORTED: kernel_size is above 45 or scale_factor above 5.
 *   - MLUOP_STATUS_BAD_PARAM: the shapes do not fit together; a data pointer is NULL.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: output overlaps an input.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example, with k = 5, G = 1, s = 2:
 *
 *     mluOpCarafeDescriptor_t carafe_desc;
 *     mluOpCreateCarafeDescriptor(&carafe_desc);
 *     mluOpSetCarafeDescriptor(carafe_desc, 4, 5, 1, 2);
 *     // input [1, 32, 32, 256], mask [1, 64, 64, 25], output [1, 64, 64, 256]
 *     mluOpCarafeForward(handle, carafe_desc, input_desc, input, mask_desc, mask, output_desc,
 *                        output);
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCarafeForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                   const mluOpTensorDescriptor_t input_desc, const void *input,
                   const mluOpTensorDescriptor_t mask_desc, const void *mask,
                   const mluOpTensorDescriptor_t output_desc, void *output);

/**
 * The gradients of mluOpCarafeForward with respect to input and mask. In its terms,
 *
 *     grad_mask[n, p, q, (g * k + kh) * k + kw] = sum over the channels c of group g of
 *         grad_output[n, p, q, c] * input[n, p / s + kh - r, q / s + kw - r, c]
 *     grad_input[n, i, j, c] = sum over p, q, kh, kw with p / s + kh - r = i, q / s + kw - r = j of
 *         grad_output[n, p, q, c] * mask[n, p, q, (g * k + kh) * k + kw]
 *
 * @param handle            The handle.
 * @param carafe_desc       A descriptor that has been set.
 * @param input_desc        [N, H, W, C], C a multiple of G.
 * @param input             The map given to the forward operator.
 * @param mask_desc         [N, s * H, s * W, G * k * k].
 * @param mask              The weights given to the forward operator.
 * @param grad_output_desc  [N, s * H, s * W, C].
 * @param grad_output       The gradient of its output.
 * @param grad_input_desc   The shape of input.
 * @param grad_input        Receives every element.
 * @param grad_mask_desc    The shape of mask.
 * @param grad_mask         Receives every element: 0 for a tap outside the map.
 *
 * All tensors are NHWC, contiguous, and all half or all float. Sums are made in float, and rounded
 * to half once. The outputs must not overlap each other or an input.
 *
 * A tap outside the map is skipped: infinity and NaN do not spread through it. Elsewhere they
 * propagate. Results have the same bits for any number of threads.
 *
 * @return The first of these that applies; the outputs are untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL; carafe_desc has not been set; a
 *     tensor does not have 4 dims or is not NHWC; the shapes do not fit together; a tensor is not
 *     half or float, or does not have the data type of input.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_SUCCESS: a tensor is empty; nothing is read or written.
 *   - MLUOP_STATUS_BAD_PARAM: a data pointer is NULL.
 *   - MLUOP_STATUS_NOT_SUPPORTED: kernel_size is above 137, or a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: an output overlaps another tensor.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCarafeBackward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                    const mluOpTensorDescriptor_t input_desc, const void *input,
                    const mluOpTensorDescriptor_t mask_desc, const void *mask,
                    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
                    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
                    const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask);

/* -------------------------------------------------------------------------------- PSAMask */

/**
 * The forward operator of PSAMask: writes the mask of each pixel to the positions of the map that
 * the mask refers to.
 *
 * Element (u, v) of the mask of pixel (h, w) refers to the map position
 *
 *     (th, tw) = (h + u - (h_mask - 1) / 2, w + v - (w_mask - 1) / 2)   (division rounds down)
 *
 * and for each of these positions that is on the map
 *
 *     psa_type 0, collect:     y[n, h, w, th * W + tw] = x[n, h, w, u * w_mask + v]
 *     psa_type 1, distribute:  y[n, th, tw, h * W + w] = x[n, h, w, u * w_mask + v]
 *
 * Everything else in y is 0.
 *
 * @param handle    The handle.
 * @param psa_type  0 or 1.
 * @param x_desc    [N, H, W, h_mask * w_mask].
 * @param x         The masks.
 * @param h_mask    Height of the masks: 0 or more, even or odd. It may be larger than the map.
 * @param w_mask    Width of the masks, with the same rules.
 * @param y_desc    [N, H, W, H * W].
 * @param y         Receives the result; every element is written. Must not overlap x.
 *
 * Both tensors are float, NHWC and contiguous. Values are copied bit by bit, NaN included. Results
 * are the same for any number of threads. If x is empty, the call succeeds and writes nothing.
 *
 * @return y is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL; a tensor does not have 4 dims, has a
 *     wrong layout, data type or shape, is not contiguous, or has 2^31 elements or more; psa_type,
 *     h_mask or w_mask is out of range; x is not empty, and a data pointer is NULL or y overlaps x.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory (distribute).
 *
 * Example:
 *
 *     // x [2, 30, 30, 59 * 59] -> y [2, 30, 30, 30 * 30]
 *     mluOpPsamaskForward(handle, 0, x_desc, x, 59, 59, y_desc, y);
 */
mluOpStatus_t MLUOP_WIN_API mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                                const mluOpTensorDescriptor_t x_desc, const void *x,
                                                const int h_mask, const int w_mask,
                                                const mluOpTensorDescriptor_t y_desc, void *y);

/**
 * The backward operator of PSAMask: the gradient of mluOpPsamaskForward. Each
 * dx[n, h, w, u * w_mask + v] is the element of dy to which the forward operator writes that
 * element of x, and 0 if that position is not on the map.
 *
 * @param handle    The handle.
 * @param psa_type  0 or 1, as for mluOpPsamaskForward.
 * @param dy_desc   [N, H, W, H * W].
 * @param dy        The gradient of y.
 * @param h_mask    Height of the masks: 0 or more.
 * @param w_mask    Width of the masks: 0 or more.
 * @param dx_desc   [N, H, W, h_mask * w_mask].
 * @param dx        Receives the gradient of x; every element is written. Must not overlap dy.
 *
 * Data types, layouts, exact copies and threads are as for mluOpPsamaskForward. If dy is empty, the
 * call succeeds and writes nothing.
 *
 * @return As mluOpPsamaskForward, with dy in place of x and dx in place of y.
 *
 * Example:
 *
 *     // dy [2, 30, 30, 30 * 30] -> dx [2, 30, 30, 59 * 59]
 *     mluOpPsamaskBackward(handle, 0, dy_desc, dy, 59, 59, dx_desc, dx);
 */
mluOpStatus_t MLUOP_WIN_API mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                                 const mluOpTensorDescriptor_t dy_desc,
                                                 const void *dy, const int h_mask, const int w_mask,
                                                 const mluOpTensorDescriptor_t dx_desc, void *dx);

/* ----------------------------------------------------------------- Deformable RoI pooling */

/**
 * The forward operator of deformable RoI pooling: each region is divided into bins, each bin may be
 * moved by an offset, and the result is the mean of bilinear samples on a grid in the bin.
 *
 * Row r of rois is (image, x1, y1, x2, y2). On the map the region starts at
 * (x1, y1) * spatial_scale - 0.5, and its size is roi_w x roi_h pixels. A bin is
 * bin_w = roi_w / pooled_width wide and bin_h = roi_h / pooled_height high. Bin (ph, pw) has
 * grid_h x grid_w samples, at
 *
 *     y = y1 + gamma * roi_h * offset[r, 1, ph, pw] + ph * bin_h + (iy + 0.5) * bin_h / grid_h
 *     x = x1 + gamma * roi_w * offset[r, 0, ph, pw] + pw * bin_w + (ix + 0.5) * bin_w / grid_w
 *
 * grid_h and grid_w are sampling_ratio. If that is 0 or less, the grid is adaptive: they are bin_h
 * and bin_w, rounded up.
 *
 * @param handle          The handle.
 * @param input_desc      [N, H, W, C], NHWC.
 * @param input           The map.
 * @param rois_desc       [R, 5].
 * @param rois            The regions. The image index, truncated toward zero, must be 0 to N-1.
 *                        Coordinates may be inverted, outside the map, NaN, infinite or huge.
 * @param offset_desc     [R, 2, pooled_height, pooled_width], x before y; or NULL for no offsets.
 * @param offset          How far bins move, in units of gamma times the size of the region; NULL
 *                        if offset_desc is NULL.
 * @param pooled_height   Number of rows of bins: at least 1.
 * @param pooled_width    Number of bins in a row: at least 1.
 * @param spatial_scale   Pixels of the map per unit of the coordinates of rois.
 * @param sampling_ratio  Samples of a bin along each axis; 0 or less: about one for each pixel.
 * @param gamma           Scale of the offsets.
 * @param output_desc     [R, pooled_height, pooled_width, C], NHWC.
 * @param output          Receives the means.
 *
 * Tensors are all half or all float, and contiguous. output must not overlap an input.
 *
 * Coordinates are computed in float with one rounding per operation, products and quotients from
 * left to right: every CPU samples the same points. Sums are float or wider; half results are
 * rounded once.
 *
 * A sample is outside if y < -1, y > H, x < -1, x > W, or one of them is NaN. It has the value 0
 * and counts in the divisor, which is max(grid_h * grid_w, 1). A sample between -1 and 0, or beyond
 * the last pixel, has the value of the nearest pixel of the border. A region whose adaptive grid is
 * 0 or less, because it is empty or inverted, gives 0. With a positive sampling_ratio an inverted
 * region is sampled like any other. If a sample touches an infinite or NaN pixel with the weight 0,
 * the result is NaN. The time of a call is bounded by the sizes of the tensors, for any region and
 * any sampling_ratio.
 *
 * Results have the same bits for any number of threads.
 *
 * @return The first of these that applies; output is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor other than offset_desc is NULL; N is 0;
 *     rois or output is empty.
 *   - MLUOP_STATUS_SUCCESS, with nothing written: input is empty.
 *   - MLUOP_STATUS_BAD_PARAM: the layout or number of dims of input or output is wrong.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type is wrong; shapes do not fit together;
 *     pooled_height or pooled_width is below 1.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: exactly one of offset_desc and offset is NULL; another data
 *     pointer is NULL; output overlaps another tensor; the image index of a row of rois is not
 *     0 to N-1.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // input [2, 200, 304, 256], rois [998, 5] -> output [998, 7, 7, 256]
 *     mluOpDeformRoiPoolForward(handle, input_desc, input, rois_desc, rois, NULL, NULL,
 *                               7, 7, 0.25f, 2, 0.1f, output_desc, output);
 */
mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t rois_desc, const void *rois,
    const mluOpTensorDescriptor_t offset_desc, const void *offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t output_desc, void *output);

/**
 * The backward operator of deformable RoI pooling: the gradients of mluOpDeformRoiPoolForward, with
 * the names used there.
 *
 * With g = grad_output[r, ph, pw, c] / max(grid_h * grid_w, 1), each sample that is not outside
 * adds its bilinear weights times g to the four pixels around it. Let v00, v01, v10, v11 be the
 * values of these pixels (row, then column), y0, y1, x0, x1 their rows and columns, and (y, x) the
 * sample, not clamped to the map. Then
 *
 *     grad_offset[r, 0, ph, pw] = gamma * roi_w * the sum over samples and channels of
 *         g * (v11 * (y - y0) + v01 * (y1 - y) - v10 * (y - y0) - v00 * (y1 - y))
 *     grad_offset[r, 1, ph, pw] = gamma * roi_h * the sum over samples and channels of
 *         g * (v11 * (x - x0) + v10 * (x1 - x) - v01 * (x - x0) - v00 * (x1 - x))
 *
 * Inside the map this is the derivative. Between -1 and 0 it is not. Beyond the last pixel it is 0,
 * unless the pixel is infinite or NaN.
 *
 * @param handle            The handle.
 * @param grad_output_desc  [R, pooled_height, pooled_width, C], NHWC.
 * @param grad_output       The gradient of output.
 * @param input_desc        [N, H, W, C], NHWC.
 * @param input             The map.
 * @param rois_desc         [R, 5].
 * @param rois              The regions.
 * @param offset_desc       [R, 2, pooled_height, pooled_width]; NULL without offsets.
 * @param offset            The offsets; NULL without offsets.
 * @param pooled_height     Number of rows of bins: at least 1.
 * @param pooled_width      Number of bins in a row: at least 1.
 * @param spatial_scale     Pixels of the map per unit of the coordinates of rois.
 * @param sampling_ratio    Samples of a bin along each axis; 0 or less: about one for each pixel.
 * @param gamma             Scale of the offsets.
 * @param grad_input_desc   [N, H, W, C], NHWC.
 * @param grad_input        Receives the gradient of input. Every element is overwritten.
 * @param grad_offset_desc  [R, 2, pooled_height, pooled_width]; NULL without offsets.
 * @param grad_offset       Receives the gradient of offset; NULL without offsets.
 *
 * offset_desc, offset, grad_offset_desc and grad_offset are all given or all NULL.
 *
 * A sample outside is skipped: an infinite or NaN gradient reaches no element through it.
 * Results have the same bits for any number of threads; MLUOP_ATOMICS_ALLOWED changes nothing.
 *
 * Empty tensors are checked later than in mluOpDeformRoiPoolForward.
 *
 * @return The first of these that applies; outputs are untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor other than offset_desc and grad_offset_desc is
 *     NULL; the layout or number of dims of grad_output, input or grad_input is wrong.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type is wrong; shapes do not fit together, even if a
 *     tensor is empty; pooled_height or pooled_width is below 1; only some of the four arguments
 *     for offsets are NULL.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: N is 0; rois or grad_output is empty.
 *   - MLUOP_STATUS_SUCCESS, with nothing written: input is empty.
 *   - MLUOP_STATUS_BAD_PARAM: a data pointer is NULL; an output overlaps another tensor; the
 *     image index of a row of rois is not 0 to N-1.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc,
    const void *grad_output, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t rois_desc, const void *rois,
    const mluOpTensorDescriptor_t offset_desc, const void *offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset);

/* ---------------------------------------------------------------------------- BorderAlign */

/**
 * The forward operator of BorderAlign: for the box of each pixel and each of its four borders, the
 * largest of evenly spaced bilinear samples along the border, and the step of that sample.
 *
 * Border b of box (x1, y1, x2, y2) samples channels [b * C, (b + 1) * C) of the map, at the points
 * of the steps i in [0, pool_size]:
 *
 *     b = 0, top:     from (x1, y1), each step (x2 - x1) / pool_size to the right
 *     b = 1, left:    from (x1, y1), each step (y2 - y1) / pool_size down
 *     b = 2, bottom:  from (x2, y2), each step (x2 - x1) / pool_size to the left
 *     b = 3, right:   from (x2, y2), each step (y2 - y1) / pool_size up
 *
 * @param handle           The handle.
 * @param input_desc       [N, H, W, 4 * C].
 * @param input            The map.
 * @param boxes_desc       [N, K, 4] with K = H * W.
 * @param boxes            x1, y1, x2, y2 in pixels of the map. Coordinates may be inverted, outside
 *                         the map, NaN or infinite.
 * @param pool_size        Number of steps along a border: at least 1.
 * @param output_desc      [N, K, 4, C].
 * @param output           Receives the largest sample of each border and channel.
 * @param argmax_idx_desc  [N, K, 4, C].
 * @param argmax_idx       Receives the step of that sample, the first one if several are equal.
 *
 * input, boxes and output are all half or all float, argmax_idx is int32. All tensors are
 * contiguous, and all except boxes are NHWC. Outputs must not overlap each other or an input.
 *
 * The arithmetic is float with one rounding per operation: each point is the previous one plus the
 * step, and a sample is w1 * p1 + w2 * p2 + w3 * p3 + w4 * p4 (upper left, upper right, lower left,
 * lower right), added in this order. Therefore argmax_idx has the same bits on every CPU. half
 * outputs are rounded once.
 *
 * A point is outside if y < -1, y > H, x < -1, x > W, or one of them is NaN. Its value is 0, which
 * is larger than a negative value. A point between -1 and 0, or beyond the last pixel, has the
 * value of the nearest pixel of the border of the map. Of equal values the first is taken. A NaN at
 * step 0 is the result; a later NaN is never taken. If a sample touches an infinite or NaN pixel
 * with the weight 0, its value is NaN.
 *
 * If pool_size is above 4096, only the first and the last step within each pixel are sampled.
 * Along a border values are linear within a pixel, so that one of these two is the largest, up to
 * rounding. So the time of a call does not grow further with pool_size.
 *
 * Results have the same bits for any number of threads.
 *
 * @return The first of these that applies; outputs are untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL; a tensor has the wrong number of
 *     dims.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type or layout is wrong; a tensor is empty; the
 *     shapes do not fit together; pool_size is below 1.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: a data pointer is NULL; an output overlaps another tensor.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // input [1, 20, 30, 4 * 256], boxes [1, 600, 4] -> output, argmax_idx [1, 600, 4, 256]
 *     mluOpBorderAlignForward(handle, input_desc, input, boxes_desc, boxes, 10,
 *                             output_desc, output, argmax_desc, argmax);
 */
mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes, const int32_t pool_size,
    const mluOpTensorDescriptor_t output_desc, void *output,
    const mluOpTensorDescriptor_t argmax_idx_desc, void *argmax_idx);

/**
 * The backward operator of BorderAlign: the gradient of each border and channel goes to the point
 * of the step in argmax_idx, and from there to the four pixels around it, by their bilinear
 * weights.
 *
 * @param handle            The handle.
 * @param grad_output_desc  [N, K, 4, C] with K = H * W.
 * @param grad_output       The gradient of output.
 * @param boxes_desc        [N, K, 4].
 * @param boxes             The boxes given to mluOpBorderAlignForward.
 * @param argmax_idx_desc   [N, K, 4, C].
 * @param argmax_idx        The argmax_idx of mluOpBorderAlignForward, each in [0, pool_size].
 * @param pool_size         The pool_size given to mluOpBorderAlignForward: at least 1.
 * @param grad_input_desc   [N, H, W, 4 * C].
 * @param grad_input        Receives the gradient of the map; every element is written.
 *
 * grad_output, boxes and grad_input are all half or all float, argmax_idx is int32. All tensors are
 * contiguous, and all except boxes are NHWC. grad_input must not overlap an input.
 *
 * The point of step i is start + step * i, a product and then a sum in float. Its last bits may
 * differ from those of the forward operator, which adds the steps one by one. Sums are made in
 * float or wider, and rounded to half once. Nothing is added for a point outside the map, or to a
 * pixel with the weight 0, even if the gradient is infinite or NaN.
 *
 * Results have the same bits for any number of threads, whatever the atomics mode.
 *
 * @return The first of these that applies; grad_input is untouched unless the status is SUCCESS:
 *   - Those of mluOpBorderAlignForward, except the last one.
 *   - MLUOP_STATUS_BAD_PARAM: a value of argmax_idx is outside [0, pool_size]; the message names
 *     the first one.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // grad_output and argmax_idx [1, 600, 4, 256], boxes [1, 600, 4]
 *     // -> grad_input [1, 20, 30, 4 * 256]
 *     mluOpBorderAlignBackward(handle, grad_desc, grad_output, boxes_desc, boxes, argmax_desc,
 *                              argmax, 10, grad_input_desc, grad_input);
 */
mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input);

/* -------------------------------------------------------------------------- Masked im2col */

/**
 * Gets the number of bytes of workspace that mluOpMaskedIm2colForward needs. It is always 0.
 *
 * @param handle           The handle.
 * @param feature_desc     As for mluOpMaskedIm2colForward.
 * @param mask_h_idx_desc  As for mluOpMaskedIm2colForward.
 * @param mask_w_idx_desc  As for mluOpMaskedIm2colForward.
 * @param kernel_h         As for mluOpMaskedIm2colForward.
 * @param kernel_w         As for mluOpMaskedIm2colForward.
 * @param data_col_desc    As for mluOpMaskedIm2colForward.
 * @param workspace_size   Receives the number of bytes.
 *
 * @return workspace_size is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle, a descriptor or workspace_size is NULL.
 *   - Otherwise what mluOpMaskedIm2colForward would return for these descriptors and numbers.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc,
    size_t *workspace_size);

/**
 * Masked im2col: copies the windows of a map at chosen positions into the columns of a matrix. For
 * each position m,
 *
 *     data_col[(c * kernel_h + i) * kernel_w + j, m] =
 *         feature[0, c, mask_h_idx[m] - pad_h + i, mask_w_idx[m] - pad_w + j]
 *
 * and 0 where that is outside the map.
 *
 * @param handle           The handle.
 * @param feature_desc     [1, C, H, W], half or float, NCHW.
 * @param feature          The map.
 * @param mask_h_idx_desc  [M], int32.
 * @param mask_h_idx       Rows of the positions: any values, in any order.
 * @param mask_w_idx_desc  [M], int32.
 * @param mask_w_idx       Columns of the positions: any values, in any order.
 * @param kernel_h         Height of a window: at least 1.
 * @param kernel_w         Width of a window: at least 1.
 * @param pad_h            How many rows above its position a window begins: any value.
 * @param pad_w            How many columns left of its position a window begins: any value.
 * @param workspace        Working memory; NULL if workspace_size is 0.
 * @param workspace_size   Bytes of workspace: at least what
 *                         mluOpGetMaskedIm2colForwardWorkspaceSize gives.
 * @param data_col_desc    [C * kernel_h * kernel_w, M], the data type of feature.
 * @param data_col         Receives the result; every element is written. Must not overlap an
 *                         input or the workspace.
 *
 * All tensors are contiguous. Values are copied bit by bit, NaN included. Results are the same for
 * any number of threads. Positions in row-major order, as np.nonzero gives them, are fastest.
 *
 * @return The first of these that applies; data_col is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL; a tensor has the wrong number of
 *     dims, layout, data type or shape; a kernel size is below 1.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous, or has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: feature is empty.
 *   - MLUOP_STATUS_SUCCESS: there are no positions (M = 0); nothing is written.
 *   - MLUOP_STATUS_BAD_PARAM: workspace is NULL but its size is not 0, or it is too small; a data
 *     pointer is NULL; data_col overlaps another tensor or the workspace.
 *
 * Example:
 *
 *     // feature [1, 256, 200, 304], 20000 positions -> data_col [256 * 3 * 3, 20000]
 *     size_t size;
 *     mluOpGetMaskedIm2colForwardWorkspaceSize(handle, feature_desc, idx_desc, idx_desc, 3, 3,
 *                                              col_desc, &size);
 *     void *workspace = size > 0 ? malloc(size) : NULL;
 *     mluOpMaskedIm2colForward(handle, feature_desc, feature, idx_desc, rows, idx_desc, columns, 3,
 *                              3, 1, 1, workspace, size, col_desc, col);
 */
mluOpStatus_t MLUOP_WIN_API mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void *feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void *workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void *data_col);

/* -------------------------------------------------------------------------- Masked col2im */

/**
 * Gets the number of bytes of workspace that mluOpMaskedCol2imForward needs. It is always 0.
 *
 * @param handle           The handle.
 * @param col_desc         As for mluOpMaskedCol2imForward.
 * @param mask_h_idx_desc  As for mluOpMaskedCol2imForward.
 * @param mask_w_idx_desc  As for mluOpMaskedCol2imForward.
 * @param im_desc          As for mluOpMaskedCol2imForward.
 * @param workspace_size   Receives the number of bytes.
 *
 * @return workspace_size is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle, a descriptor or workspace_size is NULL.
 *   - Otherwise what mluOpMaskedCol2imForward would return for these descriptors.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const mluOpTensorDescriptor_t im_desc, size_t *workspace_size);

/**
 * Masked col2im: copies the columns of a matrix to chosen positions of a map of zeros,
 *
 *     im[0, c, mask_h_idx[m], mask_w_idx[m]] = col[c, m]
 *
 * If a position is given twice, the later m counts.
 *
 * @param handle           The handle.
 * @param col_desc         [C, M], half or float.
 * @param col              The columns.
 * @param mask_h_idx_desc  [M], int32.
 * @param mask_h_idx       Rows of the positions: 0 to H - 1, in any order.
 * @param mask_w_idx_desc  [M], int32.
 * @param mask_w_idx       Columns of the positions: 0 to W - 1.
 * @param workspace_size   Bytes of workspace: at least what
 *                         mluOpGetMaskedCol2imForwardWorkspaceSize gives.
 * @param workspace        Working memory; NULL if workspace_size is 0.
 * @param im_desc          [1, C, H, W], NCHW, the data type of col.
 * @param im               Receives the map; every element is written. Must not overlap an input
 *                         or the workspace.
 *
 * All tensors are contiguous. Values are copied bit by bit, NaN included. Results are the same for
 * any number of threads. Positions in row-major order, as np.nonzero gives them, are fastest.
 * Without positions (M = 0) im becomes 0; then col, the indices and the workspace may be NULL.
 *
 * @return The first of these that applies; im is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle or a descriptor is NULL; a tensor has the wrong number of
 *     dims, layout, data type or shape.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous, or has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: im is empty.
 *   - MLUOP_STATUS_BAD_PARAM: workspace is NULL but its size is not 0, or it is too small; a data
 *     pointer is NULL; im overlaps another tensor or the workspace.
 *   - MLUOP_STATUS_BAD_PARAM: a position is outside the map; the message names the first one.
 *
 * Example:
 *
 *     // col [256, 20000], 20000 positions -> im [1, 256, 200, 304]
 *     mluOpMaskedCol2imForward(handle, col_desc, col, idx_desc, rows, idx_desc, columns, 0, NULL,
 *                              im_desc, im);
 */
mluOpStatus_t MLUOP_WIN_API mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void *col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void *mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void *mask_w_idx,
    const size_t workspace_size, void *workspace, const mluOpTensorDescriptor_t im_desc, void *im);

/* ------------------------------------------------------------------------------------ Nms */

/** The parameters of mluOpNms. Opaque. */
typedef struct mluOpNmsStruct *mluOpNmsDescriptor_t;

/** What the four numbers of a box are: two corners, or the centre, the width and the height. */
typedef enum {
  MLUOP_NMS_BOX_DIAGONAL = 0, /**< x1, y1, x2, y2 */
  MLUOP_NMS_BOX_CENTER = 1    /**< x, y, width, height */
} mluOpNmsBoxPointMode_t;

/** What mluOpNms writes for each box that it selects. */
typedef enum {
  MLUOP_NMS_OUTPUT_TARGET_INDICES = 0,              /**< its index: [L] */
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 = 1, /**< score and coordinates in a row: [L, 5] */
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2 = 2, /**< the same in a column: [5, L] */
  MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS = 3       /**< image, class and index: [L, 3] */
} mluOpNmsOutputMode_t;

/** What a selected box does to the boxes that overlap it: removes them, or lowers their scores. */
typedef enum {
  MLUOP_NMS_HARD_NMS = 0,         /**< boxes that overlap too much are removed */
  MLUOP_NMS_SOFT_NMS_LINEAR = 1,  /**< their scores fall linearly */
  MLUOP_NMS_SOFT_NMS_GAUSSIAN = 2 /**< all scores fall by a Gaussian */
} mluOpNmsMethodMode_t;

/** With INCLUDE_BOUNDARY, the offset is added to the width and the height of a box. */
typedef enum {
  MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY = 0, /**< end - start */
  MLUOP_NMS_ALGO_INCLUDE_BOUNDARY = 1  /**< end - start + offset */
} mluOpNmsAlgo_t;

/**
 * Creates a descriptor of the parameters of mluOpNms. It must be set before it is used.
 *
 * @param desc  Receives the descriptor; destroy it with mluOpDestroyNmsDescriptor.
 *
 * @return MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCreateNmsDescriptor(mluOpNmsDescriptor_t *desc);

/**
 * Destroys a descriptor.
 *
 * @param desc  The descriptor; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyNmsDescriptor(mluOpNmsDescriptor_t desc);

/**
 * Sets the parameters of mluOpNms. A descriptor may be set again, and be used with several handles.
 *
 * @param nms_desc                The descriptor.
 * @param box_mode                What the numbers of a box are.
 * @param output_mode             What is written for a selected box.
 * @param algo                    With INCLUDE_BOUNDARY, width and height are larger by offset.
 * @param method_mode             Hard, soft linear or soft Gaussian.
 * @param iou_threshold           Hard: boxes with a larger IoU are removed. Linear: boxes with at
 *                                least this IoU get a lower score. Gaussian: not used.
 * @param soft_nms_sigma          The width of the Gaussian: at least 0. With 0 boxes are removed as
 *                                in the hard method.
 * @param max_output_size         The largest number of boxes selected for each image and class: at
 *                                least 0.
 * @param confidence_threshold    Only boxes with a score above it are selected.
 * @param offset                  0 or 1.
 * @param input_layout            0: the numbers of a box are next to each other. 1: each number has
 *                                a plane of its own.
 * @param pad_to_max_output_size  Whether zeros are written after the results.
 *
 * @return MLUOP_STATUS_BAD_PARAM if a value is not one of these, or a threshold is NaN; the
 *         descriptor keeps the values it had.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetNmsDescriptor(
    mluOpNmsDescriptor_t nms_desc, const mluOpNmsBoxPointMode_t box_mode,
    const mluOpNmsOutputMode_t output_mode, const mluOpNmsAlgo_t algo,
    const mluOpNmsMethodMode_t method_mode, const float iou_threshold, const float soft_nms_sigma,
    const int max_output_size, const float confidence_threshold, const float offset,
    const int input_layout, const bool pad_to_max_output_size);

/**
 * Gets the number of bytes of workspace that mluOpNms needs. It is always 0.
 *
 * @param handle           The handle.
 * @param nms_desc         The parameters.
 * @param boxes_desc       As for mluOpNms.
 * @param confidence_desc  As for mluOpNms.
 * @param size             Receives the number of bytes.
 *
 * @return What mluOpNms would return for these descriptors.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetNmsWorkspaceSize(mluOpHandle_t handle,
                                                     mluOpNmsDescriptor_t nms_desc,
                                                     const mluOpTensorDescriptor_t boxes_desc,
                                                     const mluOpTensorDescriptor_t confidence_desc,
                                                     size_t *size);

/**
 * Non-maximum suppression: selects boxes from the highest score to the lowest. Boxes that overlap a
 * selected box are removed, or their scores are lowered.
 *
 * A box has the corners (x1, y1, x2, y2). On each axis they are sorted first, so that an inverted
 * box is valid. With d = offset for INCLUDE_BOUNDARY and 0 otherwise,
 *
 *     w = max(min(x2, x2') - max(x1, x1') + d, 0), and h in the same way
 *     area = (x2 - x1 + d) * (y2 - y1 + d)
 *     IoU = w * h / (area + area' - w * h)
 *
 * For each image and class, these two steps are repeated until max_output_size boxes are selected,
 * or no box with a score above confidence_threshold is left:
 *   - The box with the highest score above confidence_threshold is selected. Of equal scores (-0
 *     equals 0), the one with the lowest index is selected. A NaN score is never selected.
 *   - The other boxes are changed by their IoU with the selected box. Hard: those with
 *     IoU > iou_threshold are removed. Linear: where IoU >= iou_threshold,
 *     score = score * (1 - IoU). Gaussian: score = score * exp(-(IoU * IoU) / (2 * sigma)). An IoU
 *     that is NaN changes nothing.
 *
 * | boxes; in layout 1      | confidence | images, classes | output modes            |
 * |-------------------------|------------|-----------------|-------------------------|
 * | [n, 4]; [4, n]          | [n]        | 1, 1            | all                     |
 * | [B, n, 4]; [B, 4, n]    | [B, C, n]  | B, C            | 3; all if both are 1    |
 * | [n, 7]; [7, n]          | both NULL  | 1, 1            | as mode 0               |
 *
 * Boxes of seven numbers are (x, y, z, dx, dy, dz, heading): rectangles dx by dy around (x, y),
 * rotated by heading. The best box comes first. Of the parameters only iou_threshold, input_layout
 * and padding are used for them. A box with a number that is not finite, or with an area of 0,
 * overlaps no other box. If an IoU is within 1e-4 of the threshold, either decision is allowed.
 *
 * @param handle           The handle.
 * @param nms_desc         The parameters.
 * @param boxes_desc       Half or float, as in the table.
 * @param boxes            The boxes.
 * @param confidence_desc  The type of boxes; half scores may come with float boxes [n, 4].
 * @param confidence       The scores.
 * @param workspace        Not used; may be NULL.
 * @param workspace_size   Bytes of workspace.
 * @param output_desc      int32 or uint32 in modes 0 and 3, otherwise the type of boxes. It has
 *                         room for L results, at least M*B*C. M is max_output_size with padding,
 *                         and otherwise the smaller of max_output_size and n (with seven numbers:
 *                         n).
 * @param output           Receives the results of each image and class, in the order of selection,
 *                         without gaps. Scores are those at selection; the numbers of boxes are
 *                         copied as they were given. With padding M*B*C results are written, with
 *                         zeros after the last one. The rest of output is untouched.
 * @param output_size      Receives the number of results, one int32.
 *
 * Tensors are contiguous; their layouts are ignored. Every operation is float and rounded once: the
 * results are the same on every CPU and for any number of threads.
 *
 * @return The first of these that applies; output and output_size are untouched unless the status
 *         is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle, a descriptor other than confidence_desc, or boxes, output or
 *     output_size is NULL; nms_desc has not been set; the shapes are not those of the table;
 *     confidence is missing, or given for boxes of seven numbers.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type is wrong.
 *   - MLUOP_STATUS_NOT_SUPPORTED: several images or classes in output mode 0, 1 or 2.
 *   - MLUOP_STATUS_BAD_PARAM: output has a wrong shape, or is too small.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: a pointer is not aligned to its element; output, output_size or the
 *     workspace overlaps another of them or an input.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // boxes [1000, 4], scores [1000]: the best 100 with an IoU of at most 0.5
 *     mluOpSetNmsDescriptor(nms_desc, MLUOP_NMS_BOX_DIAGONAL, MLUOP_NMS_OUTPUT_TARGET_INDICES,
 *                           MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY, MLUOP_NMS_HARD_NMS, 0.5f, 0.0f, 100,
 *                           0.05f, 0.0f, 0, false);
 *     mluOpNms(handle, nms_desc, boxes_desc, boxes, scores_desc, scores, NULL, 0, indices_desc,
 *              indices, &count);
 */
mluOpStatus_t MLUOP_WIN_API mluOpNms(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                                     const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                     const mluOpTensorDescriptor_t confidence_desc,
                                     const void *confidence, void *workspace, size_t workspace_size,
                                     const mluOpTensorDescriptor_t output_desc, void *output,
                                     void *output_size);

/* ------------------------------------------------------------------------------------ DCN */

/** The parameters of deformable convolution. Opaque. */
typedef struct cnnlDCNStruct *mluOpDCNDescriptor_t;

/**
 * Creates a descriptor of the parameters of deformable convolution. It must be set before it is
 * used.
 *
 * @param dcn_desc  Receives the descriptor; destroy it with mluOpDestroyDCNDescriptor.
 *
 * @return MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCreateDCNDescriptor(mluOpDCNDescriptor_t *dcn_desc);

/**
 * Destroys a descriptor.
 *
 * @param dcn_desc  The descriptor; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyDCNDescriptor(mluOpDCNDescriptor_t dcn_desc);

/**
 * Sets the parameters of deformable convolution. A descriptor may be set again, and be used with
 * several handles.
 *
 * @param dcn_desc          The descriptor.
 * @param dimNb             4.
 * @param pad               Four numbers: pixels of padding at the top, bottom, left and right. At
 *                          least 0.
 * @param stride            Two numbers, for height and width: at least 1.
 * @param dilation          Two numbers, for height and width: at least 1.
 * @param deformable_group  Number of groups of input channels that have their own offsets: at least
 *                          1.
 * @param conv_group        Number of groups of the convolution: at least 1. The two kinds of groups
 *                          are independent of each other.
 * @param im2col_step       At least 1; the number of images must be a multiple of it. It does not
 *                          change the result.
 * @param compute_type      MLUOP_DTYPE_FLOAT.
 *
 * @return MLUOP_STATUS_BAD_PARAM if a pointer is NULL or a value is not one of these; the
 *         descriptor keeps the values it had. There is no upper limit.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetDCNDescriptor(mluOpDCNDescriptor_t dcn_desc, int dimNb,
                                                  const int pad[], const int stride[],
                                                  const int dilation[], int deformable_group,
                                                  int conv_group, int im2col_step,
                                                  const mluOpDataType_t compute_type);

/**
 * Gets the number of bytes of workspace that mluOpDCNForward needs. It is always 0.
 *
 * @param handle          The handle.
 * @param dcn_desc        The parameters.
 * @param input_desc      As for mluOpDCNForward.
 * @param offset_desc     The offsets.
 * @param mask_desc       The mask; may be NULL.
 * @param filter_desc     The filters.
 * @param bias_desc       The bias; may be NULL.
 * @param output_desc     The result.
 * @param workspace_size  Receives the number of bytes.
 *
 * @return What mluOpDCNForward would return for these descriptors.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t filter_desc,
    const mluOpTensorDescriptor_t bias_desc, const mluOpTensorDescriptor_t output_desc,
    size_t *workspace_size);

/**
 * Deformable convolution: a convolution whose taps are moved by offsets and, if there is a mask,
 * multiplied by weights of their own.
 *
 * The padding is pt, pb, pl and pr (top, bottom, left, right), the stride sh and sw, the dilation
 * dh and dw. For output pixel (n, y, x) and tap (i, j) of deformable group g, in float with one
 * rounding per operation:
 *
 *     v = float(y*sh - pt + i*dh) + offset[n,y,x, ((g*kh+i)*kw+j)*2]
 *     u = float(x*sw - pl + j*dw) + offset[n,y,x, ((g*kh+i)*kw+j)*2 + 1]
 *     column[i,j,c] = bilinear(input[n], v, u, c) * mask[n,y,x, (g*kh+i)*kw+j]
 *     output[n,y,x,o] = bias[o] + sum over i, j, c of filter[o,i,j,c] * column[i,j, c of o's group]
 *
 * Outside the map there are zeros. A sample with -1 < v < H and -1 < u < W is the sum of the pixels
 * around it that are on the map, times their weights, including weights of 0 (so that an infinite
 * pixel with the weight 0 gives NaN). Any other sample, also one at NaN or infinity, is +0,
 * whatever the mask is.
 *
 * @param handle          The handle.
 * @param dcn_desc        The parameters.
 * @param input_desc      [N, H, W, C] of MLUOP_LAYOUT_NHWC, half or float. The other tensors have
 *                        the same data type.
 * @param input           The map.
 * @param offset_desc     [N, ho, wo, deformable_group*kh*kw*2], NHWC, with
 *                        ho = (H + pt + pb - (dh*(kh-1)+1)) / sh + 1, rounded down, and wo in the
 *                        same way.
 * @param offset          The offsets: for each tap the row, then the column. Any value is allowed.
 * @param mask_desc       [N, ho, wo, deformable_group*kh*kw], NHWC; NULL for all ones.
 * @param mask            The mask; NULL without mask_desc.
 * @param filter_desc     [co, kh, kw, C/conv_group], NHWC.
 * @param filter          The filters.
 * @param bias_desc       [co], MLUOP_LAYOUT_ARRAY; NULL for none.
 * @param bias            The bias; NULL without bias_desc.
 * @param workspace       Not used; may be NULL with a workspace_size of 0.
 * @param workspace_size  Bytes of workspace.
 * @param output_desc     [N, ho, wo, co], NHWC.
 * @param output          Receives the result.
 *
 * Half is computed in float, and rounded once, at the end. Results have the same bits for any
 * number of threads and any im2col_step, and if a batch is computed in parts.
 *
 * @return The first of these that applies; output is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle is NULL; workspace is NULL, but workspace_size is not 0;
 *     dcn_desc is NULL or has not been set; a descriptor that is not optional is NULL; a tensor has
 *     a wrong number of dims, layout, data type or shape, or no elements; N is not a multiple of
 *     im2col_step, or C or co of the number of groups; the dilated filter is larger than the padded
 *     map.
 *   - MLUOP_STATUS_NOT_SUPPORTED: the on-chip data type of input or filter is neither INVALID nor
 *     the data type of the tensor; a tensor is not contiguous, or has 2^31 elements or more.
 *   - MLUOP_STATUS_BAD_PARAM: an optional tensor has a descriptor but no data, or data but no
 *     descriptor; a pointer is not aligned to its element; output overlaps another tensor or the
 *     workspace.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // input [1, 50, 76, 256], filters [256, 3, 3, 256], with a mask, no bias
 *     const int pad[] = {1, 1, 1, 1}, one[] = {1, 1};
 *     mluOpSetDCNDescriptor(dcn_desc, 4, pad, one, one, 1, 1, 1, MLUOP_DTYPE_FLOAT);
 *     mluOpDCNForward(handle, dcn_desc, input_desc, input, offset_desc, offset, mask_desc, mask,
 *                     filter_desc, filter, NULL, NULL, NULL, 0, output_desc, output);
 */
mluOpStatus_t MLUOP_WIN_API
mluOpDCNForward(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                const mluOpTensorDescriptor_t input_desc, const void *input,
                const mluOpTensorDescriptor_t offset_desc, const void *offset,
                const mluOpTensorDescriptor_t mask_desc, const void *mask,
                const mluOpTensorDescriptor_t filter_desc, const void *filter,
                const mluOpTensorDescriptor_t bias_desc, const void *bias, void *workspace,
                size_t workspace_size, const mluOpTensorDescriptor_t output_desc, void *output);

/**
 * Gets the number of bytes of workspace that mluOpDCNBackwardData needs. It is always 0. (The name
 * is spelled as in the original API.)
 *
 * @param handle            The handle.
 * @param dcn_desc          The parameters.
 * @param input_desc        As for mluOpDCNBackwardData.
 * @param offset_desc       The offsets.
 * @param mask_desc         The mask; NULL if grad_mask_desc is NULL.
 * @param filter_desc       The filters.
 * @param grad_output_desc  Gradient of the output.
 * @param grad_input_desc   Gradient of the input.
 * @param grad_offset_desc  Gradient of the offsets.
 * @param grad_mask_desc    Gradient of the mask; NULL if mask_desc is NULL.
 * @param workspace_size    Receives the number of bytes.
 *
 * @return What mluOpDCNBackwardData would return for these descriptors.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBakcwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t filter_desc,
    const mluOpTensorDescriptor_t grad_output_desc, const mluOpTensorDescriptor_t grad_input_desc,
    const mluOpTensorDescriptor_t grad_offset_desc, const mluOpTensorDescriptor_t grad_mask_desc,
    size_t *workspace_size);

/**
 * The gradients of mluOpDCNForward with respect to the input, the offsets and the mask.
 *
 * With the samples and names of mluOpDCNForward, for output pixel, tap and channel,
 *
 *     dcol = sum over the o of c's group of filter[o,i,j,c] * grad_output[n,y,x,o]
 *     grad_mask = sum over the group's channels of dcol * bilinear(input[n], v, u, c)
 *     grad_offset = mask * sum over the group's channels of dcol * d bilinear / dv (and / du)
 *     grad_input[n, corner, c] += weight of the corner * mask * dcol
 *
 * The derivative is that of the map with zeros around it; at whole coordinates it is the derivative
 * towards larger ones. Nothing is added to a corner with the weight 0, even if dcol is NaN. For a
 * sample outside, grad_offset and grad_mask are 0 and nothing is added to grad_input, whatever
 * grad_output is.
 *
 * @param handle            The handle.
 * @param dcn_desc          The parameters.
 * @param input_desc        As for mluOpDCNForward.
 * @param input             The map.
 * @param offset_desc       As for mluOpDCNForward.
 * @param offset            The offsets.
 * @param mask_desc         As for mluOpDCNForward; NULL without a mask; then grad_mask_desc is NULL
 *                          too.
 * @param mask              The mask.
 * @param filter_desc       As for mluOpDCNForward.
 * @param filter            The filters.
 * @param grad_output_desc  Like the output of mluOpDCNForward.
 * @param grad_output       Its gradient.
 * @param workspace         Not used; may be NULL with a workspace_size of 0.
 * @param workspace_size    Bytes of workspace.
 * @param grad_input_desc   Like input.
 * @param grad_input        Receives the gradient; every element is written.
 * @param grad_offset_desc  Like offset.
 * @param grad_offset       Receives the gradient.
 * @param grad_mask_desc    Like mask.
 * @param grad_mask         Receives the gradient.
 *
 * Results have the same bits for any number of threads, and if a batch is computed in parts. Half
 * is computed in float, and rounded once, at the end.
 *
 * @return As mluOpDCNForward, for these tensors; the on-chip data types that are checked are those
 *         of filter and grad_output. Among the first checks, MLUOP_STATUS_BAD_PARAM if only one of
 *         mask_desc and grad_mask_desc is NULL. All outputs are untouched unless the status is
 *         SUCCESS.
 *
 * Example:
 *
 *     // gradients of input, offset and mask for the example of mluOpDCNForward
 *     mluOpDCNBackwardData(handle, dcn_desc, input_desc, input, offset_desc, offset, mask_desc,
 *                          mask, filter_desc, filter, output_desc, grad_output, NULL, 0,
 *                          input_desc, grad_input, offset_desc, grad_offset, mask_desc, grad_mask);
 */
mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardData(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t offset_desc, const void *offset,
    const mluOpTensorDescriptor_t mask_desc, const void *mask,
    const mluOpTensorDescriptor_t filter_desc, const void *filter,
    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output, void *workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_input_desc, void *grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void *grad_offset,
    const mluOpTensorDescriptor_t grad_mask_desc, void *grad_mask);

/**
 * Gets the number of bytes of workspace that mluOpDCNBackwardWeight needs. It is always 0.
 *
 * @param handle            The handle.
 * @param dcn_desc          The parameters.
 * @param input_desc        As for mluOpDCNBackwardWeight.
 * @param offset_desc       The offsets.
 * @param mask_desc         The mask; may be NULL.
 * @param grad_output_desc  Gradient of the output.
 * @param grad_filter_desc  Gradient of the filters.
 * @param grad_bias_desc    Gradient of the bias; may be NULL.
 * @param workspace_size    Receives the number of bytes.
 *
 * @return What mluOpDCNBackwardWeight would return for these descriptors.
 */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBackwardWeightWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t offset_desc,
    const mluOpTensorDescriptor_t mask_desc, const mluOpTensorDescriptor_t grad_output_desc,
    const mluOpTensorDescriptor_t grad_filter_desc, const mluOpTensorDescriptor_t grad_bias_desc,
    size_t *workspace_size);

/**
 * The gradients of mluOpDCNForward with respect to the filters and the bias.
 *
 *     grad_filter[o,i,j,c] = sum over the pixels of grad_output[n,y,x,o] * column[i,j,c]
 *     grad_bias[o] = sum over the pixels of grad_output[n,y,x,o]
 *
 * with the columns of mluOpDCNForward. The columns of samples outside are 0.
 *
 * @param handle            The handle.
 * @param dcn_desc          The parameters.
 * @param input_desc        As for mluOpDCNForward.
 * @param input             The map.
 * @param offset_desc       As for mluOpDCNForward.
 * @param offset            The offsets.
 * @param mask_desc         As for mluOpDCNForward; may be NULL.
 * @param mask              The mask.
 * @param grad_output_desc  Like the output of mluOpDCNForward.
 * @param grad_output       Its gradient.
 * @param workspace         Not used; may be NULL with a workspace_size of 0.
 * @param workspace_size    Bytes of workspace.
 * @param grad_filter_desc  Like filter of mluOpDCNForward.
 * @param grad_filter       Receives the gradient.
 * @param grad_bias_desc    Like bias of mluOpDCNForward; NULL if its gradient is not wanted.
 * @param grad_bias         Receives the gradient.
 *
 * Results have the same bits for any number of threads. Half is computed in float, and rounded
 * once, at the end.
 *
 * @return As mluOpDCNForward, for these tensors; the on-chip data types that are checked are those
 *         of input and grad_output. All outputs are untouched unless the status is SUCCESS.
 *
 * Example:
 *
 *     // gradients of the filters for the example of mluOpDCNForward
 *     mluOpDCNBackwardWeight(handle, dcn_desc, input_desc, input, offset_desc, offset, mask_desc,
 *                            mask, output_desc, grad_output, NULL, 0, filter_desc, grad_filter,
 *                            NULL, NULL);
 */
mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardWeight(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
    const mluOpTensorDescriptor_t input_desc, const void *input,
    const mluOpTensorDescriptor_t offset_desc, const void *offset,
    const mluOpTensorDescriptor_t mask_desc, const void *mask,
    const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output, void *workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t grad_filter_desc, void *grad_filter,
    const mluOpTensorDescriptor_t grad_bias_desc, void *grad_bias);

/* ------------------------------------------------------------------------------- RoIAlign */

/** The parameters of mluOpRoiAlignForward_v2. Opaque. */
typedef struct mluOpRoiAlignForwardStruct *mluOpRoiAlignForwardDescriptor_t;

/**
 * Creates a descriptor of the parameters of mluOpRoiAlignForward_v2. It must be set before it is
 * used.
 *
 * @param desc  Receives the descriptor; destroy it with mluOpDestroyRoiAlignForwardDescriptor.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL; MLUOP_STATUS_ALLOC_FAILED if there is no memory.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCreateRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t *desc);

/**
 * Destroys a descriptor.
 *
 * @param desc  The descriptor; it must not be used again.
 *
 * @return MLUOP_STATUS_BAD_PARAM for NULL.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpDestroyRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t desc);

/**
 * Sets the parameters of mluOpRoiAlignForward_v2. A descriptor may be set again, and be used with
 * several handles.
 *
 * @param roialign_desc   The descriptor.
 * @param pooled_height   Number of rows of bins: at least 1.
 * @param pooled_width    Number of bins in a row: at least 1.
 * @param sampling_ratio  Samples of a bin along each axis; 0 or less: about one for each pixel.
 * @param spatial_scale   Pixels of the map per unit of the coordinates of boxes. Any number.
 * @param pool_mode       0: the maximum of the samples. 1: their mean.
 * @param aligned         True: coordinate 0 is the edge of the first pixel. False: it is its
 *                        centre, and every box is at least 1 x 1 pixels.
 *
 * @return MLUOP_STATUS_BAD_PARAM if roialign_desc is NULL, pooled_height or pooled_width is below
 *         1, or pool_mode is neither 0 nor 1; the descriptor keeps the values it had.
 */
mluOpStatus_t MLUOP_WIN_API mluOpSetRoiAlignForwardDescriptor_v2(
    mluOpRoiAlignForwardDescriptor_t roialign_desc, const int pooled_height, const int pooled_width,
    const int sampling_ratio, const float spatial_scale, const int pool_mode, const bool aligned);

/**
 * The forward operator of RoIAlign: each box is divided into bins, and the result is the mean or
 * the maximum of bilinear samples on a grid in the bin.
 *
 * Row r of boxes is (image, x1, y1, x2, y2). Let shift be 0.5 if aligned and 0 if not. On the map
 * the box starts at (x1, y1) * spatial_scale - shift and ends at (x2, y2) * spatial_scale - shift.
 * Its size is roi_w x roi_h. If not aligned, a smaller or NaN width or height becomes 1. A bin is
 * bin_w = roi_w / pooled_width wide and bin_h = roi_h / pooled_height high. Bin (ph, pw) has
 * grid_h x grid_w samples, at
 *
 *     y = y1 + ph * bin_h + (iy + 0.5) * bin_h / grid_h
 *     x = x1 + pw * bin_w + (ix + 0.5) * bin_w / grid_w
 *
 * grid_h and grid_w are sampling_ratio. If that is 0 or less, the grid is adaptive: they are bin_h
 * and bin_w, rounded up: at most 2^31 - 1, and 0 for a negative size or NaN.
 *
 * @param handle         The handle.
 * @param roialign_desc  The parameters.
 * @param input_desc     [N, H, W, C], NHWC.
 * @param input          The map.
 * @param boxes_desc     [R, 5], any layout.
 * @param boxes          The boxes. The image index, truncated toward zero, must be 0 to N-1.
 *                       Coordinates may be inverted, outside the map, NaN, infinite or huge.
 * @param output_desc    [R, pooled_height, pooled_width, C], NHWC.
 * @param output         Receives the means or maxima.
 * @param argmax_x_desc  Like output_desc. For means this and the next three are ignored.
 * @param argmax_x       Receives the x of the sample that is the maximum, not clamped to the map,
 *                       rounded to the data type.
 * @param argmax_y_desc  Like output_desc.
 * @param argmax_y       Receives the y of that sample.
 *
 * Tensors are all half or all float, and contiguous. No output may overlap another tensor.
 *
 * Coordinates are computed in float with one rounding per operation, in the order written here:
 * every CPU samples the same points. Half results are rounded once.
 *
 * A sample is outside if y < -1, y > H, x < -1, x > W, or one of them is NaN: its value is 0. A
 * sample between -1 and 0, or beyond the last pixel, has the value of the nearest pixel of the
 * border. If a sample touches an infinite or NaN pixel with the weight 0, its value is NaN.
 *
 * Means are sums in float or wider, divided by max(grid_h * grid_w, 1): an empty grid gives 0.
 *
 * For maxima, samples are compared row by row. Of equal values the first is taken, and a NaN only
 * if all are NaN; then it is the first sample. An empty grid gives 0, and -1 for argmax_x and
 * argmax_y. Values are float, w1*v1 + w2*v2 + w3*v3 + w4*v4 with one rounding per operation: every
 * CPU finds the same maximum. Of all samples outside, only the first is compared, so the time of a
 * call is bounded by the sizes of the tensors, for any box.
 *
 * Results have the same bits for any number of threads.
 *
 * @return The first of these that applies; outputs are untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle, roialign_desc, another descriptor or a data pointer is NULL;
 *     roialign_desc has not been set; the layout or number of dims of input, output, argmax_x or
 *     argmax_y, or the number of dims of boxes, is wrong.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type is wrong; shapes do not fit together.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more; sampling_ratio is above 128
 *     for maxima.
 *   - MLUOP_STATUS_SUCCESS, with nothing written: output is empty, because R or C is 0.
 *   - MLUOP_STATUS_BAD_PARAM: input is empty; a data pointer is not aligned to its elements; an
 *     output overlaps another tensor; the image index of a row of boxes is not 0 to N-1.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 *
 * Example:
 *
 *     // input [2, 200, 304, 256], boxes [1000, 5] -> output [1000, 7, 7, 256]
 *     mluOpSetRoiAlignForwardDescriptor_v2(roialign_desc, 7, 7, 2, 0.25f, 1, true);
 *     mluOpRoiAlignForward_v2(handle, roialign_desc, input_desc, input, boxes_desc, boxes,
 *                             output_desc, output, NULL, NULL, NULL, NULL);
 */
mluOpStatus_t MLUOP_WIN_API
mluOpRoiAlignForward_v2(mluOpHandle_t handle, const mluOpRoiAlignForwardDescriptor_t roialign_desc,
                        const mluOpTensorDescriptor_t input_desc, const void *input,
                        const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                        const mluOpTensorDescriptor_t output_desc, void *output,
                        const mluOpTensorDescriptor_t argmax_x_desc, void *argmax_x,
                        const mluOpTensorDescriptor_t argmax_y_desc, void *argmax_y);

/**
 * The backward operator of RoIAlign for means: mluOpRoiAlignBackward_v2 with a pool_mode of 1 and
 * without argmax_x and argmax_y. Only the order of the parameters differs.
 *
 * @param handle            The handle.
 * @param spatial_scale     Pixels of the map per unit of the coordinates of boxes.
 * @param sampling_ratio    Samples of a bin along each axis; 0 or less: about one for each pixel.
 * @param aligned           As for mluOpSetRoiAlignForwardDescriptor_v2.
 * @param grads_desc        [R, pooled_height, pooled_width, C], NHWC.
 * @param grads             The gradient of output.
 * @param boxes_desc        [R, 5], any layout.
 * @param boxes             The boxes.
 * @param grads_image_desc  [N, H, W, C], NHWC.
 * @param grads_image       Receives the gradient of input. Every element is overwritten.
 *
 * @return As mluOpRoiAlignBackward_v2.
 */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward(
    mluOpHandle_t handle, const float spatial_scale, const int sampling_ratio, const bool aligned,
    const mluOpTensorDescriptor_t grads_desc, const void *grads,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t grads_image_desc, void *grads_image);

/**
 * The backward operator of RoIAlign: the gradient of mluOpRoiAlignForward_v2 for its input.
 *
 * For means, each sample that is not outside adds its bilinear weights times grads / (grid_h *
 * grid_w) to the four pixels around it. For maxima, each element of grads is added to the four
 * pixels around the stored (argmax_y, argmax_x), times their weights; of the boxes only the image
 * index is used.
 *
 * @param handle            The handle.
 * @param grads_desc        [R, pooled_height, pooled_width, C], NHWC.
 * @param grads             The gradient of output.
 * @param boxes_desc        [R, 5], any layout.
 * @param boxes             As for mluOpRoiAlignForward_v2.
 * @param argmax_x_desc     Like grads_desc. For means this and the next three are ignored.
 * @param argmax_x          The argmax_x of mluOpRoiAlignForward_v2. Any number is allowed.
 * @param argmax_y_desc     Like grads_desc.
 * @param argmax_y          The argmax_y of mluOpRoiAlignForward_v2. Nothing is added where it is
 *                          -1, which stands for an empty grid.
 * @param spatial_scale     As for mluOpSetRoiAlignForwardDescriptor_v2.
 * @param sampling_ratio    As for mluOpSetRoiAlignForwardDescriptor_v2; ignored for maxima.
 * @param aligned           As for mluOpSetRoiAlignForwardDescriptor_v2.
 * @param pool_mode         0: maxima. 1: means.
 * @param grads_image_desc  [N, H, W, C], NHWC.
 * @param grads_image       Receives the gradient of input. Every element is overwritten, with 0 if
 *                          there are no boxes (R = 0).
 *
 * Tensors are all half or all float, and contiguous. grads_image must not overlap another
 * tensor.
 *
 * A sample outside is skipped: an infinite or NaN gradient reaches no element through it.
 * Results have the same bits for any number of threads; MLUOP_ATOMICS_ALLOWED changes nothing.
 *
 * @return The first of these that applies; grads_image is untouched unless the status is SUCCESS:
 *   - MLUOP_STATUS_BAD_PARAM: handle, a descriptor or a data pointer is NULL; pool_mode is neither
 *     0 nor 1; the layout or number of dims of a tensor is wrong.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor is not contiguous.
 *   - MLUOP_STATUS_BAD_PARAM: a data type is wrong; shapes do not fit together; pooled_height
 *     or pooled_width is 0.
 *   - MLUOP_STATUS_NOT_SUPPORTED: a tensor has 2^31 elements or more.
 *   - MLUOP_STATUS_SUCCESS, with nothing written: grads_image is empty, and R or C is 0.
 *   - MLUOP_STATUS_BAD_PARAM: grads_image is empty in any other case; a data pointer is not aligned
 *     to its elements; grads_image overlaps another tensor; the image index of a row of boxes is
 *     not 0 to N-1.
 *   - MLUOP_STATUS_ALLOC_FAILED: not enough working memory.
 */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grads_desc, const void *grads,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_x_desc, const void *argmax_x,
    const mluOpTensorDescriptor_t argmax_y_desc, const void *argmax_y, const float spatial_scale,
    const int sampling_ratio, const bool aligned, const int pool_mode,
    const mluOpTensorDescriptor_t grads_image_desc, void *grads_image);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_H_ */
