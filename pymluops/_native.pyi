# SPDX-License-Identifier: Apache-2.0
# Types of the compiled module: what cffi makes of the C headers.
# Written by c_src/cmake/generate_stub.py.

from collections.abc import Callable, Iterator, Sequence
from typing import Any

class CData:
    def __getitem__(self, index: int) -> Any: ...
    def __setitem__(self, index: int, value: Any) -> None: ...
    def __int__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __add__(self, elements: int) -> CData: ...
    def __bool__(self) -> bool: ...

class CType: ...

class _FFI:
    NULL: CData
    error: type[Exception]
    def new(self, cdecl: str | CType, init: Any = ...) -> CData: ...
    def cast(self, cdecl: str | CType, source: Any) -> CData: ...
    def typeof(self, cdecl: str | CData) -> CType: ...
    def sizeof(self, cdecl: str | CData) -> int: ...
    def string(self, cdata: CData, maxlen: int = ...) -> bytes: ...
    def unpack(self, cdata: CData, length: int) -> Any: ...
    def buffer(self, cdata: CData, size: int = ...) -> Any: ...
    def from_buffer(
        self, cdecl: str | CType, python_buffer: Any, require_writable: bool = ...
    ) -> CData: ...
    def memmove(self, dest: Any, src: Any, n: int) -> None: ...
    def gc(
        self, cdata: CData, destructor: Callable[[CData], Any] | None, size: int = ...
    ) -> CData: ...
    def release(self, cdata: CData) -> None: ...
    def addressof(self, cdata: Any, *fields_or_indexes: Any) -> CData: ...
    def def_extern(
        self, name: str = ..., error: Any = ..., onerror: Callable[..., Any] = ...
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
    def new_handle(self, value: object) -> CData: ...
    def from_handle(self, handle: CData) -> Any: ...

class _Lib:
    MLUOP_MAJOR: int
    MLUOP_MINOR: int
    MLUOP_PATCHLEVEL: int
    MLUOP_VERSION: int
    MLUOP_DIM_MAX: int

    MLUOP_STATUS_SUCCESS: int
    MLUOP_STATUS_NOT_INITIALIZED: int
    MLUOP_STATUS_ALLOC_FAILED: int
    MLUOP_STATUS_BAD_PARAM: int
    MLUOP_STATUS_INTERNAL_ERROR: int
    MLUOP_STATUS_ARCH_MISMATCH: int
    MLUOP_STATUS_EXECUTION_FAILED: int
    MLUOP_STATUS_NOT_SUPPORTED: int
    MLUOP_STATUS_NUMERICAL_OVERFLOW: int
    MLUOP_LAYOUT_NCHW: int
    MLUOP_LAYOUT_NHWC: int
    MLUOP_LAYOUT_HWCN: int
    MLUOP_LAYOUT_NDHWC: int
    MLUOP_LAYOUT_ARRAY: int
    MLUOP_LAYOUT_NCDHW: int
    MLUOP_LAYOUT_TNC: int
    MLUOP_LAYOUT_NTC: int
    MLUOP_LAYOUT_NC: int
    MLUOP_LAYOUT_NLC: int
    MLUOP_LAYOUT_NCL: int
    MLUOP_DTYPE_INVALID: int
    MLUOP_DTYPE_HALF: int
    MLUOP_DTYPE_FLOAT: int
    MLUOP_DTYPE_INT8: int
    MLUOP_DTYPE_INT16: int
    MLUOP_DTYPE_INT31: int
    MLUOP_DTYPE_INT32: int
    MLUOP_DTYPE_UINT8: int
    MLUOP_DTYPE_BOOL: int
    MLUOP_DTYPE_INT64: int
    MLUOP_DTYPE_UINT32: int
    MLUOP_DTYPE_UINT64: int
    MLUOP_DTYPE_UINT16: int
    MLUOP_DTYPE_DOUBLE: int
    MLUOP_DTYPE_COMPLEX_HALF: int
    MLUOP_DTYPE_COMPLEX_FLOAT: int
    MLUOP_DTYPE_BFLOAT16: int
    MLUOP_NOT_PROPAGATE_NAN: int
    MLUOP_PROPAGATE_NAN: int
    MLUOP_COMPUTATION_FAST: int
    MLUOP_COMPUTATION_HIGH_PRECISION: int
    MLUOP_COMPUTATION_ULTRAHIGH_PRECISION: int
    MLUOP_ATOMICS_NOT_ALLOWED: int
    MLUOP_ATOMICS_ALLOWED: int
    MLUOP_ROUND_HALF_TO_EVEN: int
    MLUOP_ROUND_HALF_UP: int
    MLUOP_ROUND_HALF_OFF_ZERO: int
    MLUOP_POINTER_MODE_HOST: int
    MLUOP_POINTER_MODE_DEVICE: int
    MLUOP_NMS_BOX_DIAGONAL: int
    MLUOP_NMS_BOX_CENTER: int
    MLUOP_NMS_OUTPUT_TARGET_INDICES: int
    MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1: int
    MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2: int
    MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS: int
    MLUOP_NMS_HARD_NMS: int
    MLUOP_NMS_SOFT_NMS_LINEAR: int
    MLUOP_NMS_SOFT_NMS_GAUSSIAN: int
    MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY: int
    MLUOP_NMS_ALGO_INCLUDE_BOUNDARY: int
    MLUOP_CPU_LOG_INFO: int
    MLUOP_CPU_LOG_WARNING: int
    MLUOP_CPU_LOG_ERROR: int
    MLUOP_CPU_LOG_OFF: int

    pymluops_log: CData
    pymluops_ask: CData
    pymluops_build_id: CData

    def mluOpCreate(self, handle: CData, /) -> int: ...
    def mluOpDestroy(self, handle: CData, /) -> int: ...
    def mluOpUpdateContextInformation(self, handle: CData, /) -> int: ...
    def mluOpSetQueue(self, handle: CData, queue: CData, /) -> int: ...
    def mluOpGetQueue(self, handle: CData, queue: CData, /) -> int: ...
    def mluOpSetAtomicsMode(self, handle: CData, atomics_mode: int, /) -> int: ...
    def mluOpGetAtomicsMode(self, handle: CData, atomics_mode: CData, /) -> int: ...
    def mluOpSetQuantizeRoundMode(self, handle: CData, round_mode: int, /) -> int: ...
    def mluOpGetQuantizeRoundMode(self, handle: CData, round_mode: CData, /) -> int: ...
    def mluOpGetErrorString(self, status: int, /) -> CData: ...
    def mluOpGetLibVersion(self, major: CData, minor: CData, patch: CData, /) -> None: ...
    def mluOpGetSizeOfDataType(self, data_type: int, size: CData, /) -> int: ...
    def mluOpSetGenCaseMode(self, mode: int, /) -> None: ...
    def mluOpSetGenCaseDirectory(self, directory: CData, /) -> int: ...
    def mluOpGetGenCaseDirectory(self) -> CData: ...
    def mluOpCreateTensorDescriptor(self, desc: CData, /) -> int: ...
    def mluOpDestroyTensorDescriptor(self, desc: CData, /) -> int: ...
    def mluOpResetTensorDescriptor(self, desc: CData, /) -> int: ...
    def mluOpCreateGroupTensorDescriptors(self, group_descs: CData, desc_num: int, /) -> int: ...
    def mluOpDestroyGroupTensorDescriptors(self, group_descs: CData, desc_num: int, /) -> int: ...
    def mluOpSetGroupTensorDescriptors(
        self,
        group_descs: CData,
        group_layout: CData | Sequence[int],
        group_dtype: CData | Sequence[int],
        group_dimNb: CData | Sequence[int],
        group_dimSize: CData | Sequence[int],
        desc_num: int,
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptor(
        self,
        desc: CData,
        layout: int,
        dtype: int,
        dimNb: int,
        dimSize: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptor_v2(
        self,
        desc: CData,
        layout: int,
        dtype: int,
        dimNb: int,
        dimSize: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorEx(
        self,
        desc: CData,
        layout: int,
        dtype: int,
        dimNb: int,
        dimSize: CData | Sequence[int],
        dimStride: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorEx_v2(
        self,
        desc: CData,
        layout: int,
        dtype: int,
        dimNb: int,
        dimSize: CData | Sequence[int],
        dimStride: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorDim(
        self,
        desc: CData,
        dimNb: int,
        dimSize: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorDim_v2(
        self,
        desc: CData,
        dimNb: int,
        dimSize: CData | Sequence[int],
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorPointerMode(self, desc: CData, pointer_mode: int, /) -> int: ...
    def mluOpGetTensorDescriptorPointerMode(self, desc: CData, pointer_mode: CData, /) -> int: ...
    def mluOpSetTensorDescriptorOnchipDataType(self, desc: CData, onchip_dtype: int, /) -> int: ...
    def mluOpGetTensorDescriptorOnchipDataType(
        self,
        desc: CData,
        onchip_dtype: CData,
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorPosition(self, desc: CData, position: int, /) -> int: ...
    def mluOpSetTensorDescriptorPositionAndScale(
        self,
        desc: CData,
        position: int,
        scale: float,
        /,
    ) -> int: ...
    def mluOpSetTensorDescriptorPositionScaleAndOffset(
        self,
        desc: CData,
        position: int,
        scale: float,
        offset: int,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptorPosition(self, desc: CData, position: CData, /) -> int: ...
    def mluOpGetTensorDescriptorPositionAndScale(
        self,
        desc: CData,
        position: CData,
        scale: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptorPositionScaleAndOffset(
        self,
        desc: CData,
        position: CData,
        scale: CData,
        offset: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptor(
        self,
        desc: CData,
        layout: CData,
        dtype: CData,
        dimNb: CData,
        dimSize: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptor_v2(
        self,
        desc: CData,
        layout: CData,
        dtype: CData,
        dimNb: CData,
        dimSize: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptorEx(
        self,
        desc: CData,
        layout: CData,
        dtype: CData,
        dimNb: CData,
        dimSize: CData,
        dimStride: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorDescriptorEx_v2(
        self,
        desc: CData,
        layout: CData,
        dtype: CData,
        dimNb: CData,
        dimSize: CData,
        dimStride: CData,
        /,
    ) -> int: ...
    def mluOpGetTensorElementNum(self, desc: CData, /) -> int: ...
    def mluOpCreateCarafeDescriptor(self, carafe_desc: CData, /) -> int: ...
    def mluOpDestroyCarafeDescriptor(self, carafe_desc: CData, /) -> int: ...
    def mluOpSetCarafeDescriptor(
        self,
        carafe_desc: CData,
        dimNb: int,
        kernel_size: int,
        group_size: int,
        scale_factor: int,
        /,
    ) -> int: ...
    def mluOpCarafeForward(
        self,
        handle: CData,
        carafe_desc: CData,
        input_desc: CData,
        input: CData,
        mask_desc: CData,
        mask: CData,
        output_desc: CData,
        output: CData,
        /,
    ) -> int: ...
    def mluOpCarafeBackward(
        self,
        handle: CData,
        carafe_desc: CData,
        input_desc: CData,
        input: CData,
        mask_desc: CData,
        mask: CData,
        grad_output_desc: CData,
        grad_output: CData,
        grad_input_desc: CData,
        grad_input: CData,
        grad_mask_desc: CData,
        grad_mask: CData,
        /,
    ) -> int: ...
    def mluOpPsamaskForward(
        self,
        handle: CData,
        psa_type: int,
        x_desc: CData,
        x: CData,
        h_mask: int,
        w_mask: int,
        y_desc: CData,
        y: CData,
        /,
    ) -> int: ...
    def mluOpPsamaskBackward(
        self,
        handle: CData,
        psa_type: int,
        dy_desc: CData,
        dy: CData,
        h_mask: int,
        w_mask: int,
        dx_desc: CData,
        dx: CData,
        /,
    ) -> int: ...
    def mluOpDeformRoiPoolForward(
        self,
        handle: CData,
        input_desc: CData,
        input: CData,
        rois_desc: CData,
        rois: CData,
        offset_desc: CData,
        offset: CData,
        pooled_height: int,
        pooled_width: int,
        spatial_scale: float,
        sampling_ratio: int,
        gamma: float,
        output_desc: CData,
        output: CData,
        /,
    ) -> int: ...
    def mluOpDeformRoiPoolBackward(
        self,
        handle: CData,
        grad_output_desc: CData,
        grad_output: CData,
        input_desc: CData,
        input: CData,
        rois_desc: CData,
        rois: CData,
        offset_desc: CData,
        offset: CData,
        pooled_height: int,
        pooled_width: int,
        spatial_scale: float,
        sampling_ratio: int,
        gamma: float,
        grad_input_desc: CData,
        grad_input: CData,
        grad_offset_desc: CData,
        grad_offset: CData,
        /,
    ) -> int: ...
    def mluOpBorderAlignForward(
        self,
        handle: CData,
        input_desc: CData,
        input: CData,
        boxes_desc: CData,
        boxes: CData,
        pool_size: int,
        output_desc: CData,
        output: CData,
        argmax_idx_desc: CData,
        argmax_idx: CData,
        /,
    ) -> int: ...
    def mluOpBorderAlignBackward(
        self,
        handle: CData,
        grad_output_desc: CData,
        grad_output: CData,
        boxes_desc: CData,
        boxes: CData,
        argmax_idx_desc: CData,
        argmax_idx: CData,
        pool_size: int,
        grad_input_desc: CData,
        grad_input: CData,
        /,
    ) -> int: ...
    def mluOpGetMaskedIm2colForwardWorkspaceSize(
        self,
        handle: CData,
        feature_desc: CData,
        mask_h_idx_desc: CData,
        mask_w_idx_desc: CData,
        kernel_h: int,
        kernel_w: int,
        data_col_desc: CData,
        workspace_size: CData,
        /,
    ) -> int: ...
    def mluOpMaskedIm2colForward(
        self,
        handle: CData,
        feature_desc: CData,
        feature: CData,
        mask_h_idx_desc: CData,
        mask_h_idx: CData,
        mask_w_idx_desc: CData,
        mask_w_idx: CData,
        kernel_h: int,
        kernel_w: int,
        pad_h: int,
        pad_w: int,
        workspace: CData,
        workspace_size: int,
        data_col_desc: CData,
        data_col: CData,
        /,
    ) -> int: ...
    def mluOpGetMaskedCol2imForwardWorkspaceSize(
        self,
        handle: CData,
        col_desc: CData,
        mask_h_idx_desc: CData,
        mask_w_idx_desc: CData,
        im_desc: CData,
        workspace_size: CData,
        /,
    ) -> int: ...
    def mluOpMaskedCol2imForward(
        self,
        handle: CData,
        col_desc: CData,
        col: CData,
        mask_h_idx_desc: CData,
        mask_h_idx: CData,
        mask_w_idx_desc: CData,
        mask_w_idx: CData,
        workspace_size: int,
        workspace: CData,
        im_desc: CData,
        im: CData,
        /,
    ) -> int: ...
    def mluOpCreateNmsDescriptor(self, desc: CData, /) -> int: ...
    def mluOpDestroyNmsDescriptor(self, desc: CData, /) -> int: ...
    def mluOpSetNmsDescriptor(
        self,
        nms_desc: CData,
        box_mode: int,
        output_mode: int,
        algo: int,
        method_mode: int,
        iou_threshold: float,
        soft_nms_sigma: float,
        max_output_size: int,
        confidence_threshold: float,
        offset: float,
        input_layout: int,
        pad_to_max_output_size: int,
        /,
    ) -> int: ...
    def mluOpGetNmsWorkspaceSize(
        self,
        handle: CData,
        nms_desc: CData,
        boxes_desc: CData,
        confidence_desc: CData,
        size: CData,
        /,
    ) -> int: ...
    def mluOpNms(
        self,
        handle: CData,
        nms_desc: CData,
        boxes_desc: CData,
        boxes: CData,
        confidence_desc: CData,
        confidence: CData,
        workspace: CData,
        workspace_size: int,
        output_desc: CData,
        output: CData,
        output_size: CData,
        /,
    ) -> int: ...
    def mluOpCreateDCNDescriptor(self, dcn_desc: CData, /) -> int: ...
    def mluOpDestroyDCNDescriptor(self, dcn_desc: CData, /) -> int: ...
    def mluOpSetDCNDescriptor(
        self,
        dcn_desc: CData,
        dimNb: int,
        pad: CData | Sequence[int],
        stride: CData | Sequence[int],
        dilation: CData | Sequence[int],
        deformable_group: int,
        conv_group: int,
        im2col_step: int,
        compute_type: int,
        /,
    ) -> int: ...
    def mluOpGetDCNForwardWorkspaceSize(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        offset_desc: CData,
        mask_desc: CData,
        filter_desc: CData,
        bias_desc: CData,
        output_desc: CData,
        workspace_size: CData,
        /,
    ) -> int: ...
    def mluOpDCNForward(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        input: CData,
        offset_desc: CData,
        offset: CData,
        mask_desc: CData,
        mask: CData,
        filter_desc: CData,
        filter: CData,
        bias_desc: CData,
        bias: CData,
        workspace: CData,
        workspace_size: int,
        output_desc: CData,
        output: CData,
        /,
    ) -> int: ...
    def mluOpGetDCNBakcwardDataWorkspaceSize(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        offset_desc: CData,
        mask_desc: CData,
        filter_desc: CData,
        grad_output_desc: CData,
        grad_input_desc: CData,
        grad_offset_desc: CData,
        grad_mask_desc: CData,
        workspace_size: CData,
        /,
    ) -> int: ...
    def mluOpDCNBackwardData(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        input: CData,
        offset_desc: CData,
        offset: CData,
        mask_desc: CData,
        mask: CData,
        filter_desc: CData,
        filter: CData,
        grad_output_desc: CData,
        grad_output: CData,
        workspace: CData,
        workspace_size: int,
        grad_input_desc: CData,
        grad_input: CData,
        grad_offset_desc: CData,
        grad_offset: CData,
        grad_mask_desc: CData,
        grad_mask: CData,
        /,
    ) -> int: ...
    def mluOpGetDCNBackwardWeightWorkspaceSize(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        offset_desc: CData,
        mask_desc: CData,
        grad_output_desc: CData,
        grad_filter_desc: CData,
        grad_bias_desc: CData,
        workspace_size: CData,
        /,
    ) -> int: ...
    def mluOpDCNBackwardWeight(
        self,
        handle: CData,
        dcn_desc: CData,
        input_desc: CData,
        input: CData,
        offset_desc: CData,
        offset: CData,
        mask_desc: CData,
        mask: CData,
        grad_output_desc: CData,
        grad_output: CData,
        workspace: CData,
        workspace_size: int,
        grad_filter_desc: CData,
        grad_filter: CData,
        grad_bias_desc: CData,
        grad_bias: CData,
        /,
    ) -> int: ...
    def mluOpCreateRoiAlignForwardDescriptor(self, desc: CData, /) -> int: ...
    def mluOpDestroyRoiAlignForwardDescriptor(self, desc: CData, /) -> int: ...
    def mluOpSetRoiAlignForwardDescriptor_v2(
        self,
        roialign_desc: CData,
        pooled_height: int,
        pooled_width: int,
        sampling_ratio: int,
        spatial_scale: float,
        pool_mode: int,
        aligned: int,
        /,
    ) -> int: ...
    def mluOpRoiAlignForward_v2(
        self,
        handle: CData,
        roialign_desc: CData,
        input_desc: CData,
        input: CData,
        boxes_desc: CData,
        boxes: CData,
        output_desc: CData,
        output: CData,
        argmax_x_desc: CData,
        argmax_x: CData,
        argmax_y_desc: CData,
        argmax_y: CData,
        /,
    ) -> int: ...
    def mluOpRoiAlignBackward(
        self,
        handle: CData,
        spatial_scale: float,
        sampling_ratio: int,
        aligned: int,
        grads_desc: CData,
        grads: CData,
        boxes_desc: CData,
        boxes: CData,
        grads_image_desc: CData,
        grads_image: CData,
        /,
    ) -> int: ...
    def mluOpRoiAlignBackward_v2(
        self,
        handle: CData,
        grads_desc: CData,
        grads: CData,
        boxes_desc: CData,
        boxes: CData,
        argmax_x_desc: CData,
        argmax_x: CData,
        argmax_y_desc: CData,
        argmax_y: CData,
        spatial_scale: float,
        sampling_ratio: int,
        aligned: int,
        pool_mode: int,
        grads_image_desc: CData,
        grads_image: CData,
        /,
    ) -> int: ...
    def mluOpCpuGetLastErrorMessage(self) -> CData: ...
    def mluOpCpuSetLogCallback(self, callback: CData, user_data: CData, /) -> int: ...
    def mluOpCpuSetLogLevel(self, level: int, /) -> int: ...
    def mluOpCpuGetLogLevel(self) -> int: ...
    def mluOpCpuSetNumThreads(self, handle: CData, num_threads: int, /) -> int: ...
    def mluOpCpuGetNumThreads(self, handle: CData, num_threads: CData, /) -> int: ...
    def mluOpCpuSetInterruptCheck(
        self,
        handle: CData,
        check: CData,
        user_data: CData,
        interval: int,
        /,
    ) -> int: ...
    def mluOpCpuEndThreads(self) -> int: ...
    def mluOpCpuGetIsaName(self, handle: CData, /) -> CData: ...
    def mluOpCpuConvertLayout(
        self,
        handle: CData,
        input_desc: CData,
        input: CData,
        output_desc: CData,
        output: CData,
        /,
    ) -> int: ...
    def mluOpCpuPsamaskNchwForward(
        self,
        handle: CData,
        psa_type: int,
        x_desc: CData,
        x: CData,
        h_mask: int,
        w_mask: int,
        y_desc: CData,
        y: CData,
        /,
    ) -> int: ...
    def mluOpCpuPsamaskNchwBackward(
        self,
        handle: CData,
        psa_type: int,
        dy_desc: CData,
        dy: CData,
        h_mask: int,
        w_mask: int,
        dx_desc: CData,
        dx: CData,
        /,
    ) -> int: ...
    def mluOpCpuNmsByLabel(
        self,
        handle: CData,
        nms_desc: CData,
        boxes_desc: CData,
        boxes: CData,
        confidence_desc: CData,
        confidence: CData,
        labels_desc: CData,
        labels: CData,
        output_desc: CData,
        output: CData,
        scores_desc: CData,
        scores: CData,
        output_size: CData,
        /,
    ) -> int: ...
    def mluOpCpuGetSupportedIsas(self) -> CData: ...
    def mluOpCpuGetVersion(self) -> CData: ...
    def mluOpCpuGetBuildInfo(self) -> CData: ...
    def pymluops_interrupted(self, main_thread: CData, /) -> int: ...
    def pymluops_library_file(self) -> CData: ...
    def pymluops_advise_huge_pages(self, memory: CData, bytes: int, /) -> None: ...
    def mluop_limit_of(
        self,
        isa: CData,
        what: int,
        memory: CData,
        floats: int,
        repeats: int,
        /,
    ) -> float: ...

ffi: _FFI
lib: _Lib
