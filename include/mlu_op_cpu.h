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

/** How severe a log line is. A line is passed on when its level is at least the minimum level. */
typedef enum {
  MLUOP_CPU_LOG_INFO = 0,
  MLUOP_CPU_LOG_WARNING = 1,
  MLUOP_CPU_LOG_ERROR = 2,
  MLUOP_CPU_LOG_OFF = 3
} mluOpCpuLogLevel_t;

/**
 * Receives one log line.
 *
 * @param level      Severity of the line.
 * @param message    The text, NUL-terminated, without a newline; valid during the call only.
 * @param user_data  The pointer given to mluOpCpuSetLogCallback.
 *
 * It is called on the thread that made the failing call, and may be called by several threads at
 * once. It must return, and may call every function here, also one that fails: such an error is not
 * logged, and the text of the error that is being logged is the last one again afterwards.
 */
typedef void (*mluOpCpuLogCallback_t)(mluOpCpuLogLevel_t level, const char *message,
                                      void *user_data);

/**
 * The text of the last error on the calling thread, such as
 * "[mluOpBorderAlignForward] boxes: dim 1 is 11, expected 10 (H*W)".
 *
 * @return Never NULL; "" if no call has failed on this thread. A successful call leaves it as it
 *         is. The text stays valid until the next failing call on the same thread.
 */
const char *MLUOP_WIN_API mluOpCpuGetLastErrorMessage(void);

/**
 * Sends log lines to a function instead of stderr, for the whole process.
 *
 * @param callback   NULL restores the default (one line per message on stderr).
 * @param user_data  Passed to the callback as it is.
 *
 * Safe to call at any time. When it returns, no other thread is inside the callback that was
 * replaced, and none will be: its user_data may be freed. So hold no lock that the callback takes,
 * too. Within a callback, it does not wait for other threads that are inside it.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetLogCallback(mluOpCpuLogCallback_t callback, void *user_data);

/**
 * Sets the least severe level that is logged, for the whole process. The initial value comes from
 * the environment variable MLUOP_MIN_VLOG_LEVEL (0 info, 1 warning, 2 error, 3 or more nothing),
 * and is MLUOP_CPU_LOG_WARNING without it.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a value outside the enum.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetLogLevel(mluOpCpuLogLevel_t level);

/** The least severe level that is logged. */
mluOpCpuLogLevel_t MLUOP_WIN_API mluOpCpuGetLogLevel(void);

/**
 * Sets how many threads the operators called with this handle may use.
 *
 * @param num_threads  0 restores the default: every core that the process may use, or
 *                     OMP_NUM_THREADS where that is set. More than four for each processor that
 *                     the process could run on when the handle was made are taken as that. Results
 *                     do not depend on it, and little work wakes no thread.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a negative number.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuSetNumThreads(mluOpHandle_t handle, int num_threads);

/**
 * Tells how many threads the next operator called with this handle may use: 1 in a forked child,
 * in a parallel region of OpenMP (unless nested ones are allowed) and in a build without threads,
 * never more than OMP_THREAD_LIMIT.
 *
 * @return MLUOP_STATUS_BAD_PARAM for a NULL handle or a NULL num_threads.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuGetNumThreads(mluOpHandle_t handle, int *num_threads);

/**
 * Ends the OpenMP threads that wait for the calling thread's next parallel region, so that a leak
 * checker finds none, or fork copies none. They are the application's as well as the library's:
 * with them goes what the application keeps in them (threadprivate). Nothing else ends threads, not
 * even mluOpDestroy. The next operator or region makes new ones. LLVM's runtime may keep them.
 *
 * @return MLUOP_STATUS_NOT_SUPPORTED in a parallel region.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuEndThreads(void);

/**
 * The instruction set of the kernels that this handle uses: "baseline", "avx2" or "avx512" on
 * x86-64, "neon" on arm64. It is the best one that the CPU has, unless the environment variable
 * MLUOP_CPU_ISA named another one when the handle was created.
 *
 * @return A constant string; NULL for a NULL handle.
 */
const char *MLUOP_WIN_API mluOpCpuGetIsaName(mluOpHandle_t handle);

/**
 * Moves images from one memory layout to another: from NCHW to NHWC, or from NHWC to NCHW. Models
 * are mostly NCHW, the operators of `mlu_op.h` mostly NHWC. It takes about as long as a copy.
 *
 * @param input_desc   4 dims in the order of its layout, MLUOP_LAYOUT_NCHW or MLUOP_LAYOUT_NHWC;
 *                     any data type with elements of 2 or 4 bytes. It may be a part of larger
 *                     images: the stride of the last dim is 1, that of another one what the dims
 *                     behind it take up, or more. Nothing in the gaps is read or written.
 * @param input        The images.
 * @param output_desc  The same images in the other layout: same data type, same N, H, W and C;
 *                     strides likewise.
 * @param output       Where they go; memory of its own. The bits of each element are those of the
 *                     input, also of NaN.
 *
 * @return MLUOP_STATUS_SUCCESS, also without elements: then nothing is read or written.
 *         MLUOP_STATUS_BAD_PARAM for a NULL handle or descriptor, other dims, layouts, data types,
 *         shapes or strides, data that is NULL or not aligned to its elements, and overlapping
 *         memory, gaps included. MLUOP_STATUS_NOT_SUPPORTED for 2^31 elements or more.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuConvertLayout(mluOpHandle_t handle,
                                                  const mluOpTensorDescriptor_t input_desc,
                                                  const void *input,
                                                  const mluOpTensorDescriptor_t output_desc,
                                                  void *output);

/**
 * mluOpPsamaskForward on images in NCHW: channels are planes, and nothing is converted.
 *
 * @param psa_type  0 collects, 1 distributes.
 * @param x_desc    [N, h_mask*w_mask, H, W], NCHW, float, packed.
 * @param y_desc    [N, H*W, H, W], NCHW, float, packed.
 *
 * With the target (th, tw) = (h + u - (h_mask-1)/2, w + v - (w_mask-1)/2) on the map,
 * collect:    y[n, th*W + tw, h, w] = x[n, u*w_mask + v, h, w]
 * distribute: y[n, h*W + w, th, tw] = x[n, u*w_mask + v, h, w]
 * and y is 0 everywhere else. The result has the bits of mluOpPsamaskForward on converted images.
 *
 * @return As mluOpPsamaskForward; MLUOP_STATUS_BAD_PARAM for layouts other than NCHW.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuPsamaskNchwForward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t x_desc, const void *x,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t y_desc, void *y);

/**
 * mluOpPsamaskBackward on images in NCHW: the gradient of mluOpCpuPsamaskNchwForward.
 *
 * @param dy_desc  [N, H*W, H, W], NCHW, float, packed: the gradient of y.
 * @param dx_desc  [N, h_mask*w_mask, H, W], NCHW, float, packed. Each element takes the one of dy
 *                 that the forward function wrote from there, and 0 where that is not on the map.
 *
 * @return As mluOpPsamaskBackward; MLUOP_STATUS_BAD_PARAM for layouts other than NCHW.
 */
mluOpStatus_t MLUOP_WIN_API mluOpCpuPsamaskNchwBackward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t dy_desc, const void *dy,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t dx_desc, void *dx);

/*
 * How large the last-level cache is, a handle learns from the system when it is created. Results of
 * calls that read and write more than half of it, or more than 48 MiB, are written past the caches.
 * The environment variable MLUOP_CPU_CACHE_BYTES takes the place of that size, for tests: 0 sends
 * all results past the caches. It changes no bit of a result. mluOpCreate returns
 * MLUOP_STATUS_BAD_PARAM if it is not a number of bytes.
 *
 * Some operators can be done in several ways, of which the shape and the CPU decide. The
 * environment variable MLUOP_CPU_KERNEL takes one by its name in the source, for tests, wherever it
 * can do the call: "thing_forward=general;thing_backward=small". mluOpCreate returns
 * MLUOP_STATUS_BAD_PARAM if it has 128 characters or more.
 */

/**
 * mluOpNms for one image, with more to say: boxes of different labels never meet, and indices and
 * scores come both.
 *
 * @param nms_desc         As for mluOpNms; its output_mode is 0.
 * @param boxes_desc       [n, 4], or [4, n] in layout 1.
 * @param confidence_desc  [n], as for mluOpNms.
 * @param labels_desc      [n], int32; NULL: all boxes may meet.
 * @param output_desc      [L], int32 or uint32, with room as for mluOpNms.
 * @param output           Receives the indices, by falling score at selection.
 * @param scores_desc      [L], float; NULL: no scores.
 * @param scores           Receives the scores at selection; nothing is written behind them.
 * @param output_size      Receives the number of results, one int32.
 *
 * max_output_size counts for all labels together.
 *
 * @return As mluOpNms; MLUOP_STATUS_BAD_PARAM for another output_mode, or other tensors.
 */
mluOpStatus_t MLUOP_WIN_API
mluOpCpuNmsByLabel(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                   const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                   const mluOpTensorDescriptor_t confidence_desc, const void *confidence,
                   const mluOpTensorDescriptor_t labels_desc, const void *labels,
                   const mluOpTensorDescriptor_t output_desc, void *output,
                   const mluOpTensorDescriptor_t scores_desc, void *scores, void *output_size);

/**
 * The instruction sets that this build has kernels for and this CPU can run, best first,
 * separated by spaces, such as "avx512 avx2 baseline". A constant string.
 */
const char *MLUOP_WIN_API mluOpCpuGetSupportedIsas(void);

/** The version of this library itself, such as "0.1.0". A constant string. */
const char *MLUOP_WIN_API mluOpCpuGetVersion(void);

/** How this library was built: compiler, build type, threading, sanitizers. A constant string. */
const char *MLUOP_WIN_API mluOpCpuGetBuildInfo(void);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_CPU_H_ */
