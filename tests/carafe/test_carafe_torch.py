# SPDX-License-Identifier: Apache-2.0
"""CARAFE in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_case import assert_empty_gives_zeros, assert_signature, zeros
from torch_families import of_family

import pymluops
import pymluops.torch as ours
from pymluops._families.carafe import native


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_large_images_are_converted_exactly(dtype: torch.dtype) -> None:
    """Beyond a size, memory formats are converted in another way."""
    x = torch.randn(2, 132, 23, 25, dtype=dtype, requires_grad=True)
    last = x.detach().to(memory_format=torch.channels_last).requires_grad_()
    masks = torch.randn(2, 9, 46, 50, dtype=dtype)
    result, last_result = (ours.carafe(features, masks, 3, 1, 2) for features in (x, last))
    assert result.is_contiguous()
    assert torch.equal(result, last_result)
    result.square().sum().backward()
    last_result.square().sum().backward()
    assert x.grad.is_contiguous()
    assert torch.equal(x.grad, last.grad)


@pytest.mark.parametrize(
    ("dtype", "channels", "groups", "called"),
    [
        (torch.float32, 129, 1, "forward_nchw"),
        (torch.float16, 300, 1, "forward_nchw"),
        (torch.float32, 64, 4, "forward_nchw"),
        (torch.float32, 60, 4, "forward"),
        (torch.bfloat16, 64, 1, "forward"),
        (torch.float64, 64, 1, "forward"),
    ],
)
def test_which_kernel_contiguous_images_get(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, channels: int, groups: int, called: str
) -> None:
    calls: list[str] = []

    def count(name: str) -> None:
        function = getattr(native, name)

        def counted(*arguments: Any) -> None:
            calls.append(name)
            function(*arguments)

        monkeypatch.setattr(native, name, counted)

    count("forward")
    count("forward_nchw")
    x = torch.randn(2, channels, 7, 9, dtype=dtype)
    masks = torch.randn(2, 25 * groups, 14, 18, dtype=dtype)
    result = ours.carafe(x, masks, 5, groups, 2)
    last = ours.carafe(x.to(memory_format=torch.channels_last), masks, 5, groups, 2)
    assert calls == [called, "forward"]
    assert result.is_contiguous()
    assert torch.equal(result, last)


def test_carafe_naive_is_carafe() -> None:
    case = of_family("carafe").CASES[0]
    args = case.arguments()
    assert torch.equal(ours.carafe_naive(*args), ours.carafe(*args))


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (lambda x, m: ours.carafe(x, m, 3, 1, 2), [(0, 4, 2, 2), (0, 9, 4, 4)], (0, 4, 4, 4)),
        (lambda x, m: ours.carafe(x, m, 3, 1, 2), [(1, 0, 2, 2), (1, 9, 4, 4)], (1, 0, 4, 4)),
    ],
)
def test_empty_tensors_give_zeros(
    call: Callable[..., Tensor], shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    assert_empty_gives_zeros(call, shapes, result)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ours.carafe(zeros(4, 3, 3), zeros(1, 9, 6, 6), 3, 1, 2),
            ValueError,
            "carafe: features has shape (4, 3, 3), expected 4 dims (N, C, H, W)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 7), 3, 1, 2),
            ValueError,
            (
                "carafe: masks has shape (1, 9, 6, 7), expected (1, 9, 6, 6) = "
                "(N, kernel_size^2 * group_size, scale_factor * H, scale_factor * W)"
            ),
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 27, 6, 6), 3, 3, 2),
            ValueError,
            "carafe: features has 4 channels, expected a multiple of group_size (3)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 16, 6, 6), 4, 1, 2),
            ValueError,
            "carafe: kernel_size is 4, expected an odd number",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 6), 3, 1, 0),
            ValueError,
            "carafe: scale_factor is 0, expected 1 or more",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 6).half(), 3, 1, 2),
            TypeError,
            "carafe: masks is float16, expected float32 as features; pass masks.to(features.dtype)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3).to_sparse(), zeros(1, 9, 6, 6), 3, 1, 2),
            ValueError,
            (
                "carafe: features is a sparse_coo tensor on cpu, expected a dense tensor on the "
                "CPU; pass features.to_dense()"
            ),
        ),
        (
            lambda: ours.carafe(zeros(1, 1, 2, 2), zeros(1, 1, 12, 12), 1, 1, 6),
            pymluops.NotSupportedError,
            "scale_factor is 6",
        ),
        (
            lambda: ours.CARAFE(3.0, 1, 2),
            TypeError,
            "CARAFE: kernel_size is 3.0, expected an int",
        ),
    ],
)
def test_errors_name_the_argument(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("module", "signature"),
    [
        (ours.CARAFE, "kernel_size, group_size, scale_factor"),
        (ours.CARAFENaive, "kernel_size, group_size, scale_factor"),
        (
            ours.CARAFEPack,
            (
                "channels, scale_factor, up_kernel=5, up_group=1, encoder_kernel=3, "
                "encoder_dilation=1, compressed_channels=64"
            ),
        ),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


def test_the_module_describes_and_copies_itself() -> None:
    for module, text in (
        (ours.CARAFE(3, 1, 2), "CARAFE(kernel_size=3, group_size=1, scale_factor=2)"),
    ):
        assert repr(module) == text
        assert repr(copy.deepcopy(module)) == text
        assert repr(pickle.loads(pickle.dumps(module))) == text


def test_tensors_on_other_devices_are_refused() -> None:
    with torch._subclasses.FakeTensorMode():
        features = torch.empty(1, 4, 3, 3, device="cuda")
        masks = torch.empty(1, 9, 6, 6, device="cuda")
        with pytest.raises(ValueError, match=r"features is a strided tensor on cuda.*\.cpu\(\)"):
            ours.carafe(features, masks, 3, 1, 2)


def test_the_pack_wants_batches_of_images() -> None:
    pack = ours.CARAFEPack(4, 2)
    with pytest.raises(ValueError, match=re.escape("x has shape (4, 3, 3), expected 4 dims")):
        pack(zeros(4, 3, 3))
    with pytest.raises(TypeError, match="CARAFEPack: x is a list, expected a Tensor"):
        pack([[[[1.0]]]])


def test_numbers_of_another_kind_are_refused_by_name() -> None:
    features, masks = torch.zeros(1, 4, 3, 3), torch.zeros(1, 9, 6, 6)
    with pytest.raises(TypeError, match=r"carafe: .* is 3\.5, expected an int"):
        ours.carafe(features, masks, 3.5, 1, 2)
    with pytest.raises(ValueError, match=f"kernel_size is {2**63}, expected an int of 64 bits"):
        ours.carafe(features, masks, 2**63, 1, 2)


@pytest.mark.parametrize("number", [int, np.int64, np.uint8, torch.tensor])
def test_numbers_of_other_libraries_do_not_hide_an_error(number: Callable[[int], int]) -> None:
    features, masks = torch.zeros(1, 4, 3, 3), torch.zeros(1, 47 * 47, 6, 6)
    with pytest.raises(NotImplementedError, match="kernel_size is 47, expected at most 45"):
        ours.carafe(features, masks, number(47), 1, 2)
