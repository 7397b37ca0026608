# SPDX-License-Identifier: Apache-2.0
"""mmcv's deformable convolution on our operators, where it goes its own way."""

import pytest
import torch
from installed_mmcv import theirs
from torch import nn
from torch_case import seeded

import pymluops.torch as ours


def test_larger_maps_in_mmcv() -> None:
    """Its own autograd function, which calls the compiled module."""
    args = [seeded(2, 4, 6, 5), seeded(2, 18, 6, 5), seeded(2, 9, 6, 5), seeded(3, 4, 3, 3)]
    args.append(seeded(3))
    original = theirs.modulated_deform_conv.ModulatedDeformConv2dFunction.apply
    found = []
    for function in (original, ours.modulated_deform_conv2d):
        leaves = [arg.clone().requires_grad_() for arg in args]
        result = function(*leaves, 2, 1)
        result.square().sum().backward()
        found.append([result, *(leaf.grad for leaf in leaves)])
    for its, mine in zip(*found, strict=True):
        torch.testing.assert_close(its, mine)


def test_a_map_below_the_kernel() -> None:
    """mmcv's module pads such a map; the result is the same."""
    mine = ours.DeformConv2d(2, 3, 5, padding=2)
    its = theirs.DeformConv2d(2, 3, 5, padding=2)
    its.load_state_dict(mine.state_dict())
    x, offset = seeded(1, 2, 3, 4), seeded(1, 50, 3, 4)
    torch.testing.assert_close(mine(x, offset), its(x, offset))


@pytest.mark.parametrize("name", ["DeformConv2dPack", "ModulatedDeformConv2dPack"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_of_packs(name: str, dtype: torch.dtype) -> None:
    """Offsets are predicted in the narrow dtype, all else is float32."""
    mine, its = (getattr(package, name)(3, 4, 3, padding=1) for package in (ours, theirs))
    nn.init.normal_(mine.conv_offset.weight)
    its.load_state_dict(mine.state_dict())
    x = seeded(1, 3, 6, 7)
    results = []
    for made in (mine, its):
        with torch.autocast("cpu", dtype=dtype):
            results.append(made(x))
        results[-1].sum().backward()
        assert all(p.grad is not None for p in made.parameters())
    assert results[1].dtype == torch.float32
    torch.testing.assert_close(*results, rtol=2e-2, atol=2e-2)


def test_mmengine_gives_offsets_their_learning_rate() -> None:
    """It looks for deformable convolutions only if it finds that mmcv has operators."""
    from mmengine.optim import build_optim_wrapper

    model = nn.Sequential(
        theirs.DeformConv2dPack(4, 4, 3), theirs.ModulatedDeformConv2dPack(4, 4, 3)
    )
    config = {
        "optimizer": {"type": "SGD", "lr": 1.0},
        "paramwise_cfg": {"dcn_offset_lr_mult": 0.125, "bias_lr_mult": 2.0},
    }
    groups = build_optim_wrapper(model, config).optimizer.param_groups
    rates = {id(group["params"][0]): group["lr"] for group in groups}
    assert {name: rates[id(given)] for name, given in model.named_parameters()} == {
        "0.weight": 1.0,
        "0.conv_offset.weight": 0.125,
        "0.conv_offset.bias": 0.125,
        "1.weight": 1.0,
        "1.bias": 2.0,
        "1.conv_offset.weight": 0.125,
        "1.conv_offset.bias": 0.125,
    }
