"""Results of steps on the CPU that are kept from one preview to the next.

A step's result depends on the picture, on the step and on the results that it reads. So while edits follow
one another only the edited step and its readers are computed anew. What the newest chain does not have any
more is dropped; so is what is more than MOST_BYTES together, and all of it where the engine is idle.
"""

import time
from collections.abc import Container, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.tasks.chain.planned import COMBINED
from engine.tasks.chain.resolve import ResolvedChain
from engine.tasks.chain.variants import CHAIN_VARIANTS

MOST_BYTES = 300_000_000
_FLOATS = "float32"


@dataclass
class KeptResults:
    """The results of the newest preview's steps, by what they depend on, with the time that each took, ms."""

    _kept: dict[Hashable, tuple[np.ndarray, float]] = field(default_factory=dict)

    def computed(
        self, resolved: ResolvedChain, picture: Hashable, out: np.ndarray, report: Checkpoint
    ) -> tuple[StepTime, ...]:
        """Write the last result to `out`; return the steps with their times. `picture` names the samples."""
        plan, image = resolved.plan, resolved.samples
        (variant,) = CHAIN_VARIANTS.on("cpu")
        resolved.job().refuse(resolved.device)
        chain: Any = variant.prepare(resolved.problem, plan, variant.default_block)
        keys: list[Hashable] = []
        for planned in plan:
            # How it is called and from where it reads by what name changes nothing.
            step = replace(planned.step, id="", input="")
            read = tuple(picture if one == -1 else keys[one] for one in planned.inputs)
            keys.append((step, planned.variant_key, planned.block, planned.problem, read))
        # Another thread may drop it.
        known = self._kept
        kept: dict[Hashable, tuple[np.ndarray, float]] = {}
        room = MOST_BYTES
        arrays: dict[int, np.ndarray] = {-1: image}
        times: list[float] = []

        def floats() -> np.ndarray:
            key = picture, _FLOATS
            if key not in kept:
                made = known.get(key)
                if made is None:
                    made = reused_result(image, image.shape, np.float32), 0.0
                    chain.convert(image, made[0])
                kept[key] = made
            return kept[key][0]

        needed = _needed(known, keys, [planned.inputs for planned in plan])
        for at, (planned, key) in enumerate(zip(plan, keys, strict=True)):
            is_last = at == len(plan) - 1
            if at not in needed or (key in known and not is_last):
                found = known.get(key)
                times.append(found[1] if found else 0.0)
                if found is not None:
                    kept[key], arrays[at] = found, found[0]
                continue
            report(Progress(f"step {planned.step.id}", at / len(plan), 2.0))
            begin = time.perf_counter()
            if key in known:
                out[...] = known[key][0]
                kept[key] = known[key]
                times.append(known[key][1])
                continue
            use_floats = planned.reads_floats and image.dtype != np.float32
            inputs = [floats() if one == -1 and use_floats else arrays[one] for one in planned.inputs]
            target = out if is_last else reused_result(inputs[0], image.shape, np.float32)
            chain.launches[at](inputs, target)
            times.append((time.perf_counter() - begin) * 1e3)
            arrays[at] = target
            if not is_last:
                kept[key] = target, times[-1]
        newest: dict[Hashable, tuple[np.ndarray, float]] = {}
        for key, (array, ms) in reversed(kept.items()):
            room -= array.nbytes
            if room >= 0:
                newest[key] = array, ms
        self._kept = newest
        return tuple(
            StepTime(one.step.id, one.step.title, "" if one.variant_key == COMBINED else one.variant_key, ms)
            for one, ms in zip(plan, times, strict=True)
        )

    def drop(self) -> None:
        """Keep nothing."""
        self._kept = {}


def _needed(known: Container[Hashable], keys: list[Hashable], inputs: list[tuple[int, ...]]) -> set[int]:
    """Return the steps whose results are computed or read: what stands before a kept one is neither."""
    needed, ahead = set(), [len(keys) - 1]
    while ahead:
        at = ahead.pop()
        if at < 0 or at in needed:
            continue
        needed.add(at)
        if keys[at] not in known:
            ahead += inputs[at]
    return needed
