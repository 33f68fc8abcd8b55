"""Lower bounds of a filter on the CPU: the least time for each thing that it must do.

Limits are those of this processor (`engine.explain.limits.measured_cpu`), amounts those of the variant
(`engine.explain.bounds.cpu_work`). Instructions are read from the code that LLVM made of it, which is kept;
the first time it is compiled for that, one or two seconds.
"""

from engine.compiled.cpu_target import architecture
from engine.compiled.machine_code import asked_functions
from engine.explain.bounds.cpu_work import CpuPass, CpuWork, work_of
from engine.explain.bounds.least_time import together
from engine.explain.bounds.machine_loops import Function, functions
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.explain.subject import Subject
from engine.reason import Reason
from engine.results.explained_time import Bound
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filtering.problem import Problem

_THREADS = "engine.device.threads"


class CpuBounds:
    """The bounds of a variant for a problem and mask, on a processor of known limits."""

    def __init__(self, subject: Subject[Problem], limits: DeviceLimits) -> None:
        self.subject, self.limits = subject, limits
        self.work: CpuWork | None = None
        if not subject.variant.library:
            prepared, code = _prepared(subject)
            self.work = work_of(prepared, subject.problem, code)
        self._code = f"code for {architecture()}"
        passes = [self._of_pass(one) for one in self.work.passes] if self.work else []
        copies = self._copies()
        self.bounds = tuple(sorted([*copies, *together(passes).values()], key=lambda bound: -bound.ms))
        """Of all passes together, the tallest first."""
        in_turn = sum(max((bound.ms for bound in bounds), default=0.0) for bounds in passes)
        self.least_ms = max([in_turn, *(copy.ms for copy in copies)])
        """Passes follow one another, so that the tallest of each add up."""

    @property
    def not_counted(self) -> Reason | None:
        """Why its bytes alone bound it."""
        library = self.subject.variant.library
        return Reason("no-kernels", f"What {library} does is not counted") if library else None

    def _copies(self) -> list[Bound]:
        problem = self.subject.problem
        size = problem.samples * (problem.itemsize + problem.result_itemsize)
        rate = self.limits.copy_rate(size)
        from_what = "the picture read once and the result written once"
        return [Bound("copy", "copy", 1e3 * size / rate, size, "bytes", rate, from_what)] if rate else []

    def _of_pass(self, one: CpuPass) -> list[Bound]:
        assert self.work is not None
        samples, limits = self.subject.problem.samples, self.limits
        vectors, found = samples / VECTOR, list[Bound]()

        def add(key: str, title: str, amount: float, unit: str, limit: Limit | None, counted: str) -> None:
            if limit is not None and amount > 0:
                rate = limit.measured * self._share
                found.append(Bound(key, title, 1e3 * amount / rate, amount, unit, rate, counted))

        emitted = "how the kernel is emitted"
        each = float(samples)
        if self.work.whole_vectors:
            each = vectors
            made = samples * one.multiply_adds
            add("multiply-adds", "multiply-adds", made, "multiply-adds", limits.multiply_adds_per_s, emitted)
        add("instructions", "instructions issued", each * one.instructions, "instructions",
            limits.instructions_per_s, self._code)  # fmt: skip
        add("vector-operations", "vector operations", vectors * one.vector_operations, "operations",
            limits.vector_operations_per_s, self._code)  # fmt: skip
        add("stores", "stores in the first cache", vectors * one.vector_stores, "vectors",
            limits.vector_stores_per_s, emitted)  # fmt: skip
        aligned, apart = limits.vector_loads_per_s, limits.misaligned_vector_loads_per_s
        if aligned and apart:
            # A load across two lines counts as many as it takes the time of.
            loads = one.vector_loads + one.misaligned_loads * max(1.0, aligned.measured / apart.measured)
            add("loads", "loads from the first cache", vectors * loads, "vectors", aligned, emitted)
        return found

    @property
    def _share(self) -> float:
        """The part of the rates of all cores that the threads at work have."""
        assert self.work is not None
        limits, threads = self.limits, self.work.threads
        if threads >= limits.cores:
            return 1.0
        one, together = limits.core_multiply_adds_per_s, limits.multiply_adds_per_s
        return min(1.0, threads * (one.measured / together.measured if one and together else 1.0))


def cpu_bounds(subject: Subject[Problem], limits: DeviceLimits) -> tuple[Bound, ...]:
    """Return the bounds of a CPU variant for a problem and mask, of all its passes, the tallest first."""
    return CpuBounds(subject, limits).bounds


def _prepared(subject: Subject[Problem]) -> tuple[object, dict[str, Function]]:
    """Return the variant ready for the problem, and the functions of its code; none on other machines."""
    with asked_functions() as asked:
        prepared = subject.variant.prepare(subject.problem, subject.constant, subject.block)
    if architecture() != "x86_64":
        return prepared, {}
    code: dict[str, Function] = {}
    for function, types in asked:
        if not function.module.startswith(_THREADS):
            code |= functions(function.assembly(types))
    return prepared, code
