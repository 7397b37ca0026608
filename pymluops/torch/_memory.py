# SPDX-License-Identifier: Apache-2.0
"""Memory of tensors: new memory in huge pages, and what a thread keeps between calls.

malloc gives large blocks back to the system. The next call gets them as new pages, whose first
touch takes longer than the conversion of a tensor. So a thread keeps the memory of tensors that no
operator returns: copies of its inputs and results that are to be converted.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pymluops.capi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

#: From this size on, memory is asked for in huge pages. NumPy has the same limit.
HUGE_BYTES = 1 << 22
#: A thread keeps at most so much.
KEPT_BYTES = 1 << 27
#: Smaller blocks are left to malloc, which keeps them.
LEAST_BYTES = 1 << 17


# Not part of torch's documented interface: where it is missing, nothing is kept.
_use_count = getattr(torch._C, "_storage_Use_Count", None)


class _Kept(threading.local):
    def __init__(self) -> None:
        self.blocks: list[torch.UntypedStorage] = []  # the one that was used last is the last


_kept = _Kept()


def new_memory(shape: Sequence[int], **options: Any) -> Tensor:
    """Allocate as ``torch.empty`` does, large tensors in huge pages.

    The first touch of new pages of 4 KiB takes longer than most operators. A tensor that stands
    for none, as the tracers' do, has no memory.
    """
    made = torch.empty(*shape, **options)  # a tuple or a torch.Size takes up to 0.7 us more
    if type(made) is Tensor and made.nbytes >= HUGE_BYTES:
        lib.pymluops_advise_huge_pages(ffi.cast("void *", made.data_ptr()), made.nbytes)
    return made


def kept_nhwc(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return a channels_last tensor in memory that this thread keeps.

    The memory is used again as soon as no tensor refers to it. The shape is (N, C, H, W).
    """
    n, c, h, w = shape
    size = n * c * h * w * dtype.itemsize
    if _use_count is None or not LEAST_BYTES <= size <= KEPT_BYTES:
        return new_memory(shape, dtype=dtype, memory_format=torch.channels_last)
    # Nobody else takes a block before a tensor refers to it: a signal handler finds none.
    blocks, _kept.blocks = _kept.blocks, []
    block = _free_block(blocks, size)
    if block is None:
        block = new_memory((size,), dtype=torch.uint8).untyped_storage()
    blocks.append(block)
    while sum(each.nbytes() for each in blocks) > KEPT_BYTES:
        del blocks[0]
    made = torch.empty(0, dtype=dtype).set_(block, 0, (n, c, h, w), (c * h * w, 1, w * c, c))
    _kept.blocks = blocks
    return made


def _free_block(blocks: list[torch.UntypedStorage], size: int) -> torch.UntypedStorage | None:
    """Take a block out of the list that no tensor refers to, and that is at most twice as large.

    The one that was used last may still be in a cache.
    """
    for i in range(len(blocks) - 1, -1, -1):
        block = blocks[i]
        fits = size <= block.nbytes() <= 2 * size
        if fits and _use_count is not None and _use_count(block._cdata) == 1:
            return blocks.pop(i)
    return None


def empty_cache() -> None:
    """Free the memory that the operators keep for the calling thread between calls."""
    _kept.blocks = []
