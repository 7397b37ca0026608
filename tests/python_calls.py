# SPDX-License-Identifier: Apache-2.0
"""One small valid call of each NumPy function, for tests that bend its arguments one by one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops


@dataclass(frozen=True)
class BaseCall:
    function: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]
    outputs: dict[str, tuple[tuple[int, ...], type]]  # how errors name them: shape, dtype
    c_function: str

    def __call__(self, **changes: Any) -> Any:
        return self.function(**{**self.arrays, **self.numbers, **changes})

    def results(self, **changes: Any) -> tuple[np.ndarray, ...]:
        return as_tuple(self(**changes))

    def new_outputs(self, fill: float = 7) -> Any:
        """Return arrays for ``out=``, filled with a number."""
        made = tuple(np.full(shape, fill, dtype) for shape, dtype in self.outputs.values())
        return made if len(made) > 1 else made[0]


def as_tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def _values(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """Different numbers that float16 holds exactly."""
    return (np.arange(np.prod(shape)) % 97 / 8).reshape(shape).astype(dtype)


_ROIS = np.array([[0, 0, 0, 2, 3], [1, 1, 0.5, 3, 3]], np.float32)
_BOXES = np.tile(np.array([0, 0.5, 2, 1.5], np.float32), (2, 6, 1))
_ROWS, _COLUMNS = np.array([0, 1, 3], np.int32), np.array([1, 0, 2], np.int32)
_CARAFE = {"kernel_size": 3, "group_size": 2, "scale_factor": 2}
_PSA = {"psa_type": 0, "h_mask": 3, "w_mask": 1}
_ROI = {"pooled_height": 2, "pooled_width": 3, "sampling_ratio": 2}
_F = np.float32

CALLS = {
    call.function.__name__: call
    for call in (
        BaseCall(
            pymluops.carafe_forward,
            {"input": _values(1, 2, 3, 4), "mask": _values(1, 4, 6, 18)},
            _CARAFE,
            {"out": ((1, 4, 6, 4), _F)},
            "mluOpCarafeForward",
        ),
        BaseCall(
            pymluops.carafe_backward,
            {
                "input": _values(1, 2, 3, 4),
                "mask": _values(1, 4, 6, 18),
                "grad_output": _values(1, 4, 6, 4),
            },
            _CARAFE,
            {"out[0]": ((1, 2, 3, 4), _F), "out[1]": ((1, 4, 6, 18), _F)},
            "mluOpCarafeBackward",
        ),
        BaseCall(
            pymluops.psamask_forward,
            {"x": _values(2, 2, 3, 3)},
            _PSA,
            {"out": ((2, 2, 3, 6), _F)},
            "mluOpPsamaskForward",
        ),
        BaseCall(
            pymluops.psamask_backward,
            {"dy": _values(2, 2, 3, 6)},
            _PSA,
            {"out": ((2, 2, 3, 3), _F)},
            "mluOpPsamaskBackward",
        ),
        BaseCall(
            pymluops.deform_roi_pool_forward,
            {"input": _values(2, 4, 5, 3), "rois": _ROIS, "offset": _values(2, 2, 2, 3)},
            _ROI,
            {"out": ((2, 2, 3, 3), _F)},
            "mluOpDeformRoiPoolForward",
        ),
        BaseCall(
            pymluops.deform_roi_pool_backward,
            {
                "grad_output": _values(2, 2, 3, 3),
                "input": _values(2, 4, 5, 3),
                "rois": _ROIS,
                "offset": _values(2, 2, 2, 3),
            },
            _ROI,
            {"out[0]": ((2, 4, 5, 3), _F), "out[1]": ((2, 2, 2, 3), _F)},
            "mluOpDeformRoiPoolBackward",
        ),
        BaseCall(
            pymluops.border_align_forward,
            {"input": _values(2, 2, 3, 8), "boxes": _BOXES},
            {"pool_size": 2},
            {"out[0]": ((2, 6, 4, 2), _F), "out[1]": ((2, 6, 4, 2), np.int32)},
            "mluOpBorderAlignForward",
        ),
        BaseCall(
            pymluops.border_align_backward,
            {
                "grad_output": _values(2, 6, 4, 2),
                "boxes": _BOXES,
                "argmax_idx": (np.arange(96) % 3).reshape(2, 6, 4, 2).astype(np.int32),
            },
            {"pool_size": 2, "height": 2, "width": 3},
            {"out": ((2, 2, 3, 8), _F)},
            "mluOpBorderAlignBackward",
        ),
        BaseCall(
            pymluops.masked_im2col_forward,
            {"feature": _values(1, 2, 4, 3), "mask_h_idx": _ROWS, "mask_w_idx": _COLUMNS},
            {"kernel_h": 3, "kernel_w": 2, "pad_h": 1, "pad_w": 0},
            {"out": ((12, 3), _F)},
            "mluOpMaskedIm2colForward",
        ),
        BaseCall(
            pymluops.masked_col2im_forward,
            {"col": _values(2, 3), "mask_h_idx": _ROWS, "mask_w_idx": _COLUMNS},
            {"height": 4, "width": 3},
            {"out": ((1, 2, 4, 3), _F)},
            "mluOpMaskedCol2imForward",
        ),
    )
}


def assert_blames(error: pymluops.MluOpError, call: str, argument: str) -> None:
    """The text says "[function] argument: ..." with the argument that was wrong."""
    assert str(error) == error.message
    assert error.message.startswith(f"[{CALLS[call].c_function}] {argument}"), error.message
    assert error.function == CALLS[call].c_function
    assert error.status == pymluops.capi.Status.BAD_PARAM
