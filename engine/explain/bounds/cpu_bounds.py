"""Lower bounds of a filter on the CPU: the least time for each thing that it must do.

Limits are those of this processor (`engine.explain.limits.measured_cpu`), amounts those that the variant says
its loops do (`engine.results.work.LoopWork`).
"""

from engine.explain.bounds.least_time import together
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.explain.subject import Subject
from engine.reason import Reason
from engine.results.measurement import Bound
from engine.results.work import HasLoops, LoopWork
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filtering.problem import Problem

_DECLARED = "what the variant says of its loops"

# Fields of `LoopWork`, and what their bounds say of the samples and sums.
_ONE_AT_A_TIME = {
    "scalar_multiply_adds": "",
    "converted_multiply_adds": "of integers ",
    "short_scalar_multiply_adds": "in short sums ",
    "short_converted_multiply_adds": "of integers in short sums ",
}


class CpuBounds:
    """The bounds of a variant for a problem and mask, on a processor of known limits."""

    def __init__(self, subject: Subject[Problem], limits: DeviceLimits) -> None:
        self.subject, self.limits = subject, limits
        prepared: object = None
        if not subject.variant.library:
            prepared = subject.variant.prepare(subject.problem, subject.constant, subject.block)
        self.loops: tuple[LoopWork, ...] = ()
        self._share, calls = 1.0, list[Bound]()
        if isinstance(prepared, HasLoops):
            self.loops, self._share = prepared.loops, _share(limits, prepared.workers)
            calls = self._calls(prepared.workers)
        of_each = [self._of_loop(one) for one in self.loops]
        copies = self._copies()
        every = [*copies, *calls, *together(of_each).values()]
        self.bounds = tuple(sorted(every, key=lambda bound: -bound.ms))
        """Of all loops together, the tallest first."""
        in_turn = sum(max((bound.ms for bound in bounds), default=0.0) for bounds in of_each)
        self.least_ms = sum(call.ms for call in calls) + max([in_turn, *(copy.ms for copy in copies)])
        """A call comes before all that it does, and loops follow one another: the tallest of each add up."""

    @property
    def not_counted(self) -> Reason | None:
        """Why its bytes alone bound it."""
        library = self.subject.variant.library
        return Reason("no-kernels", f"What {library} does is not counted") if library else None

    @property
    def whole_vectors(self) -> bool:
        """Whether it computes with whole vectors, not one sample at a time."""
        return any(one.multiply_adds or one.operations for one in self.loops)

    def _copies(self) -> list[Bound]:
        problem = self.subject.problem
        size = problem.samples * (problem.itemsize + problem.result_itemsize)
        rate = self.limits.copy_rate(size)
        from_what = "the picture read once and the result written once"
        return [Bound("copy", "copy", 1e3 * size / rate, size, "bytes", rate, from_what)] if rate else []

    def _calls(self, threads: int) -> list[Bound]:
        key, title, calls = "launch", "call", self.limits.launches_per_s
        if threads >= self.limits.cores > 1:
            key, title, calls = "shared-launch", "call by all cores", self.limits.shared_launches_per_s
        from_what = "a call beside the work of each thread"
        return (
            [Bound(key, title, 1e3 / calls.measured, 1, "calls", calls.measured, from_what)] if calls else []
        )

    def _of_loop(self, one: LoopWork) -> list[Bound]:
        limits, samples = self.limits, self.subject.problem.samples
        vectors, found = samples / VECTOR, list[Bound]()

        def add(key: str, title: str, amount: float, unit: str, limit: Limit | None) -> None:
            if limit is not None and amount > 0:
                rate = limit.measured * self._share
                found.append(Bound(key, title, 1e3 * amount / rate, amount, unit, rate, _DECLARED))

        for name, of_what in _ONE_AT_A_TIME.items():
            add(name.replace("_", "-"), f"multiply-adds {of_what}one at a time", samples * getattr(one, name),
                "multiply-adds", getattr(limits, f"{name}_per_s"))  # fmt: skip
        add("multiply-adds", "multiply-adds", samples * one.multiply_adds, "multiply-adds",
            limits.multiply_adds_per_s)  # fmt: skip
        add("stores", "stores in the first cache", vectors * one.stores, "vectors",
            limits.vector_stores_per_s)  # fmt: skip
        operations = _as_many(
            limits.vector_operations_per_s,
            one.multiply_adds + one.operations,
            (one.half_operations, limits.half_vector_operations_per_s),
        )
        add("vector-operations", "vector operations", vectors * operations, "operations",
            limits.vector_operations_per_s)  # fmt: skip
        loads = _as_many(
            limits.vector_loads_per_s,
            one.loads,
            (one.misaligned_loads, limits.misaligned_vector_loads_per_s),
            (one.narrow_loads, limits.narrow_loads_per_s),
        )
        add("loads", "loads from the first cache", vectors * loads, "vectors", limits.vector_loads_per_s)
        return found


def _as_many(limit: Limit | None, amount: float, *others: tuple[float, Limit | None]) -> float:
    """Return an amount with others, each as much as is done of the first in the time that it takes."""
    for other, its_limit in others:
        if limit and its_limit:
            amount += other * limit.measured / its_limit.measured
    return amount


def _share(limits: DeviceLimits, threads: int) -> float:
    """Return the part of the rates of all cores that so many threads have."""
    if threads >= limits.cores:
        return 1.0
    one, together = limits.core_multiply_adds_per_s, limits.multiply_adds_per_s
    return min(1.0, threads * (one.measured / together.measured if one and together else 1.0))
