"""Plan: what computes a picture, wherever it is cut, chosen once: so every part has the bits of the whole."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.geometry.cut import Cut, Reach, cut
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.run.compute import compute
from engine.run.task import AnyJob
from engine.work.resolve import Resolved

# A picture's bands have six shapes at most, and the variant is prepared for each of them.
MOST_PREPARED = 16


@dataclass(frozen=True, eq=False)
class Plan:
    """A job, of a picture or of one that is as wide, and the device that does it."""

    job: AnyJob
    device: DeviceInfo

    @classmethod
    def of(cls, resolved: Resolved) -> "Plan":
        """Return the plan of what is resolved."""
        return cls(resolved.job(), resolved.device)

    def at(self, samples: np.ndarray) -> "Plan":
        """Return the plan for a part of the picture, (H, W, C), as a picture of its own."""
        return Plan(self.job.task.part(self.job, samples), self.device)

    @cached_property
    def reach(self) -> Reach:
        """How far the cells lie that a result depends on."""
        return self.job.task.reach(self.job)

    @property
    def samples(self) -> np.ndarray:
        """The samples of its picture, (H, W, C)."""
        found: np.ndarray = self.job.operands.samples
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Their shape."""
        return self.samples.shape

    @property
    def problem(self) -> Any:
        """The problem of its job, that of a picture."""
        return self.job.problem

    def cut(self, sides: tuple[int, int], rows: slice, columns: slice) -> Cut:
        """Return what a rectangle of the result of a picture of (height, width) is computed from."""
        return cut(self.reach, sides, rows, columns)

    def part(self, samples: np.ndarray) -> AnyJob:
        """Return the job for a part, (H, W, C), as a picture of its own; refuse what it cannot take."""
        job = self.job.task.part(self.job, samples)
        job.task.refuse_samples(job)
        return job

    def computed(self, samples: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Compute a part into an array of its shape and of the result's type."""
        return compute(self.part(samples), backend(self.device.key), out)

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be done with the whole picture."""
        constant = self.job.task.constant(self.job.operands)
        self.job.task.refuse(self.job.variant, self.job.problem, constant, self.job.block, self.device)

    def refuse_cut(self, picture: str, remedy: str, needs_all: str) -> None:
        """Refuse a plan whose results depend on where a picture is cut, which is `picture`: "one in bands".

        `needs_all` says what helps where a result needs all of it.
        """
        if self.reach.whole:
            why = "its result depends on the whole picture at once"
            raise BadValue(f"{self.reach.whole} on {picture}", why, needs_all)
        if not self.reach.exact:
            why = "its sums run through the whole picture: parts would differ from it in their last digits"
            what = f"variant '{self.job.variant.key}' on {picture}"
            raise UnsupportedVariant(what, Refusal("not-in-bands", why, remedy=remedy))


class Preparing:
    """Variants that are ready to be launched, for a few shapes and threads. Called on: any thread.

    What passes keep between them belongs to one thread, which has one device.
    """

    def __init__(self, devices: int = 1) -> None:
        self._lock = threading.Lock()
        self._kept = lru_cache(MOST_PREPARED * devices)(_prepared)

    def ready(self, plan: Callable[[], Plan], shape: tuple[int, ...]) -> Prepared:
        """Return the variant of a plan, ready for a part of that shape."""
        # What one thread chooses and compiles, the next one finds.
        with self._lock:
            found = plan()
            job, task = found.job, found.job.task
            if shape != found.shape:
                # The shape alone: it takes no memory.
                job = task.part(job, np.broadcast_to(found.samples[:1, :1], shape))
            constant = task.constant(job.operands)
            task.refuse(job.variant, job.problem, constant, job.block, found.device)
            return self._kept(threading.get_ident(), job.variant, job.problem, constant, job.block)


def _prepared(thread: int, variant: Any, problem: Any, constant: Any, block: Any) -> Prepared:
    prepared: Prepared = variant.prepare(problem, constant, block)
    return prepared
