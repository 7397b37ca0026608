# SPDX-License-Identifier: Apache-2.0
"""The PyTorch modules: defaults, the sums behind the packs, and models made of them."""

import copy
import inspect
import pickle

import pytest
import torch
import torch_reference as reference
from torch import Tensor, nn
from torch.nn import functional

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
