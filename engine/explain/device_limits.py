"""The limits of a device, in units per second: what was measured, beside the theoretical values. No Numba.

The one rule for every limit of every device: one that was exceeded, by a run or by a kernel that measured
another limit, is measured again. If it is exceeded again it is left out, with the reason; nothing shows it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, ClassVar

from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.results.measurement import Bound
from engine.results.occupancy import WARP
from engine.results.text_forms import digits_text


@dataclass(frozen=True, slots=True)
class Limit:
    """What a device does per second at most."""

    measured: float
    theoretical: float | None = None  # None where nothing that the driver states gives it


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of a CPU or a GPU; None where a device has no such part, or the limit is left out.

    A multiply-add counts once. Rates of a GPU are those of all its multiprocessors together, rates of a CPU
    those of all cores that this process may use.
    """

    device: str
    # Bytes read and bytes written, together, in memory outside the caches: the fastest such copy.
    copy_bytes_per_s: Limit | None
    # GPU: bytes read from L2. CPU: bytes read and written within the cache of each core.
    l2_bytes_per_s: Limit | None
    multiply_adds_per_s: Limit | None  # of float32
    core_multiply_adds_per_s: Limit | None = None  # CPU: of one core while the others are idle
    shared_bytes_per_s: Limit | None = None  # GPU: read from shared memory without bank conflicts
    instructions_per_s: Limit | None = None  # GPU: issued, each for the 32 threads of a warp
    blocks_per_s: Limit | None = None  # GPU: of one warp that do nothing
    # GPU: launches of one such block, each after the one before has ended. CPU: calls of compiled code that
    # has nothing to do, by one thread.
    launches_per_s: Limit | None = None
    # CPU: of float32, one at a time, with the loads of both factors; and of samples of 8 bit, which are made
    # float32 one by one.
    scalar_multiply_adds_per_s: Limit | None = None
    converted_multiply_adds_per_s: Limit | None = None
    # CPU: computations with whole vectors, multiply-adds and others side by side; loads of whole vectors from
    # the first cache of each core, each from within a cache line; and stores into it, likewise.
    vector_operations_per_s: Limit | None = None
    vector_loads_per_s: Limit | None = None
    vector_stores_per_s: Limit | None = None
    int8_tensor_multiply_adds_per_s: Limit | None = None  # GPU: of int8 into int32 by `mma.sync`
    cores: int = 0  # CPU: that this process may use
    vector_bits: int = 0  # CPU: width of the widest vectors that its code uses
    # Copies of less than that: bytes read and written, ascending, and bytes per second. What a cache holds is
    # copied faster; a smaller copy counts as no slower than a larger one.
    copies: tuple[tuple[int, float], ...] = ()
    # Names of limits that were exceeded, each with what exceeded it.
    left_out: tuple[tuple[str, str], ...] = ()

    def copy_rate(self, copied_bytes: float) -> float | None:
        """Return the bytes per second that a copy of so many bytes, read and written, reaches at most.

        Between two measured sizes it is that of the smaller one: never too low.
        """
        if self.copy_bytes_per_s is None:
            return None
        smaller = [rate for size, rate in self.copies if size <= copied_bytes]
        if smaller:
            return smaller[-1]
        return self.copies[0][1] if self.copies else self.copy_bytes_per_s.measured

    def rates(self) -> Iterator[tuple[str, Limit]]:
        """Yield the name and the value of each limit that the device has."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Limit):
                yield field.name, value

    def with_copies(self, measured: Mapping[int, float]) -> "DeviceLimits":
        """Return the limits with measured rates of copies, by the bytes read and written together."""
        sizes = sorted(measured, reverse=True)
        rates = accumulate((measured[size] for size in sizes), max)
        return replace(self, copies=tuple(zip(sizes, rates, strict=True))[::-1])

    def or_more(self, other: "DeviceLimits") -> "DeviceLimits":
        """Return the higher of each limit: a device does as much as it was ever seen to do."""
        theirs = dict(other.rates())
        rates: dict[str, Any] = {
            name: max(one, theirs.get(name, one), key=lambda limit: limit.measured)
            for name, one in self.rates()
        }
        copies = dict(self.copies)
        for size, rate in other.copies:
            copies[size] = max(rate, copies.get(size, rate))
        return replace(other, **{**theirs, **rates}).with_copies(copies)


class KeptLimits(Message, Request, frozen=True):
    """Limits that were measured before, also during a run. None: they were not.

    Those of the device "recorded" came with the program.
    """

    device: str
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    handler: ClassVar[str] = "engine.explain.kept_limits:answer"
    reply: ClassVar[object] = DeviceLimits | None


class MeasureLimits(Message, Request, frozen=True):
    """Measure the limits of a device, which takes 2 s, and keep them.

    A cancelled request ends between two limits, and keeps none.
    """

    device: str
    handler: ClassVar[str] = "engine.explain.kept_limits:measure"
    reply: ClassVar[object] = DeviceLimits


MOST_SHARE = 1.03
"""What is above a limit by less is within what times vary."""
# The limit that a bound follows from, where it has another name than the bound.
_LIMITS = {
    "copy": "copy_bytes_per_s",
    "loads": "vector_loads_per_s",
    "stores": "vector_stores_per_s",
    "l1": "shared_bytes_per_s",
    "int8-tensor": "int8_tensor_multiply_adds_per_s",
    "launch": "launches_per_s",
}


Reached = tuple[str, float, str]
"""A field of `DeviceLimits`, how many times as fast as it says its work was done, and by what."""


def measured_well(measure: Callable[[], DeviceLimits]) -> DeviceLimits:
    """Return limits that the kernels which measured them do not exceed; others are measured again once."""
    limits = measure()
    if any(times > MOST_SHARE for _, times, _ in reached_by_kernels(limits)):
        limits = limits.or_more(measure())
    return without_refuted(limits, reached_by_kernels(limits))


def reached_by_kernels(limits: DeviceLimits) -> Iterator[Reached]:
    """Yield what the kernels that measured some limits did of what others limit."""
    rates = {name: limit.measured for name, limit in limits.rates()}
    # Of each work how much of another it is: a multiply-add of vectors is a vector operation, and so on.
    lanes = limits.vector_bits // 32 if limits.cores else WARP
    works = [
        ("multiply_adds_per_s", lanes, "vector_operations_per_s", "multiply-adds"),
        ("multiply_adds_per_s", lanes, "instructions_per_s", "multiply-adds"),
        ("converted_multiply_adds_per_s", 1, "scalar_multiply_adds_per_s", "multiply-adds of integers"),
        ("copy_bytes_per_s", 1, "l2_bytes_per_s", "copies in memory"),
    ]
    for work, each, limit, by in works:
        if work in rates and limit in rates and each:
            yield limit, rates[work] / each / rates[limit], by


def reached_by_run(
    bounds: tuple[Bound, ...], least_ms: float, measured_ms: float | None
) -> Iterator[Reached]:
    """Yield what a run did of each limit that its bounds follow from; `bounds` has the tallest first."""
    if measured_ms and bounds:
        names = [_LIMITS.get(one.key, f"{one.key.replace('-', '_')}_per_s") for one in bounds]
        for name, bound in zip(names, bounds, strict=True):
            yield name, bound.ms / measured_ms, "a run"
        # Passes that follow one another may together exceed what none of them does.
        if bounds[0].ms <= MOST_SHARE * measured_ms:
            yield names[0], least_ms / measured_ms, "a run"


def without_refuted(limits: DeviceLimits, reached: Iterable[Reached]) -> DeviceLimits:
    """Return the limits without those that were exceeded; the same limits where none was."""
    refuted: dict[str, str] = {}
    for name, times, by in sorted(reached, key=lambda one: -one[1]):
        if times > MOST_SHARE and getattr(limits, name) is not None:
            refuted.setdefault(name, f"{by} did {digits_text(times, 3)} times what was measured as the most")
    if not refuted:
        return limits
    copies = () if "copy_bytes_per_s" in refuted else limits.copies
    left_out = limits.left_out + tuple(refuted.items())
    return replace(limits, **dict.fromkeys(refuted), copies=copies, left_out=left_out)  # type: ignore[arg-type]


def left_out_words(limits: DeviceLimits) -> str:
    """Return which limits are left out and why, in sentences; empty where none is."""
    return " ".join(f"Left out: {limit_name(name)}, as {why}." for name, why in limits.left_out)


def limit_name(field: str) -> str:
    """Return the name of a limit for people."""
    return field.removesuffix("_per_s").replace("_", " ")
