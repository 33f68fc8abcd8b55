"""Results of steps on the CPU that are kept from one preview to the next.

A step's result depends on the picture, on the step and on the results that it reads. So while edits follow
one another only the edited step and its readers are computed anew. What they read is kept for the next edit;
another result only up to MOST_BYTES together, as those of a small picture are. Nothing is kept where the
engine is idle.
"""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.work.planned import CHAIN_VARIANTS, COMBINED, Plan, last_readers
from engine.work.resolve import Resolved

MOST_BYTES = 16 << 20


@dataclass
class KeptResults:
    """Results of the newest preview's steps, by what they depend on, and how long each of them took, ms."""

    _kept: dict[Hashable, np.ndarray] = field(default_factory=dict)
    _took: dict[Hashable, float] = field(default_factory=dict)

    def computed(
        self, resolved: Resolved, picture: Hashable, out: np.ndarray, report: Checkpoint
    ) -> tuple[StepTime, ...]:
        """Write the last result to `out`; return the steps with their times. `picture` names the samples."""
        plan, image = resolved.plan, resolved.samples
        (variant,) = CHAIN_VARIANTS.on("cpu")
        resolved.job().refuse(resolved.device)
        chain: Any = variant.prepare(resolved.problem, plan, variant.default_block)
        keys = _keys(plan, picture)
        needed = _needed(plan, [key in self._kept for key in keys])
        # What is not read makes room for what is computed.
        self._kept = kept = {keys[at]: self._kept[keys[at]] for at in needed if keys[at] in self._kept}
        took = {key: self._took[key] for key in keys if key in self._took}
        read_again = _read_by_changed(plan, [key not in took for key in keys])
        last_reader = last_readers(plan)
        arrays: dict[int, np.ndarray] = {}
        floats: np.ndarray | None = None
        for at in sorted(needed):
            planned, key, is_last = plan[at], keys[at], at == len(plan) - 1
            if key in kept:
                arrays[at] = kept.pop(key)
                if is_last:
                    out[...] = arrays[at]
            else:
                report(Progress(f"step {planned.step.id}", at / len(plan), 2.0))
                begin = time.perf_counter()
                reads_floats = not planned.is_mask and image.dtype != np.float32
                if reads_floats and -1 in planned.inputs and floats is None:
                    floats = reused_result(image, image.shape, np.float32)
                    chain.convert(image, floats)
                arrays[-1] = floats if reads_floats and floats is not None else image
                inputs = [arrays[one] for one in planned.inputs]
                arrays[at] = out if is_last else reused_result(inputs[0], image.shape, np.float32)
                chain.launches[at](inputs, arrays[at])
                took[key] = (time.perf_counter() - begin) * 1e3
                del inputs, arrays[-1]
            if arrays[at] is not out and (at in read_again or _bytes(kept) + arrays[at].nbytes <= MOST_BYTES):
                kept[key] = arrays[at]
            # Their memory is the next step's.
            done = [one for one in planned.inputs if last_reader.get(one) == at]
            floats = None if -1 in done else floats
            for one in done:
                arrays.pop(one, None)
        self._took = took
        return tuple(
            StepTime(
                planned.step.id,
                planned.step.title,
                "" if planned.variant_key == COMBINED else planned.variant_key,
                took.get(key, 0.0),
            )
            for planned, key in zip(plan, keys, strict=True)
        )

    def drop(self) -> None:
        """Keep nothing."""
        self._kept = {}


def _keys(plan: Plan, picture: Hashable) -> list[Hashable]:
    """Return what the result of each step depends on."""
    keys: list[Hashable] = []
    for planned in plan:
        # How it is called and from where it reads by what name changes nothing.
        step = replace(planned.step, id="", input="")
        read = tuple(picture if one == -1 else keys[one] for one in planned.inputs)
        keys.append((step, planned.variant_key, planned.block, planned.problem, read))
    return keys


def _needed(plan: Plan, are_kept: Sequence[bool]) -> set[int]:
    """Return the steps whose results are computed or read: what stands before a kept one is neither."""
    needed, ahead = set[int](), [len(plan) - 1]
    while ahead:
        at = ahead.pop()
        if at < 0 or at in needed:
            continue
        needed.add(at)
        if not are_kept[at]:
            ahead += plan[at].inputs
    return needed


def _read_by_changed(plan: Plan, are_changed: Sequence[bool]) -> set[int]:
    """Return the steps that did not change and are read by one that did, or by the last if none did."""
    changed = [at for at, is_changed in enumerate(are_changed) if is_changed] or [len(plan) - 1]
    return {one for at in changed for one in plan[at].inputs if one >= 0} - set(changed)


def _bytes(kept: Mapping[Hashable, np.ndarray]) -> int:
    return sum(array.nbytes for array in kept.values())
