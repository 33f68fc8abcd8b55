"""What the panel Roofline shows: timed runs under the limits of their device, which are kept or measured."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from PySide6.QtCore import Signal

from engine.device_info import RECORDED
from engine.explain.device_limits import (
    DeviceLimits,
    KeptLimits,
    MeasureLimits,
    left_out_words,
    without_refuted,
)
from engine.results.columns import server_of
from engine.results.measurement import Measurement
from engine.results.metrics import Compared
from engine.results.text_forms import count_text, digits_text, percent_text, rate_text
from gui.engine_link.engine_link import EngineLink, Newest
from gui.explore.explain.question import Question
from gui.explore.explain.selection import Selection
from gui.page.jobs import JobQueue, RequestedRun
from gui.page.messages import PageMessages

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
        share = f", {percent_text(self.share)} of the roof of {self.roof_name}" if self.share else ""
        rate, intensity = rate_text(self.gflops), rate_text(self.intensity)
        return f"{rate} GFLOPS at {intensity} operations per compulsory byte{share}"


def roofs_of(limits: DeviceLimits) -> tuple[Roof, ...]:
    """Return the slopes, the lowest first, then the flat roof."""
    roofs = []
    for name, limit, each in (
        ("copies", limits.copy_bytes_per_s, 1),
        ("caches" if limits.cores else "L2", limits.l2_bytes_per_s, 1),
        ("multiply-adds", limits.multiply_adds_per_s, _FLOPS),
    ):
        if limit is not None:
            stated = limit.theoretical and limit.theoretical * each / _GIGA
            roofs.append(Roof(name, limit.measured * each / _GIGA, stated, is_flat=each == _FLOPS))
    return tuple(roofs)


def points_of(runs: Iterable[Compared], device: str, limits: DeviceLimits | None) -> tuple[Point, ...]:
    """Return the timed runs of a device, oldest first."""
    points = []
    for run in runs:
        work, kernel_ms = run.result.work, run.result.kernel_ms
        if run.result.device == device and work is not None and work.flops and kernel_ms:
            gflops, intensity = work.flops / kernel_ms / 1e6, work.flops / work.minimum_bytes
            # The lower roof: what a cache holds is copied faster.
            roofs: list[tuple[float, str]] = []
            if limits is not None and (copies := limits.copy_rate(work.minimum_bytes)):
                roofs.append((copies * intensity / _GIGA, _COPIES))
            if limits is not None and limits.multiply_adds_per_s:
                roofs.append((limits.multiply_adds_per_s.measured * _FLOPS / _GIGA, _MULTIPLY_ADDS))
            points.append(Point(run, intensity, gflops, *min(roofs, default=(None, ""))))
    return tuple(points)


def compared_words(one: Point, other: Point) -> str:
    """Return how many operations per second a run does of those of another one, and the shares of roofs."""
    names = [f"{point.run.result.variant} (run {point.run.number})" for point in (one, other)]
    shares = [percent_text(point.share) for point in (one, other) if point.share]
    of_roofs = f": {' and '.join(shares)} of their roofs" if len(shares) > 1 else ""
    times = digits_text(one.gflops / other.gflops, 3)
    return f"{names[0]} does {times} times the GFLOPS of {names[1]}{of_roofs}."


_NO_RUN = (
    "A point for each timed run under what its device does per second at most.\n"
    "Press Run (Ctrl+R) to measure one, or Run all to compare all."
)
_NO_TIMES = "None of the runs on {} has a time and counted operations.\nSelect a run on another device."
_NOT_MEASURED = "No roofs yet: the limits of {} were not measured."
MEASURE = "Measure the limits (2 s)"
"""The words of a button, and its tip."""
MEASURE_TIP = "Runs on this device for 2 s what shows its limits; they are kept for the next time."


class RooflineState(Question):
    """The timed runs of the device, and what it does at most."""

    measured = Signal(str)  # the limits of the device with this key were measured
    save_wanted = Signal(object)  # the Drawing that the person wants in a file

    def __init__(
        self, selection: Selection, link: EngineLink, jobs: JobQueue, messages: PageMessages
    ) -> None:
        results, state = selection.results, selection.state
        super().__init__(results.described_changed, selection.changed, state.ready_changed)
        self.selection, self.results, self.state = selection, results, state
        self._jobs, self._messages, self._newest = jobs, messages, Newest(link)
        # The kept limits of the device with this key; None where they were not measured.
        self._limits_of = ""
        self._limits: DeviceLimits | None = None
        state.machine_changed.connect(self._forget)
        self.points: tuple[Point, ...] = ()  # the timed runs of the device
        # The limits of the device, less those that one of these runs exceeded.
        self._shown: DeviceLimits | None = None

    @property
    def marked(self) -> tuple[Point, ...]:
        """The point of the selected run, then that of the newest run of the kernel to compare with."""
        run, other = self.selection.run, self.selection.other
        own = [point for point in self.points if run is not None and point.run.result is run.result]
        others = [point for point in self.points if other and point.run.result.variant == other.key]
        return (*own, *others[-1:])

    @property
    def compared(self) -> str:
        """How the selected run and the newest of the kernel to compare with differ; empty for no such."""
        other = self.selection.other
        if other is None:
            return ""
        own, *others = self.marked or (None,)
        if own is None or not others:
            return f"No timed run of {other.key} is on this device to compare." if own else ""
        return compared_words(own, others[0])

    @property
    def device(self) -> str:
        """Key of the device that is shown; empty for none."""
        run = self.results.described
        return run.result.device if run else ""

    @property
    def device_title(self) -> str:
        known, limits = self.state.device(self.device), self._limits
        title = known.title if known else limits.device if limits else self.device
        return f"{title}, {RECORDED}" if self.device == RECORDED and limits else title

    @property
    def roofs(self) -> tuple[Roof, ...]:
        """The roofs of the device; none where its limits are not known."""
        return () if self._shown is None else roofs_of(self._shown)

    @property
    def words(self) -> str:
        """Why there is nothing to draw; empty where there is."""
        if self.results.described is None:
            return _NO_RUN
        return "" if self.points else _NO_TIMES.format(self.device_title)

    @property
    def note(self) -> str:
        """What is missing in the drawing; empty if nothing."""
        if self._shown is not None:
            return left_out_words(self._shown)
        return _NOT_MEASURED.format(self.device_title) if self.lacks_limits else ""

    @property
    def lacks_limits(self) -> bool:
        """Whether limits are missing, or left out, and can be measured."""
        lacks = self._shown.left_out if self._shown else self._limits_of and self._limits is None
        return bool(lacks) and self.can_measure(self.device)

    def can_measure(self, device: str) -> bool:
        """Whether a device is here whose limits mean something."""
        known = self.state.device(device)
        return known is not None and known.available and known.times_mean_speed

    def limits_are_of(self, result: Measurement[Any]) -> bool:
        """Whether the limits of its device are about a run: a recording has those of its GPU, not its CPU."""
        known, machine = self.state.variant(result.variant), self.state.machine
        if result.device == RECORDED:
            return known is None or known.kind != "cpu"
        return server_of(result) == (machine.title if machine else "")

    def measure(self, device: str) -> None:
        """Measure the limits of a device, after which they are kept; nothing happens while others run."""
        known = self.state.device(device)
        title = f"Limits of {known.title if known else device}"

        def replied(limits: DeviceLimits) -> None:
            # Those that are shown are requested again.
            self._limits_of = ""
            self.measured.emit(device)
            self.refresh()

        self._jobs.begin("limits", [RequestedRun(title, MeasureLimits(device), replied)], self._messages)

    def _ask(self) -> None:
        if self.device != self._limits_of:
            self._limits_of, self._limits = "", None
            if self.device and self.state.is_ready:
                replied = partial(self._replied, self.device)
                # A lost host's successor is asked again.
                self._newest.ask(KeptLimits(self.device), replied, lambda error: None)
        runs = [run for run in self.results.rows() if self.limits_are_of(run.result)]
        # Without those that a timed run of the device exceeded.
        reached = [
            (_FIELDS[point.roof_name], point.share, f"run {point.run.number}")
            for point in points_of(runs, self.device, self._limits)
            if point.share is not None
        ]
        self._shown = None if self._limits is None else without_refuted(self._limits, reached)
        self.points = points_of(runs, self.device, self._shown)
        self.changed.emit()

    def _replied(self, device: str, limits: DeviceLimits | None) -> None:
        self._limits_of, self._limits = device, limits
        self.refresh()

    def _forget(self) -> None:
        """Forget those of another machine, whose devices have the same keys."""
        self._limits_of, self._limits = "", None
        self._newest.forget()
        self.refresh()
