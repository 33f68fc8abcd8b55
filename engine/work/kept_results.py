"""Results of steps on the CPU that are kept from one preview to the next.

A step's result depends on the picture, on the step and on the results that it reads. So while edits follow
one another only the edited step and its readers are computed anew. What they read is kept for the next edit;
another result only up to MOST_BYTES together, as those of a small picture are. Nothing is kept where the
engine is idle.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.work.planned import CHAIN_VARIANTS, Plan, needed_steps
from engine.work.resolve import Resolved
from engine.work.step_times import steps_of

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
        plan = resolved.plan
        (variant,) = CHAIN_VARIANTS.on("cpu")
        resolved.job().refuse(resolved.device)
        chain: Any = variant.prepare(resolved.problem, plan, variant.default_block)
        keys = _keys(plan, picture)
        needed = needed_steps(plan, [at for at, key in enumerate(keys) if key in self._kept])
        known = {at: self._kept[keys[at]] for at in needed if keys[at] in self._kept}
        # What is not read makes room for what is computed.
        kept: dict[Hashable, np.ndarray] = {}
        self._kept = kept
        took = {key: self._took[key] for key in keys if key in self._took}
        read_again = _read_by_changed(plan, [key not in took for key in keys])

        def begins(at: int) -> None:
            report(Progress(f"step {plan[at].step.id}", at / len(plan), 2.0))

        def found(at: int, result: np.ndarray) -> None:
            waiting = _bytes(kept.values()) + _bytes(known.values())
            if result is not out and (at in read_again or waiting + result.nbytes <= MOST_BYTES):
                kept[keys[at]] = result

        chain.launch(resolved.samples, out, known=known, begins=begins, found=found)
        ids = {planned.step.id: key for planned, key in zip(plan, keys, strict=True)}
        self._took = took | {ids[id_]: ms for id_, ms in chain.took_ms.items()}
        return steps_of(plan, {id_: self._took.get(key, 0.0) for id_, key in ids.items()})

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


def _read_by_changed(plan: Plan, are_changed: Sequence[bool]) -> set[int]:
    """Return the steps that did not change and are read by one that did, or by the last if none did."""
    changed = [at for at, is_changed in enumerate(are_changed) if is_changed] or [len(plan) - 1]
    return {one for at in changed for one in plan[at].inputs if one >= 0} - set(changed)


def _bytes(arrays: Iterable[np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays)
