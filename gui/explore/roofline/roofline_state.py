"""What the panel Roofline shows: the timed runs of the selected run's device, under its limits.

The limits are read from the disk, or measured when somebody asks.
"""

from functools import partial
from typing import Any

from PySide6.QtCore import Signal

from engine.device_info import RECORDED
from engine.explain.limits.device_limits import DeviceLimits, left_out_words
from engine.explain.limits.messages import KeptLimits, MeasureLimits
from engine.results.columns import server_of
from engine.results.compare import Compared
from engine.results.measurement import Measurement
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.question import Question
from gui.explore.results.results_model import ResultsModel
from gui.explore.roofline.roofs import Point, Roof, compared_words, limits_over, points_of, roofs_of
from gui.explore.selection import Selection
from gui.page.jobs import Job, JobQueue
from gui.page.messages import PageMessages

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

    chosen = Signal(object)  # the Measurement whose point was clicked
    measured = Signal(str)  # the limits of the device with this key were measured

    def __init__(
        self,
        selection: Selection,
        results: ResultsModel,
        state: EngineState,
        link: EngineLink,
        jobs: JobQueue,
        messages: PageMessages,
    ) -> None:
        super().__init__(results.described_changed, selection.changed, state.ready_changed)
        self.selection, self.results = selection, results
        self.state = state
        self._jobs, self._messages, self._asked = jobs, messages, Newest(link)
        # The kept limits of the device with this key; None where they were not measured.
        self._limits_of = ""
        self._limits: DeviceLimits | None = None
        state.machine_changed.connect(self._forget)
        self.points: tuple[Point, ...] = ()
        """The timed runs of the device."""
        # The limits of the device, less those that one of these runs exceeded.
        self._shown: DeviceLimits | None = None

    @property
    def run(self) -> Compared | None:
        """The selected run."""
        return self.results.described

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
        return self.run.result.device if self.run else ""

    @property
    def device_title(self) -> str:
        """Its name for people."""
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
        if self.run is None:
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
            # Those that are shown are asked again.
            self._limits_of = ""
            self.measured.emit(device)
            self.refresh()

        self._jobs.begin("limits", [Job(title, MeasureLimits(device), replied)], self._messages)

    def _ask(self) -> None:
        if self.device != self._limits_of:
            self._limits_of, self._limits = "", None
            if self.device and self.state.is_ready:
                replied = partial(self._replied, self.device)
                # A lost host's successor is asked again.
                self._asked.ask(KeptLimits(self.device), replied, lambda error: None)
        runs = [run for run in self.results.rows() if self.limits_are_of(run.result)]
        self._shown = None if self._limits is None else limits_over(runs, self.device, self._limits)
        self.points = points_of(runs, self.device, self._shown)
        self.changed.emit()

    def _replied(self, device: str, limits: DeviceLimits | None) -> None:
        self._limits_of, self._limits = device, limits
        self.refresh()

    def _forget(self) -> None:
        """Forget those of another machine, whose devices have the same keys."""
        self._limits_of, self._limits = "", None
        self._asked.forget()
        self.refresh()
