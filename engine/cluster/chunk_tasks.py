"""What Dask's workers run: one task settles how all chunks are computed, then a task computes each of them.

What is the same for all chunks is the first task's result: it crosses the line once per worker, and all
chunks have one variant, one block and one kind of device, so that their bits do not depend on where each is
computed. A task uses one core, as a worker runs one on each of its threads.
"""

import math
import sys
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from engine.api.calls import check_block, check_choices, computed
from engine.api.plan import filtered
from engine.cluster.cuts import Cut
from engine.device.core_count import launches_on
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.run.variant import AnyVariant
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.request import FilterRequest
from engine.work.filtering.resolve import ResolvedFilter
from engine.work.filtering.task import FILTERING
from engine.work.filtering.variants import Variant
from engine.work.operations.request import OperationRequest
from engine.work.operations.resolve import ResolvedOperation
from engine.work.pictures import as_samples, sample_type


class ChunkWork(Protocol):
    """What is computed of each chunk with its halo."""

    def settled(self, shape: tuple[int, ...], given: np.dtype, is_cut: bool) -> Self:
        """Return it with variant, block and device chosen, for chunks of up to this shape; or refuse it."""

    def __call__(self, chunk: np.ndarray) -> np.ndarray:
        """Return the result of a chunk, of its shape."""


@dataclass(frozen=True)
class FilterWork:
    """Filtering by a mask."""

    asked: FilterRequest

    def settled(self, shape: tuple[int, ...], given: np.dtype, is_cut: bool) -> "FilterWork":
        """Return it with the choice for that shape on this worker."""
        asked = self.asked
        resolved = ResolvedFilter(asked, _like(shape, given), np.broadcast_to(np.zeros((), given), shape))
        problem, device = resolved.problem, resolved.device
        variant, block, _ = choose(asked.variant, problem, asked.mask, asked.block, device, is_cut)
        if is_cut:
            refuse_in_chunks(variant)
        _check(asked, variant, device)
        FILTERING.refuse(variant, problem, asked.mask, block, device)
        return FilterWork(replace(asked, variant=variant.key, block=block, device=device.key))

    def __call__(self, chunk: np.ndarray) -> np.ndarray:
        """Return a chunk filtered, by the plan that this worker keeps for its shape."""
        asked = self.asked
        options = (
            asked.border, asked.cval, None, asked.variant, asked.block, asked.device, False, asked.layout,
            asked.result_type,
        )  # fmt: skip
        values: np.ndarray = filtered(chunk, asked.mask, options, None, None)
        return values


@dataclass(frozen=True)
class OperationWork:
    """Another operation, of which a sample depends on a window."""

    asked: OperationRequest

    def settled(self, shape: tuple[int, ...], given: np.dtype, is_cut: bool) -> "OperationWork":
        """Return it with the choice for that shape on this worker."""
        resolved = ResolvedOperation(self.asked, _like(shape, given))
        variant, block, _ = resolved.choice
        _check(self.asked, variant, resolved.device)
        resolved.job().refuse(resolved.device)
        return OperationWork(
            replace(self.asked, variant=variant.key, block=block, device=resolved.device.key)
        )

    def __call__(self, chunk: np.ndarray) -> np.ndarray:
        """Return what the operation makes of a chunk."""
        resolved = ResolvedOperation(self.asked, as_samples(chunk))
        return computed(resolved.job(), resolved.device, chunk.shape)


@dataclass(frozen=True)
class Settled:
    """What is the same for all chunks, as their tasks get it."""

    work: ChunkWork
    rows: Cut
    columns: Cut

    def of_chunk(self, chunk: np.ndarray, row: int, column: int) -> np.ndarray:
        """Return the result of a chunk, without its halo."""
        try:
            values = self.work(chunk)
        except UnsupportedVariant as error:
            # Its samples, whose rows and columns the refusal counts within the chunk.
            top, left = self.rows.begin(row), self.columns.begin(column)
            where = f"{error.what} on the part from row {top}, column {left}"
            raise UnsupportedVariant(where, error.refusal) from None
        return values[self.rows.own(row), self.columns.own(column)]


def settle(
    work: ChunkWork, rows: Cut, columns: Cut, shape: tuple[int, ...], given: np.dtype, result: np.dtype
) -> Settled:
    """Return how all chunks are computed; the largest with its halo has this shape.

    Called on: a worker, once for an array. Refuses what its variant, its device or its memory cannot do.
    """
    _refuse_memory(shape, math.prod(shape) * (given.itemsize + result.itemsize))
    with launches_on(1):
        return Settled(work.settled(shape, given, len(rows.chunks) * len(columns.chunks) > 1), rows, columns)


def compute_chunk(chunk: np.ndarray, settled: Settled, block_id: tuple[int, ...]) -> np.ndarray:
    """Return the result of a chunk with its halo. Called on: a thread of a worker."""
    with launches_on(1):
        return settled.of_chunk(chunk, *block_id[:2])


def refuse_in_chunks(variant: Variant) -> None:
    """Raise UnsupportedVariant for a variant whose results depend on where the chunks are cut."""
    if not variant.band_invariant:
        why = "its sums run through the whole picture, and parts would differ from it in their last digits"
        remedy = "Make the array one chunk, array.rechunk(-1), or name a direct variant."
        refusal = Refusal("not-in-bands", why, remedy=remedy)
        raise UnsupportedVariant(f"variant '{variant.key}' on an array in chunks", refusal)


def _like(shape: tuple[int, ...], given: np.dtype) -> np.ndarray:
    """Return a picture (H, W, C) of one sample, repeated: choosing reads none."""
    sample = np.zeros((), sample_type(shape, given))
    return np.broadcast_to(sample, shape if len(shape) == 3 else (*shape, 1))


def _check(
    asked: FilterRequest | OperationRequest, variant: AnyVariant[Any, Any], device: DeviceInfo
) -> None:
    check_choices(asked.variant, asked.device)
    if asked.block is not None:
        check_block(asked.block, variant, device)


def _refuse_memory(shape: tuple[int, ...], needed: int) -> None:
    """Refuse chunks that a worker of `distributed` has no memory for: it would be ended again and again."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return
    try:
        limit = distributed.get_worker().memory_manager.memory_limit
    except ValueError:
        # Not within a task of a worker: Dask's own schedulers set no limit.
        return
    if limit and needed > limit:
        sides = " × ".join(map(str, shape))
        raise BadValue(
            f"chunks of {sides}",
            f"one takes {needed / 1e9:.3g} GB with its result, and a worker has {limit / 1e9:.3g} GB",
            "Make smaller ones: array.rechunk({0: 1024, 1: 1024}).",
        )
