# SPDX-License-Identifier: Apache-2.0
"""The PyTorch modules: defaults, the sums behind the packs, models made of them, and errors."""

import copy
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_reference as reference
from torch import Tensor, nn
from torch.nn import functional

import pymluops
import pymluops.torch as ours


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape)


# -------------------------------------------------------------------------------------- modules


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
        (ours.BorderAlign, "pool_size"),
        (ours.DeformRoIPool, "output_size, spatial_scale=1.0, sampling_ratio=0, gamma=0.1"),
        (
            ours.DeformRoIPoolPack,
            (
                "output_size, output_channels, deform_fc_channels=1024, spatial_scale=1.0, "
                "sampling_ratio=0, gamma=0.1"
            ),
        ),
        (
            ours.ModulatedDeformRoIPoolPack,
            (
                "output_size, output_channels, deform_fc_channels=1024, spatial_scale=1.0, "
                "sampling_ratio=0, gamma=0.1"
            ),
        ),
        (
            ours.MaskedConv2d,
            (
                "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, "
                "groups=1, bias=True"
            ),
        ),
        (ours.PSAMask, "psa_type, mask_size=None"),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    parameters = inspect.signature(module).parameters.values()
    assert ", ".join(str(p).split(":")[0] + default_of(p) for p in parameters) == signature


def default_of(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else f"={parameter.default}"


def test_state_dict_keys() -> None:
    assert list(ours.CARAFEPack(8, 2).state_dict()) == [
        "channel_compressor.weight",
        "channel_compressor.bias",
        "content_encoder.weight",
        "content_encoder.bias",
    ]
    offset = [f"offset_fc.{i}.{name}" for i in (0, 2, 4) for name in ("weight", "bias")]
    mask = [f"mask_fc.{i}.{name}" for i in (0, 2) for name in ("weight", "bias")]
    assert list(ours.DeformRoIPoolPack(2, 3, 8).state_dict()) == offset
    assert list(ours.ModulatedDeformRoIPoolPack(2, 3, 8).state_dict()) == offset + mask
    assert list(ours.MaskedConv2d(1, 1, 3).state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_carafe_pack_is_what_its_parts_say(memory_format: torch.memory_format) -> None:
    pack = ours.CARAFEPack(6, 2, up_kernel=3, up_group=2, compressed_channels=4)
    nn.init.normal_(pack.content_encoder.weight)
    x = torch.randn(2, 6, 4, 5).to(memory_format=memory_format)
    predicted = functional.pixel_shuffle(pack.content_encoder(pack.channel_compressor(x)), 2)
    masks = predicted.view(2, 2, 9, 8, 10).softmax(2).view(2, 18, 8, 10)
    expected = reference.carafe(x, masks, 3, 2, 2)
    torch.testing.assert_close(pack(x), expected)
    assert pack(x).is_contiguous(memory_format=memory_format)


def test_a_new_deform_pack_pools_regular_bins() -> None:
    x, rois = torch.randn(1, 3, 8, 8), torch.tensor([[0, 1.0, 1.0, 6.0, 7.0]])
    plain = ours.DeformRoIPool((2, 3))(x, rois)
    assert torch.equal(ours.DeformRoIPoolPack((2, 3), 3, 8)(x, rois), plain)
    assert torch.equal(ours.ModulatedDeformRoIPoolPack((2, 3), 3, 8)(x, rois), plain * 0.5)
    last = x.to(memory_format=torch.channels_last)
    assert torch.equal(ours.DeformRoIPoolPack((2, 3), 3, 8)(last, rois), plain)


def test_masked_conv_without_a_mask_is_a_convolution() -> None:
    module = ours.MaskedConv2d(3, 4, 3, stride=2, padding=1, groups=1)
    x = torch.randn(2, 3, 6, 6)
    expected = functional.conv2d(x, module.weight, module.bias, stride=2, padding=1)
    assert torch.equal(module(x), expected)


def test_modules_describe_and_copy_themselves() -> None:
    for module, text in (
        (ours.CARAFE(3, 1, 2), "CARAFE(kernel_size=3, group_size=1, scale_factor=2)"),
        (ours.BorderAlign(10), "BorderAlign(pool_size=10)"),
        (ours.PSAMask("collect", (3, 5)), "PSAMask(psa_type=collect, mask_size=(3, 5))"),
        (
            ours.DeformRoIPool(7),
            "DeformRoIPool(output_size=(7, 7), spatial_scale=1.0, sampling_ratio=0, gamma=0.1)",
        ),
    ):
        assert repr(module) == text
        assert repr(copy.deepcopy(module)) == text
        assert repr(pickle.loads(pickle.dumps(module))) == text


# --------------------------------------------------------------------------------------- models


class CarafePyramid(nn.Module):
    """A feature pyramid whose top-down path upsamples with CARAFE."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Conv2d(3 if i == 0 else channels, channels, 3, stride=2, padding=1) for i in range(3)
        )
        self.ups = nn.ModuleList(
            ours.CARAFEPack(channels, 2, up_group=2, compressed_channels=8) for _ in range(2)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        features = []
        for stage in self.stages:
            x = stage(x).relu()
            features.append(x)
        outputs = [features[-1]]
        for up, lateral in zip(self.ups, reversed(features[:-1]), strict=True):
            outputs.append(lateral + up(outputs[-1]))
        return outputs


class FrequencyFusion(nn.Module):
    """Fuses two levels: what is low in frequency of one, what is high of the other.

    CARAFE filters in place (scale 1) and upsamples (scale 2), with masks predicted from both.
    """

    def __init__(self, channels: int, kernel: int = 5) -> None:
        super().__init__()
        self.kernel = kernel
        self.low_pass = nn.Conv2d(channels, kernel**2, 3, padding=1)
        self.high_pass = nn.Conv2d(channels, kernel**2, 3, padding=1)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        guide = fine + functional.interpolate(coarse, scale_factor=2)
        smooth = self.high_pass(guide).softmax(1)
        fine = 2 * fine - ours.carafe(fine, smooth, self.kernel, 1, 1)
        return fine + ours.carafe(coarse, self.low_pass(guide).softmax(1), self.kernel, 1, 2)


def test_a_carafe_pyramid_trains() -> None:
    model = CarafePyramid(8)
    results = model(torch.randn(2, 3, 32, 48))
    assert [tuple(result.shape[2:]) for result in results] == [(4, 6), (8, 12), (16, 24)]
    sum(result.square().mean() for result in results).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_a_frequency_fusion_trains_and_compiles() -> None:
    model = FrequencyFusion(6)
    fine, coarse = torch.randn(1, 6, 16, 12), torch.randn(1, 6, 8, 6, requires_grad=True)
    result = model(fine, coarse)
    (gradient,) = torch.autograd.grad(result.square().sum(), coarse)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    (again,) = torch.autograd.grad(compiled(fine, coarse).square().sum(), coarse)
    torch.testing.assert_close(again, gradient)
    in_doubles = copy.deepcopy(model).double()
    exact = exact_fusion(in_doubles, fine.double(), coarse.double())
    torch.testing.assert_close(result.double(), exact, rtol=1e-5, atol=1e-5)


def exact_fusion(model: FrequencyFusion, fine: Tensor, coarse: Tensor) -> Tensor:
    guide = fine + functional.interpolate(coarse, scale_factor=2)
    fine = 2 * fine - reference.carafe(fine, model.high_pass(guide).softmax(1), 5, 1, 1)
    return fine + reference.carafe(coarse, model.low_pass(guide).softmax(1), 5, 1, 2)


# --------------------------------------------------------------------------------------- errors


ROI = torch.tensor([[0.0, 0, 0, 1, 1]])


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
        (
            lambda: ours.psa_mask(zeros(1, 8, 2, 2), 0, (3, 3)),
            ValueError,
            (
                "psa_mask: input has 8 channels, expected 9 = mask_size[0] * mask_size[1], "
                "and mask_size is (3, 3)"
            ),
        ),
        (
            lambda: ours.psa_mask(zeros(1, 9, 2, 2), 2, 3),
            ValueError,
            "psa_mask: psa_type is 2, expected 0 (collect) or 1 (distribute)",
        ),
        (
            lambda: ours.PSAMask("gather", 3),
            ValueError,
            "PSAMask: psa_type is 'gather', expected 'collect' or 'distribute'",
        ),
        (
            lambda: ours.PSAMask("collect")(zeros(1, 9, 2, 2)),
            ValueError,
            "PSAMask: mask_size is None, expected (h_mask, w_mask); give it to PSAMask()",
        ),
        (
            lambda: ours.border_align(zeros(1, 6, 2, 2), zeros(1, 4, 4), 2),
            ValueError,
            "border_align: input has 6 channels, expected a multiple of 4",
        ),
        (
            lambda: ours.border_align(zeros(1, 8, 2, 2), zeros(1, 5, 4), 2),
            ValueError,
            "border_align: boxes has shape (1, 5, 4), expected (1, 4, 4) = (N, H * W, 4)",
        ),
        (
            lambda: ours.border_align(zeros(1, 8, 2, 2), zeros(1, 4, 4), 0),
            ValueError,
            "border_align: pool_size is 0, expected 1 or more",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), zeros(2, 4), None, 2),
            ValueError,
            (
                "deform_roi_pool: rois has shape (2, 4), expected (2, 5) = "
                "(R, 5), rows of (image, x1, y1, x2, y2)"
            ),
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, zeros(1, 2, 3, 2), (2, 3)),
            ValueError,
            (
                "deform_roi_pool: offset has shape (1, 2, 3, 2), expected (1, 2, 2, 3) = "
                "(R, 2, *output_size)"
            ),
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, None, (2, 2, 2)),
            ValueError,
            "deform_roi_pool: output_size is (2, 2, 2), expected an int or a pair of ints",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI + 1, None, 2),
            pymluops.BadParamError,
            "rois: ",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, None, 2, 1.0, 2**40),
            ValueError,
            "a number is too large for C: integer 1099511627776",
        ),
        (
            lambda: ours.DeformRoIPoolPack(2, 4, 8)(zeros(1, 3, 4, 4), ROI),
            ValueError,
            "DeformRoIPoolPack: input has 3 channels, expected output_channels (4)",
        ),
        (
            lambda: ours.masked_conv2d(zeros(2, 3, 4, 4), zeros(1, 4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: features holds 2 images, expected 1; call it for one image at a time",
        ),
        (
            lambda: ours.masked_conv2d(zeros(1, 3, 4, 4), zeros(4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: mask has shape (4, 4), expected (1, 4, 4) = (1, H, W)",
        ),
        (
            lambda: ours.masked_conv2d(
                zeros(1, 3, 4, 4), zeros(1, 4, 4), zeros(4, 3, 1, 1), None, 0, 2
            ),
            ValueError,
            "masked_conv2d: stride is 2, expected 1",
        ),
        (
            lambda: ours.masked_conv2d(
                zeros(1, 3, 4, 4), zeros(1, 4, 4) + 1, zeros(4, 3, 3, 3), None
            ),
            ValueError,
            (
                "masked_conv2d: mask is positive at (0, 2), outside the output of 2 x 2; "
                "use padding=(kernel_h // 2, kernel_w // 2), or clear the mask there"
            ),
        ),
        (
            lambda: ours.MaskedConv2d(2, 2, 3, padding=2, dilation=2)(
                zeros(1, 2, 4, 4), zeros(1, 4, 4)
            ),
            ValueError,
            "MaskedConv2d: dilation is (2, 2), expected 1 where a mask is given",
        ),
    ],
)
def test_errors_name_the_argument(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_tensors_on_other_devices_are_refused() -> None:
    with torch._subclasses.FakeTensorMode():
        features = torch.empty(1, 4, 3, 3, device="cuda")
        masks = torch.empty(1, 9, 6, 6, device="cuda")
        with pytest.raises(ValueError, match=r"features is a strided tensor on cuda.*\.cpu\(\)"):
            ours.carafe(features, masks, 3, 1, 2)


def test_importing_pymluops_does_not_import_torch() -> None:
    code = "import sys, pymluops; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_torch_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import pymluops.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pymluops.torch needs PyTorch: pip install 'pymluops[torch]'" in done.stderr
