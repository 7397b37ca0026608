# SPDX-License-Identifier: Apache-2.0
"""Results at any place of memory, of any number of threads, near in the caches and past them."""

import guard
import numpy as np

LINE = 64
UNTOUCHED = 0xA5


def _at_place(array, place):
    """An array like this that begins `place` bytes into a cache line, and all memory around it."""
    memory = np.full(array.nbytes + 4 * LINE, UNTOUCHED, np.uint8)
    begin = 2 * LINE - memory.ctypes.data % LINE + place
    inside = slice(begin, begin + array.nbytes)
    return memory[inside].view(array.dtype).reshape(array.shape), memory, inside


def _outputs(like, fences, places):
    """Arrays like these between guard pages, then at places of a line, beside which nothing may be
    written."""
    for fence in fences:
        made = [fence(array) for array in like]
        for array in made:
            array.view(np.uint8)[...] = UNTOUCHED
        yield made
    for place in places:
        around = [_at_place(array, place) for array in like]
        yield [array for array, _, _ in around]
        for _, memory, inside in around:
            assert (memory[: inside.start] == UNTOUCHED).all()
            assert (memory[inside.stop :] == UNTOUCHED).all()


def inputs_at(place, *arrays):
    """Copies that begin `place` bytes into a cache line."""
    copies = [_at_place(array, place)[0] for array in arrays]
    for copy, array in zip(copies, arrays, strict=True):
        copy[...] = array
    return copies


def results_everywhere(call, like, near_and_past, places=(0, 4, 36, 60)):
    """Run call(handle, *outputs) with both handles, 1 to 5 threads and outputs anywhere, and check
    that all results have the same bits. Returns them."""
    near, past = near_and_past
    size = min(array.itemsize for array in like)
    places = [place for place in places if place % size == 0]
    first = None
    for handle, threads, fences, some in (
        (near, 1, guard.BOTH, places[1:2]),
        (past, 1, guard.BOTH, places),
        (past, 2, (), places[1:2]),
        (near, 3, (), places[:1]),
        (past, 3, guard.BOTH[:1], ()),
        (past, 5, guard.BOTH[1:], places[:1]),
    ):
        handle.num_threads = threads
        for outputs in _outputs(like, fences, some):
            call(handle, *outputs)
            bits = [array.tobytes() for array in outputs]
            first = first or (bits, [array.copy() for array in outputs])
            assert bits == first[0], ("past" if handle is past else "near", threads)
    return first[1]
