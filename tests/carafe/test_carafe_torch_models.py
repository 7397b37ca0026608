# SPDX-License-Identifier: Apache-2.0
"""Models with CARAFE in PyTorch: a pyramid, a fusion, export, compilation, autocast."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_families import of_family

import pymluops.torch as ours

reference = of_family("carafe").reference


def test_state_dict_keys() -> None:
    assert list(ours.CARAFEPack(8, 2).state_dict()) == [
        "channel_compressor.weight",
        "channel_compressor.bias",
        "content_encoder.weight",
        "content_encoder.bias",
    ]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_carafe_pack_is_what_its_parts_say(memory_format: torch.memory_format) -> None:
    pack = ours.CARAFEPack(6, 2, up_kernel=3, up_group=2, compressed_channels=4)
    nn.init.normal_(pack.content_encoder.weight)
    x = torch.randn(2, 6, 4, 5).to(memory_format=memory_format)
    predicted = functional.pixel_shuffle(pack.content_encoder(pack.channel_compressor(x)), 2)
    masks = predicted.view(2, 2, 9, 8, 10).softmax(2).view(2, 18, 8, 10)
    expected = reference(x, masks, 3, 2, 2)
    torch.testing.assert_close(pack(x), expected)
    assert pack(x).is_contiguous(memory_format=memory_format)


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
    fine = 2 * fine - reference(fine, model.high_pass(guide).softmax(1), 5, 1, 1)
    return fine + reference(coarse, model.low_pass(guide).softmax(1), 5, 1, 2)


class _Upsample(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = ours.CARAFEPack(4, 2, compressed_channels=4)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x).relu()


def test_export_with_a_dynamic_batch_and_size() -> None:
    model = _Upsample().eval()
    dynamic = {0: torch.export.Dim("n"), 2: torch.export.Dim("h"), 3: torch.export.Dim("w")}
    program = torch.export.export(model, (torch.randn(2, 4, 6, 7),), dynamic_shapes=(dynamic,))
    assert "pymluops.carafe.default" in str(program.graph)
    for shape in ((2, 4, 6, 7), (3, 4, 5, 9)):
        x = torch.randn(shape)
        assert torch.equal(program.module()(x), model(x))


def test_compile_sees_new_shapes_without_a_new_graph() -> None:
    count = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(ours.carafe, fullgraph=True, dynamic=True, backend=count)
    for size in (3, 4, 5):
        args = torch.randn(2, 4, size, size), torch.randn(2, 9, 2 * size, 2 * size), 3, 1, 2
        assert torch.equal(compiled(*args), ours.carafe(*args))
    assert count.frame_count == 1


def test_a_model_trains_under_autocast() -> None:
    model = _Upsample()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(1, 4, 5, 5)).square().mean()
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_an_input_changed_before_backward_is_noticed() -> None:
    features = torch.randn(1, 4, 3, 3).requires_grad_()
    masks = torch.randn(1, 9, 6, 6)
    result = ours.carafe(features, masks, 3, 1, 2)
    masks.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
