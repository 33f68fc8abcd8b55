"""What the panel Roofline shows: the timed runs of the selected run's device, under its limits."""

from collections.abc import Callable

from PySide6.QtCore import Signal

from engine.device_info import RECORDED
from engine.explain.limits.device_limits import DeviceLimits, left_out_words
from engine.results.compare import Compared
from gui.engine_link.engine_state import EngineState
from gui.explore.known_limits import KnownLimits
from gui.explore.question import Question
from gui.explore.results.results_model import ResultsModel
from gui.explore.roofline.roofs import Point, Roof, limits_over, points_of, roofs_of
from gui.page.files import FileDialogs
from gui.page.messages import Messages

_NO_RUN = (
    "A point for each timed run under what its device does per second at most.\n"
    "Press Run (Ctrl+R) to measure one, or Run all to compare all."
)
_NO_TIMES = "None of the runs on {} has a time and counted operations.\nSelect a run on another device."
_NOT_MEASURED = "No roofs yet: the limits of {} were not measured."


class RooflineState(Question):
    """The timed runs of the device, and what it does at most."""

    chosen = Signal(object)  # the Measurement whose point was clicked

    def __init__(
        self,
        results: ResultsModel,
        state: EngineState,
        limits: KnownLimits,
        files: FileDialogs,
        messages: Messages,
        stem: Callable[[], str],
    ) -> None:
        super().__init__(results.described_changed, state.ready_changed, limits.changed)
        self.results = results
        self.state = state
        self.files, self.messages, self.stem = files, messages, stem
        self._limits = limits
        self.points: tuple[Point, ...] = ()
        """The timed runs of the device."""
        # The limits of the device, less those that one of these runs exceeded.
        self._shown: DeviceLimits | None = None

    @property
    def run(self) -> Compared | None:
        """The selected run."""
        return self.results.described

    @property
    def device(self) -> str:
        """Key of the device that is shown; empty for none."""
        return self.run.result.device if self.run else ""

    @property
    def device_title(self) -> str:
        """Its name for people."""
        known, limits = self.state.device(self.device), self._limits.of(self.device)
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
        return _NOT_MEASURED.format(self.device_title) if self.can_measure else ""

    @property
    def can_measure(self) -> bool:
        """Whether limits are missing, or left out, and can be measured."""
        lacks = self._shown.left_out if self._shown else self._limits.is_missing(self.device)
        return bool(lacks) and self._limits.can_measure(self.device)

    def measure(self) -> None:
        """Measure the limits of the device."""
        self._limits.measure(self.device)

    def _ask(self) -> None:
        if self.device:
            self._limits.look_up(self.device)
        runs = [run for run in self.results.rows() if self._limits.are_of(run.result)]
        limits = self._limits.of(self.device)
        self._shown = None if limits is None else limits_over(runs, self.device, limits)
        self.points = points_of(runs, self.device, self._shown)
        self.changed.emit()
