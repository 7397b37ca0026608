# SPDX-License-Identifier: Apache-2.0
"""Tensors on their way to C and back: the bits and the strides of torch's own copies."""

import re
from pathlib import Path

import pytest
import torch

from pymluops.torch import _tensors

LAST, FIRST = torch.channels_last, torch.contiguous_format
SHAPES = [(1, 1, 1, 1), (2, 3, 5, 7), (2, 33, 1, 9), (1, 160, 7, 7), (3, 20, 16, 17)]


def random_bits(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Elements of every kind, NaNs with payloads among them."""
    size = torch.empty(0, dtype=dtype).element_size()
    generator = torch.Generator().manual_seed(sum(shape))
    count = torch.Size(shape).numel() * size
    made = torch.randint(0, 256, (count,), dtype=torch.uint8, generator=generator)
    return made.view(dtype).view(shape)


def same(ours: torch.Tensor, expected: torch.Tensor, memory: torch.memory_format) -> bool:
    bits = {2: torch.int16, 4: torch.int32}[ours.element_size()]
    return ours.is_contiguous(memory_format=memory) and torch.equal(
        ours.view(bits), expected.view(bits)
    )


def forms(x: torch.Tensor) -> list[torch.Tensor]:
    """The same numbers in memory of every kind."""
    padded = torch.zeros((*x.shape[:3], x.shape[3] + 1), dtype=x.dtype)
    padded[..., 1:] = x
    unaligned = torch.frombuffer(bytearray(x.nbytes + 1), dtype=x.dtype, offset=1).view(x.shape)
    return [
        x,
        x.contiguous(memory_format=LAST),
        padded[..., 1:],
        torch.cat([x[:1], x])[1:],
        x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
        unaligned.copy_(x),
        torch.cat([x, x], 1)[:, x.shape[1] :],
        torch.cat([x, x], 1).contiguous(memory_format=LAST)[:, : x.shape[1]],
        torch.cat([x, x], 2).contiguous(memory_format=LAST)[:, :, x.shape[2] :],
    ]


@pytest.fixture(params=["by size", "ours"])
def whose(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who converts: small tensors torch, or all of them the library."""
    if request.param == "ours":
        monkeypatch.setattr(_tensors, "SMALL_BYTES", 0)


@pytest.mark.usefixtures("whose")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_are_those_of_torch(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for x in forms(random_bits(shape, dtype)):
        copy = torch.empty(shape, dtype=dtype).copy_(x)
        assert same(_tensors.to_nhwc(x, dtype), copy, LAST)
        assert same(_tensors.to_dense(x, dtype), copy, FIRST)
        for like in (copy, copy.contiguous(memory_format=LAST)):
            assert same(_tensors.as_input(x, like), copy, _tensors.memory_format(like))


@pytest.mark.usefixtures("whose")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_wider_and_narrower_on_the_way(shape: tuple[int, ...]) -> None:
    for x in forms(torch.randn(shape).bfloat16()):
        assert torch.equal(_tensors.to_nhwc(x, torch.float32), x.float())
        assert torch.equal(_tensors.to_dense(x, torch.float32), x.float())
        result = torch.randn(shape).contiguous(memory_format=LAST)
        assert torch.equal(_tensors.as_input(result, x), result.bfloat16())


def test_the_library_converts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = _tensors.call

    def call(function: str, *arguments: object) -> None:
        calls.append(function)
        original(function, *arguments)

    monkeypatch.setattr(_tensors, "call", call)
    monkeypatch.setattr(_tensors, "SMALL_BYTES", 0)
    first = torch.randn(2, 5, 4, 3)
    last = _tensors.to_nhwc(first, torch.float32)
    assert torch.equal(_tensors.to_dense(last, torch.float32), first)
    assert torch.equal(_tensors.as_input(last, first), first)
    assert torch.equal(_tensors.as_input(first, last), first)
    assert calls == ["mluOpCpuConvertLayout"] * 4
    assert _tensors.to_nhwc(last, torch.float32) is last
    assert _tensors.to_dense(first, torch.float32) is first
    assert len(calls) == 4
    for part in (first[:, 1:3], last[:, 1:3], first[:, :, 1:, :2]):
        turned = _tensors.to_dense if part.stride(1) == 1 else _tensors.to_nhwc
        assert torch.equal(turned(part, torch.float32), part)
    assert len(calls) == 7


def test_large_results_are_in_huge_pages():
    """Where the system has them at all: what it promises for a range of memory is in smaps."""
    if not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("this kernel has no huge pages")
    x = torch.zeros(1, 16, 1024, 1024)
    last = _tensors.to_nhwc(x, x.dtype)
    first = _tensors.to_dense(last, x.dtype)
    for made in (last, first):
        assert "hg" in flags_of_memory(made.data_ptr() + made.nbytes // 2)


def flags_of_memory(address: int) -> list[str]:
    """Return the VmFlags of the range of memory that an address lies in."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    pytest.fail("no such memory")
