/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLU_OP_CPU_H_
#define MLU_OP_CPU_H_

/**
 * @file mlu_op_cpu.h
 * What this CPU library adds to the mluOp API. Nothing in `mlu_op.h` depends on it.
 */

#include "mlu_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin: read by the Python binding; no preprocessor lines until "cdef end". */

/** The severity of a log line. A line is logged if its level is at least the minimum level. */
typedef enum {
  MLUOP_CPU_LOG_INFO = 0,    /**< information */
  MLUOP_CPU_LOG_WARNING = 1, /**< a warning */
  MLUOP_CPU_LOG_ERROR = 2,   /**< a call has failed */
  MLUOP_CPU_LOG_OFF = 3      /**< as a minimum level: nothing */
} mluOpCpuLogLevel_t;

/**
 * A function that receives one log line.
 *
 * @param level      The severity of the line.
 * @param message    The text, NUL-terminated, without a newline; valid only during the call.
 * @param user_data  The pointer given to mluOpCpuSetLogCallback.
 *
 * It is called on the thread that made the failing call. Several threads may call it at the same
 * time. It must return. It may call every function of this library. If such a call fails, its error
 * is not logged, and afterwards the last error message is again the one that is being logged.
 */
typedef void (*mluOpCpuLogCallback_t)(mluOpCpuLogLevel_t level, const char *message,
                                      void *user_data);

/**
 * Returns the message of the last error on the calling thread. It says which function and argument
 * failed, what was given and what was expected.
 *
 * @return The message, never NULL; "" if no call has failed on this thread. A successful call does
 *         not change it. It is valid until the next failing call on the same thread.
 */
const char *MLUOP_WIN_API mluOpCpuGetLastErrorMessage(void);

/**
 * Sends log lines to a function instead of stderr, for the whole process.
 *
 * @param callback   The function; NULL restores the default (one line per message on stderr).
 * @param user_data  A pointer that is passed to the callback.
 *
 * It may be called at any time. When it returns, no other thread is in the replaced callback, and
 * none will enter it: its user_data may be freed. Because it waits for these threads, the caller
 * must not hold a lock that the callback takes. Called from a callback, it does not wait.
 *
 * @return MLUOP_STATUS_SUCCESS.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetLogCallback(mluOpCpuLogCallback_t callback, void *user_data);

/**
 * Sets the minimum level that is logged, for the whole process. The environment variable
 * MLUOP_MIN_VLOG_LEVEL sets the initial level (0 info, 1 warning, 2 error, 3 or more: nothing is
 * logged); without it, that is MLUOP_CPU_LOG_WARNING. Any other text is not used, and a line on
 * stderr says so.
 *
 * @param level  The level.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetLogLevel(mluOpCpuLogLevel_t level);

/**
 * Returns the minimum level that is logged.
 *
 * @return The level.
 */
mluOpCpuLogLevel_t MLUOP_WIN_API mluOpCpuGetLogLevel(void);

/**
 * Sets how many threads the operators called with this handle may use.
 *
 * @param handle       The handle.
 * @param num_threads  The number; 0 restores the default: every core that the process may use, or
 *                     OMP_NUM_THREADS if that is set. The largest number used is four for each
 *                     processor that the process could run on when the handle was created. Results
 *                     do not depend on the number. Small calls use fewer threads.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a negative number.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetNumThreads(mluOpHandle_t handle, int num_threads);

/**
 * Gets the number of threads that the next operator called with this handle may use.
 *
 * @param handle       The handle.
 * @param num_threads  Receives the number: 1 in a forked child, in a parallel region of OpenMP
 *                     (unless nested regions are allowed) and in a build without threads; never
 *                     more than OMP_THREAD_LIMIT.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a NULL num_threads.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuGetNumThreads(mluOpHandle_t handle, int *num_threads);

/**
 * Decides whether a running operator continues.
 *
 * @param user_data  The pointer given to mluOpCpuSetInterruptCheck.
 *
 * It is called on the thread that called the operator, with the floating-point state of that
 * thread. It must return. It may call every function of this library, but must not use the handle
 * of the operator that asks.
 *
 * @return 0 to continue; any other value to end the operator.
 */
typedef int (*mluOpCpuInterruptCheck_t)(void *user_data);

/**
 * Sets a function that ends long calls, for example after Ctrl-C. Operators called with this handle
 * ask it while they run. When it returns another value than 0, the operator leaves the rest of its
 * work undone and returns MLUOP_STATUS_EXECUTION_FAILED. The contents of the outputs are then
 * undefined. Nothing else has changed, and the handle can be used as before.
 *
 * @param handle     The handle. No operator may run with it meanwhile.
 * @param check      The function; NULL, the initial state: operators ask no function.
 * @param user_data  A pointer that is passed to the function.
 * @param interval   The time in milliseconds after which a call asks for the first time, and then
 *                   again; so short calls do not ask. If the answer takes long, the call asks up to
 *                   ten times less often. 0 asks between all items of the work, for tests.
 *
 * An answer takes effect after some milliseconds. The check changes no result.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a negative interval.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetInterruptCheck(mluOpHandle_t handle,
                                                      mluOpCpuInterruptCheck_t check,
                                                      void *user_data, int interval);

/**
 * Ends the OpenMP threads that wait for the next parallel region of the calling thread, for example
 * before a leak check or a fork. The application uses the same threads: the data that it keeps in
 * them (threadprivate) is lost. No other function ends threads, not even mluOpDestroy. The next
 * operator or parallel region creates new threads. The OpenMP runtime of LLVM may keep them.
 *
 * @return MLUOP_STATUS_NOT_SUPPORTED in a parallel region.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuEndThreads(void);

/**
 * Returns the instruction set of the kernels that this handle uses: "baseline", "avx2" or "avx512"
 * on x86-64, "neon" on arm64. It is the best one that the CPU has, unless the environment variable
 * MLUOP_CPU_ISA named another one when the handle was created. With AVX-512, a few kernels are
 * those of AVX2 where these are faster (few channels), unless MLUOP_CPU_ISA named "avx512".
 *
 * @param handle  The handle.
 *
 * @return A constant string; NULL for a NULL handle.
 */
const char *MLUOP_WIN_API mluOpCpuGetIsaName(mluOpHandle_t handle);

/**
 * Copies images from one memory layout to another: from NCHW to NHWC, or from NHWC to NCHW. Models
 * are mostly NCHW, the operators of `mlu_op.h` mostly NHWC. It mostly takes 1 to 2 times as long as
 * a copy.
 *
 * @param handle       The handle.
 * @param input_desc   4 dims in the order of its layout, MLUOP_LAYOUT_NCHW or MLUOP_LAYOUT_NHWC;
 *                     any data type with elements of 2 or 4 bytes. The tensor may be a part of
 *                     larger images: the stride of the last dim is 1, and every other stride is at
 *                     least what the dims after it take up; all of it is at most 2^56 elements.
 *                     Nothing in the gaps is read or written.
 * @param input        The images.
 * @param output_desc  The same images in the other layout: same data type, same N, H, W and C. The
 *                     same rules for strides.
 * @param output       Receives the images; must not overlap input. Elements are copied bit by bit,
 *                     NaN included.
 *
 * @return MLUOP_STATUS_SUCCESS, also if the tensors are empty: then nothing is read or written.
 *         MLUOP_STATUS_BAD_PARAM for a NULL handle or descriptor, wrong dims, layouts, data types,
 *         shapes or strides, data that is NULL or not aligned to its elements, and overlapping
 *         memory, gaps included. MLUOP_STATUS_NOT_SUPPORTED for 2^31 elements or more.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuConvertLayout(mluOpHandle_t handle,
                                                  const mluOpTensorDescriptor_t input_desc,
                                                  const void *input,
                                                  const mluOpTensorDescriptor_t output_desc,
                                                  void *output);

/**
 * Converts images where they are, as mluOpCpuConvertLayout does from one memory to another. It
 * needs no second tensor. Many small images, such as the results of pooling, take less time so.
 *
 * @param handle       The handle. It keeps scratch memory of an image for each thread.
 * @param input_desc   As for mluOpCpuConvertLayout, without gaps: what the images are before.
 * @param output_desc  The same images in the other layout, without gaps: what they are then.
 * @param output       The images. Elements are moved bit by bit, NaN included.
 *
 * @return MLUOP_STATUS_SUCCESS, also if the tensors are empty: then nothing is read or written.
 *         MLUOP_STATUS_BAD_PARAM for a NULL handle or descriptor, wrong dims, layouts, data types
 *         or shapes, and output that is NULL or not aligned to its elements.
 *         MLUOP_STATUS_NOT_SUPPORTED for tensors with gaps, and for 2^31 elements or more.
 *         MLUOP_STATUS_ALLOC_FAILED without memory for the copies of images.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuConvertLayoutInPlace(mluOpHandle_t handle,
                                                         const mluOpTensorDescriptor_t input_desc,
                                                         const mluOpTensorDescriptor_t output_desc,
                                                         void *output);

/**
 * Does what mluOpPsamaskForward does, on images in NCHW.
 *
 * @param handle    The handle.
 * @param psa_type  0: collect. 1: distribute.
 * @param x_desc    [N, h_mask*w_mask, H, W], NCHW, float, contiguous.
 * @param x         The masks.
 * @param h_mask    Height of the masks.
 * @param w_mask    Width of the masks.
 * @param y_desc    [N, H*W, H, W], NCHW, float, contiguous.
 * @param y         Receives the result.
 *
 * With the map position (th, tw) = (h + u - (h_mask-1)/2, w + v - (w_mask-1)/2),
 *
 *     collect:    y[n, th*W + tw, h, w] = x[n, u*w_mask + v, h, w]
 *     distribute: y[n, h*W + w, th, tw] = x[n, u*w_mask + v, h, w]
 *
 * and y is 0 everywhere else. The result has the same bits as mluOpPsamaskForward on images that
 * were converted to NHWC.
 *
 * @return As mluOpPsamaskForward; MLUOP_STATUS_BAD_PARAM for layouts other than NCHW.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuPsamaskNchwForward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t x_desc, const void *x,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t y_desc, void *y);

/**
 * Does what mluOpPsamaskBackward does, on images in NCHW: the gradient of
 * mluOpCpuPsamaskNchwForward.
 *
 * @param handle    The handle.
 * @param psa_type  0: collect. 1: distribute.
 * @param dy_desc   [N, H*W, H, W], NCHW, float, contiguous.
 * @param dy        The gradient of y.
 * @param h_mask    Height of the masks.
 * @param w_mask    Width of the masks.
 * @param dx_desc   [N, h_mask*w_mask, H, W], NCHW, float, contiguous.
 * @param dx        Receives the gradient of x: the element of dy to which
 *                  mluOpCpuPsamaskNchwForward writes that element of x, and 0 if its position is
 *                  not on the map.
 *
 * @return As mluOpPsamaskBackward; MLUOP_STATUS_BAD_PARAM for layouts other than NCHW.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuPsamaskNchwBackward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t dy_desc, const void *dy,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t dx_desc, void *dx);

/**
 * Does what mluOpCarafeForward does, and writes its output in NCHW. That takes less time than a
 * conversion of the output, which would read and write it once more.
 *
 * @param handle       The handle. It keeps scratch memory for each thread: rows of the input and of
 *                     the output.
 * @param carafe_desc  As for mluOpCarafeForward.
 * @param input_desc   [N, H, W, C], NHWC, half or float, contiguous.
 * @param input        The feature map.
 * @param mask_desc    [N, scale_factor*H, scale_factor*W, group_size*kernel_size*kernel_size],
 *                     NHWC, type of input, contiguous.
 * @param mask         The weights, as for mluOpCarafeForward.
 * @param output_desc  [N, C, scale_factor*H, scale_factor*W], NCHW, type of input, contiguous.
 * @param output       Receives the upsampled map. It has the same bits as the output of
 *                     mluOpCarafeForward, converted to NCHW; but if a group has at most as many
 *                     channels as a vector has floats, a sum that underflows to 0 may have the
 *                     other sign.
 *
 * @return As mluOpCarafeForward; MLUOP_STATUS_BAD_PARAM for an output in another layout than NCHW.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCpuCarafeNchwForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                          const mluOpTensorDescriptor_t input_desc, const void *input,
                          const mluOpTensorDescriptor_t mask_desc, const void *mask,
                          const mluOpTensorDescriptor_t output_desc, void *output);

/*
 * Two environment variables are for tests. They do not change the bits of a result, unless a kernel
 * adds in another order. mluOpCreate reads them.
 *
 * MLUOP_CPU_CACHE_BYTES replaces the size of the last-level cache that the system reports. If a
 * call reads and writes more than half of that size, or more than 48 MiB, its results are written
 * past the caches; with 0, all results are. mluOpCreate returns MLUOP_STATUS_BAD_PARAM if it is not
 * a number of bytes.
 *
 * MLUOP_CPU_KERNEL chooses among the kernels of an operator, by the name in the source, for every
 * call that the named kernel supports: "thing_forward=general;thing_backward=small". Without it,
 * the shape and the CPU decide. mluOpCreate returns MLUOP_STATUS_BAD_PARAM if it has 128 characters
 * or more.
 */

/**
 * Does what mluOpNms does for one image, with two additions: boxes of different labels do not
 * affect each other, and scores can be returned beside the indices.
 *
 * @param handle           The handle.
 * @param nms_desc         As for mluOpNms; its output_mode is 0.
 * @param boxes_desc       [n, 4], or [4, n] in layout 1.
 * @param boxes            The boxes.
 * @param confidence_desc  [n], as for mluOpNms.
 * @param confidence       The scores.
 * @param labels_desc      [n], int32; NULL: all boxes have the same label.
 * @param labels           The labels; NULL if labels_desc is NULL.
 * @param output_desc      [L], int32 or uint32, with room as for mluOpNms.
 * @param output           Receives the indices. Each time, the box with the highest score that is
 *                         left is selected.
 * @param scores_desc      [L], float; NULL: no scores.
 * @param scores           Receives the scores at selection; NULL if scores_desc is NULL. The rest
 *                         of the tensor is untouched.
 * @param output_size      Receives the number of results, one int32.
 *
 * max_output_size is the limit for all labels together.
 *
 * @return The first of these that applies; output, scores and output_size are untouched unless the
 *         status is SUCCESS:
 *   - As mluOpNms, up to the data types of boxes and confidence.
 *   - MLUOP_STATUS_BAD_PARAM: output_mode is not 0; boxes has another form; output, labels or
 *     scores has another number of dims, then another type or length.
 *   - As mluOpNms, from the data type of output on, for all tensors.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCpuNmsByLabel(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                   const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                   const mluOpTensorDescriptor_t confidence_desc, const void *confidence,
                   const mluOpTensorDescriptor_t labels_desc, const void *labels,
                   const mluOpTensorDescriptor_t output_desc, void *output,
                   const mluOpTensorDescriptor_t scores_desc, void *scores, void *output_size);

/**
 * Returns the instruction sets that this build has kernels for and this CPU can run.
 *
 * @return A constant string: the names, best first, separated by spaces, such as
 *         "avx512 avx2 baseline".
 */
const char *MLUOP_WIN_API mluOpCpuGetSupportedIsas(void);

/**
 * Returns the version of this library itself, such as "0.1.0".
 *
 * @return A constant string.
 */
const char *MLUOP_WIN_API mluOpCpuGetVersion(void);

/**
 * Returns how this library was built: compiler, build type, threading, sanitizers.
 *
 * @return A constant string.
 */
const char *MLUOP_WIN_API mluOpCpuGetBuildInfo(void);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_CPU_H_ */
