"""Runs the CUDA variants' own source in plain Python with arrays that count, to check the models of their work.

A kernel with one barrier is run twice by every thread of a block, one thread after the other: up to the barrier,
and then from the start with the loads before the barrier not counted again.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CellType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from engine.block import Block
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import Variant


class _AtBarrier(Exception):
    pass


@dataclass
class Counter:
    """Whether accesses count now."""

    on: bool = True


@dataclass
class CountingArray:
    """An array that counts the elements that are read and written one by one."""

    values: np.ndarray
    counter: Counter
    loads: int = 0
    stores: int = 0
    shape: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.shape = self.values.shape

    def __getitem__(self, index: tuple[int, ...]) -> Any:
        assert all(0 <= i < length for i, length in zip(index, self.shape, strict=True)), (index, self.shape)
        self.loads += self.counter.on
        return self.values[index]

    def __setitem__(self, index: tuple[int, ...], value: object) -> None:
        assert all(0 <= i < length for i, length in zip(index, self.shape, strict=True)), (index, self.shape)
        self.stores += self.counter.on
        self.values[index] = value


@dataclass
class Counts:
    """Bytes asked of memory, and the result."""

    image_load_bytes: int
    weight_load_bytes: int
    out_store_bytes: int
    shared_load_bytes: int
    shared_store_bytes: int
    out: np.ndarray


def count(variant: Variant, problem: Problem, mask: Mask, block: Block, image: np.ndarray) -> Counts:
    """Run a CUDA variant's kernel thread by thread and count."""
    counter, shared, started = Counter(), [], []
    place = SimpleNamespace()

    def shared_array(shape: tuple[int, int], dtype: object) -> CountingArray:
        if not shared or shared[-1][0] != place.block:
            shared.append((place.block, CountingArray(np.full(shape, np.nan, np.float32), counter)))
        return shared[-1][1]

    def barrier() -> None:
        if place.first_pass:
            raise _AtBarrier
        counter.on = True

    def grid(dimensions: int) -> tuple[int, int]:
        assert dimensions == 2
        return place.block[0] * block.x + place.thread[0], place.block[1] * block.y + place.thread[1]

    cuda = SimpleNamespace(grid=grid, syncthreads=barrier, shared=SimpleNamespace(array=shared_array))
    (source,) = variant.kernels(problem, mask, block)
    kernel = _rebound(source.function, cuda, problem.border.rule)
    (launch,) = variant.plan(problem, block)
    picture, weights = CountingArray(image, counter), CountingArray(mask.weights32, counter)
    out = CountingArray(np.full(image.shape, np.nan, np.float32), counter)
    arguments = (
        picture,
        weights,
        *mask.anchor,
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        out,
    )
    for place.block in itertools.product(*map(range, launch.grid)):
        cuda.blockIdx = SimpleNamespace(x=place.block[0], y=place.block[1], z=place.block[2])
        for place.first_pass in (True, False):
            for place.thread in itertools.product(range(block.x), range(block.y)):
                cuda.threadIdx = SimpleNamespace(x=place.thread[0], y=place.thread[1])
                if not place.first_pass and place.block not in started:
                    continue  # a kernel without a barrier has done everything in the first pass
                counter.on = place.first_pass
                try:
                    kernel(*arguments)
                except _AtBarrier:
                    started.append(place.block)
    return Counts(
        image_load_bytes=picture.loads * image.itemsize,
        weight_load_bytes=weights.loads * 4,
        out_store_bytes=out.stores * 4,
        shared_load_bytes=sum(array.loads for _, array in shared) * 4,
        shared_store_bytes=sum(array.stores for _, array in shared) * 4,
        out=out.values,
    )


def _rebound(function: Callable[..., None], cuda: object, rule: Callable[[int, int], int]) -> FunctionType:
    """Return the kernel with a stand-in for `cuda` and with the border's plain rule."""
    cells = tuple(
        CellType(rule) if name == "rule" else cell
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    names = function.__globals__ | {"cuda": cuda, "float32": np.float32}
    return FunctionType(function.__code__, names, function.__name__, None, cells)
