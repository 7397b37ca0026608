# SPDX-License-Identifier: Apache-2.0
"""The modules of deformable convolution: signatures, state dicts, learning, export."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch_case import assert_signature, seeded

import pymluops.torch as ours
from pymluops.torch import _tensors

LAST = torch.channels_last

PLAIN = (
    "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
    "deform_groups=1, bias=False, im2col_step=32"
)
MODULATED = PLAIN.replace("False, im2col_step=32", "True")


MODULES = {
    ours.DeformConv2d: PLAIN,
    ours.DeformConv2dPack: PLAIN,
    ours.ModulatedDeformConv2d: MODULATED,
    ours.ModulatedDeformConv2dPack: MODULATED,
}


@pytest.mark.parametrize(("module", "signature"), MODULES.items())
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


@pytest.mark.parametrize("module", MODULES)
def test_constructors_take_the_old_name_of_deform_groups(module: type[nn.Module]) -> None:
    """As mmcv's do, of which old configurations make use; not both names at once."""
    with pytest.warns(DeprecationWarning, match=f"in `{module.__name__}.__init__`.*deform_groups"):
        made = module(4, 6, 3, deformable_groups=2)
    assert made.deform_groups == 2
    with pytest.raises(TypeError, match="deformable_groups is the old name of deform_groups"):
        module(4, 6, 3, deformable_groups=2, deform_groups=2)
    with pytest.raises(TypeError, match="deform_group"):
        module(4, 6, 3, deform_group=2)


def test_the_modules_describe_and_copy_themselves() -> None:
    text = (
        "in_channels=4, out_channels=6, kernel_size=(3, 2), stride=(1, 1), padding=(1, 1), "
        "dilation=(1, 1), groups=2, deform_groups=1, bias="
    )
    for module, bias in ((ours.DeformConv2d, False), (ours.ModulatedDeformConv2d, True)):
        made = module(4, 6, (3, 2), padding=1, groups=2)
        assert repr(made) == f"{module.__name__}({text}{bias})"
        assert repr(copy.deepcopy(made)) == repr(made)
        assert repr(pickle.loads(pickle.dumps(made))) == repr(made)


def test_state_dict_keys() -> None:
    offset = ["conv_offset.weight", "conv_offset.bias"]
    assert list(ours.DeformConv2d(4, 4, 3).state_dict()) == ["weight"]
    assert list(ours.DeformConv2dPack(4, 4, 3).state_dict()) == ["weight", *offset]
    both = ["weight", "bias"]
    assert list(ours.ModulatedDeformConv2d(4, 4, 3).state_dict()) == both
    assert list(ours.ModulatedDeformConv2dPack(4, 4, 3).state_dict()) == [*both, *offset]
    without = ours.ModulatedDeformConv2dPack(4, 4, 3, bias=False)
    assert list(without.state_dict()) == ["weight", *offset]


@pytest.mark.parametrize("module", [ours.DeformConv2dPack, ours.ModulatedDeformConv2dPack])
def test_checkpoints_of_before_version_2(module: type[nn.Module]) -> None:
    """What predicts the offsets stood beside the layer then, not in it.

    mmengine gives each layer the whole checkpoint; torch gives it what begins with its own name.
    """
    made, other = module(2, 3, 3), module(2, 3, 3)
    nn.init.normal_(made.conv_offset.weight)
    state = {f"conv.{key}": value for key, value in made.state_dict().items()}
    old = {key.replace("conv.conv_offset", "conv_offset"): value for key, value in state.items()}
    missing: list[str] = []
    other._load_from_state_dict(old, "conv.", {}, True, missing, [], [])
    other.conv_offset._load_from_state_dict(old, "conv.conv_offset.", {}, True, missing, [], [])
    assert missing == []
    assert torch.equal(other.conv_offset.weight, made.conv_offset.weight)


def test_a_new_pack_is_a_plain_convolution() -> None:
    x = seeded(2, 4, 6, 7)
    for module, share in ((ours.DeformConv2dPack, 1), (ours.ModulatedDeformConv2dPack, 0.5)):
        made = module(4, 6, 3, stride=2, padding=1, deform_groups=2)
        dense = nn.functional.conv2d(x, made.weight, stride=2, padding=1)
        torch.testing.assert_close(made(x), dense * share, rtol=1e-5, atol=1e-6)
        result = made(x.to(memory_format=LAST))
        assert result.is_contiguous(memory_format=LAST)
        torch.testing.assert_close(result, dense * share, rtol=1e-5, atol=1e-6)


def test_a_pack_learns() -> None:
    """Offsets and masks move away from where they began, and the loss falls."""
    torch.manual_seed(0)
    made = ours.ModulatedDeformConv2dPack(3, 4, 3, padding=1)
    x, wanted = seeded(2, 3, 8, 8), seeded(2, 4, 8, 8)
    optimizer = torch.optim.SGD(made.parameters(), 0.1)
    losses = []
    for _ in range(20):
        loss = (made(x) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    assert made.conv_offset.weight.abs().min() > 0


class Fixed(nn.Module):
    """What predicts the same for any input."""

    def __init__(self, value: Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self, _: Tensor) -> Tensor:
        return self.value


@pytest.mark.parametrize("name", ["DeformConv2dPack", "ModulatedDeformConv2dPack"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_predicts_in_16_bits_and_samples_in_32(name: str, dtype: torch.dtype) -> None:
    """Predicted offsets are of the narrow dtype, all else is float32."""
    torch.manual_seed(3)
    made = getattr(ours, name)(3, 4, 3, padding=1)
    nn.init.normal_(made.conv_offset.weight)
    x = seeded(1, 3, 6, 7).requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        result = made(x)
        predicted = made.conv_offset(x)
    assert predicted.dtype == dtype
    assert result.dtype == torch.float32
    result.sum().backward()
    assert all(p.grad is not None for p in (x, *made.parameters()))
    made.conv_offset = Fixed(predicted.float())
    torch.testing.assert_close(result, made(x), rtol=2e-2, atol=2e-2)


def test_channels_last_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model in channels_last needs no conversion, forward and backward; else each tensor one."""
    copies = []
    original = _tensors.copied

    def counted(tensor: Tensor, dtype: torch.dtype, wanted: torch.memory_format) -> Tensor:
        copies.append(tensor.shape)
        return original(tensor, dtype, wanted)

    monkeypatch.setattr(_tensors, "copied", counted)
    module = ours.ModulatedDeformConv2d(4, 6, 3, padding=1)
    tensors = [seeded(2, c, 5, 7).requires_grad_() for c in (4, 18, 9)]
    result = module(*tensors)
    result.backward(torch.ones_like(result))
    # Input, offset, mask, weight and output, and in the backward these again and their gradients.
    assert len(copies) == 14
    copies.clear()
    module.to(memory_format=LAST)
    tensors = [x.detach().to(memory_format=LAST).requires_grad_() for x in tensors]
    result = module(*tensors)
    result.backward(torch.ones_like(result))
    assert copies == []


@pytest.mark.parametrize("module", [ours.DeformConv2dPack, ours.ModulatedDeformConv2dPack])
def test_export(module: type[nn.Module]) -> None:
    made = module(4, 6, 3, padding=1).eval()
    x = seeded(2, 4, 6, 7)
    exported = torch.export.export(made, (x,)).module()
    assert torch.equal(exported(x), made(x))


def test_export_with_sizes_that_are_open() -> None:
    made = ours.DeformConv2dPack(4, 6, 3, padding=1).eval()
    n, h, w = (torch.export.Dim(name, min=2, max=64) for name in ("n", "h", "w"))
    exported = torch.export.export(
        made, (seeded(3, 4, 6, 7),), dynamic_shapes=({0: n, 2: h, 3: w},)
    ).module()
    x = seeded(2, 4, 9, 5)
    assert torch.equal(exported(x), made(x))
