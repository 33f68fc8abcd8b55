"""What a roofline plot shows, as numbers: the roofs of a device, and where each run stands under them.

A roof is what a device does per second at most: copies and caches by the bytes that an operation needs,
multiply-adds whatever it needs. A run stands at its operations per compulsory byte. No Qt in here.
"""

from collections.abc import Iterable
from typing import NamedTuple

from engine.explain.limits.device_limits import DeviceLimits, Limit, Reached, without_refuted
from engine.results.compare import Compared
from engine.results.quantities import count_text, digits_text, percent_text, rate_text

_GIGA = 1e9
_FLOPS = 2  # of a multiply-add
_COPIES, _MULTIPLY_ADDS = "copies of this size", "multiply-adds"
_FIELDS = {_COPIES: "copy_bytes_per_s", _MULTIPLY_ADDS: "multiply_adds_per_s"}


class Roof(NamedTuple):
    """One roof, in 10⁹ per second: bytes of a slope, operations of the flat one."""

    name: str
    measured: float
    theoretical: float | None
    is_flat: bool = False

    @property
    def words(self) -> str:
        """Its name and its value."""
        return f"{self.name} {count_text(self.measured)} {'GFLOPS' if self.is_flat else 'GB/s'}"


class Point(NamedTuple):
    """A run under the roofs."""

    run: Compared
    intensity: float  # operations per compulsory byte
    gflops: float
    roof: float | None = None  # GFLOPS that no such run exceeds; None where the limits are not known
    roof_name: str = ""

    @property
    def share(self) -> float | None:
        """The part of its roof that it reaches."""
        return self.gflops / self.roof if self.roof else None

    @property
    def words(self) -> str:
        """Its numbers, for a tooltip."""
        share = f", {percent_text(self.share)} of the roof of {self.roof_name}" if self.share else ""
        return (
            f"{rate_text(self.gflops)} GFLOPS at {rate_text(self.intensity)} operations per compulsory byte"
            f"{share}"
        )


def roofs_of(limits: DeviceLimits) -> tuple[Roof, ...]:
    """Return the slopes, the lowest first, then the flat roof."""
    caches = "caches" if limits.cores else "L2"
    found = (
        _roof("copies", limits.copy_bytes_per_s),
        _roof(caches, limits.l2_bytes_per_s),
        _roof("multiply-adds", limits.multiply_adds_per_s, _FLOPS, is_flat=True),
    )
    return tuple(roof for roof in found if roof is not None)


def _roof(name: str, limit: Limit | None, each: int = 1, *, is_flat: bool = False) -> Roof | None:
    if limit is None:
        return None
    stated = None if limit.theoretical is None else limit.theoretical * each / _GIGA
    return Roof(name, limit.measured * each / _GIGA, stated, is_flat)


def limits_over(runs: Iterable[Compared], device: str, limits: DeviceLimits) -> DeviceLimits:
    """Return the limits without those that a timed run of the device exceeded."""
    reached = [
        Reached(_FIELDS[point.roof_name], point.share, f"run {point.run.number}")
        for point in points_of(runs, device, limits)
        if point.share is not None
    ]
    return without_refuted(limits, reached)


def points_of(runs: Iterable[Compared], device: str, limits: DeviceLimits | None) -> tuple[Point, ...]:
    """Return the timed runs of a device, oldest first."""
    found = []
    for run in runs:
        work, kernel_ms = run.result.work, run.result.kernel_ms
        if run.result.device == device and work is not None and work.flops and kernel_ms:
            gflops, intensity = work.flops / kernel_ms / 1e6, work.flops / work.minimum_bytes
            found.append(Point(run, intensity, gflops, *_roof_over(intensity, work.minimum_bytes, limits)))
    return tuple(found)


def _roof_over(intensity: float, moved_bytes: int, limits: DeviceLimits | None) -> tuple[float | None, str]:
    """Return the lower roof over a run that moves so many bytes: what a cache holds is copied faster."""
    roofs: list[tuple[float, str]] = []
    if limits is not None and (copies := limits.copy_rate(moved_bytes)):
        roofs.append((copies * intensity / _GIGA, _COPIES))
    if limits is not None and limits.multiply_adds_per_s:
        roofs.append((limits.multiply_adds_per_s.measured * _FLOPS / _GIGA, _MULTIPLY_ADDS))
    return min(roofs, default=(None, ""))


def compared_words(one: Point, other: Point) -> str:
    """Return how many operations per second a run does of those of another one, and the shares of roofs."""
    names = [f"{point.run.result.variant} (run {point.run.number})" for point in (one, other)]
    shares = [percent_text(point.share) for point in (one, other) if point.share]
    of_roofs = f": {' and '.join(shares)} of their roofs" if len(shares) > 1 else ""
    times = digits_text(one.gflops / other.gflops, 3)
    return f"{names[0]} does {times} times the GFLOPS of {names[1]}{of_roofs}."
