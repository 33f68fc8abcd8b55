"""A preview follows each change of the job: one in flight, the newest wins, what is no longer wanted is dropped."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from engine.device_info import SIMULATOR
from engine.errors import Cancelled, EngineError
from engine.host.protocol import Availability, CheckVariants, Filtered, FilterJob, Preview
from engine.host.shared_array import segments_of
from gui.engine_link.engine_link import Ask, EngineLink, is_reported_by_link
from gui.engine_link.engine_state import SLOW_MS, EngineState
from gui.explore.display import Display
from gui.explore.workspace import Workspace
from gui.page.messages import Severity, Speaker, error_message

SOURCE = "preview"
USE_SIMULATOR = "Use the simulator with a small picture"
# A preview of plain loops takes 11 s for 3000 x 2500 RGB and 15 x 15 weights; most take less than this.
PATIENCE_MS = 500
# Stopping may cost a new host (2 s of grace, 1 to 2 s of start), so each one in a row that brought nothing to the
# screen earns the next preview more time: 0.5, 1, 2, 4, 8 s. However quickly somebody edits, restarts become rare.
PATIENCE_GROWTH = 2


class PreviewController(QObject):
    """Keeps the shown result and the availability of variants in step with the workspace.

    Edits that arrive together (a paste, a preset with its settings) make one preview. While a run goes on, the newest
    preview waits for its end. A preview that is not wanted any more is stopped once it has lasted `PATIENCE_MS`.

    Signals
    -------
    shown()
        The preview of the job as it is now is shown.
    failed(object)
        The EngineError of the preview of the job as it is now.
    simulator_wanted()
        The person wants to see in the simulator what needs a GPU that is not there.
    """

    shown = Signal()
    failed = Signal(object)
    simulator_wanted = Signal()

    def __init__(
        self,
        workspace: Workspace,
        state: EngineState,
        link: EngineLink,
        messages: Speaker,
        display: Display,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._state = state
        self._link = link
        self._messages = messages
        self._display = display
        self._wanted: FilterJob | None = None
        self._in_flight: Ask | None = None
        self._stopped: Ask | None = None
        self._given_up: FilterJob | None = None
        self._check: Ask | None = None
        self._patience_ms = PATIENCE_MS
        self._patience = QTimer(self, singleShot=True)
        self._patience.timeout.connect(self._leave_stale)
        # Most previews are here sooner, and a label that flickers with each edit says nothing.
        self._aging = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._aging.timeout.connect(self._tell_age)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._job_settled)
        workspace.job_changed.connect(self._soon.start)
        state.running_changed.connect(self._send)
        link.ready.connect(lambda _: self.refresh())

    def refresh(self) -> None:
        """Ask anew for the job as it is now."""
        self._soon.start()

    def cancel(self) -> None:
        """Stop the preview that is being made, and make none until the job changes."""
        if self._in_flight is not None:
            self._given_up, self._wanted = self._workspace.job(), None
            self._stop(self._in_flight)

    def _job_settled(self) -> None:
        job = self._workspace.job()
        if not self._display.is_earlier:
            self._tell_age()
        elif not self._aging.isActive():
            self._aging.start()
        # Stopping may have brought a new host, which is no reason to begin again.
        self._given_up = job if job == self._given_up else None
        self._wanted = job if job != self._given_up else None
        if job is not None:
            self._check = self._link.ask(Ask(CheckVariants(job), self._checked, self._check_failed))
        self._send()

    def _send(self) -> None:
        self._leave_stale()
        if self._wanted is None or self._state.running or self._in_flight is not None:
            return
        job, self._wanted = self._wanted, None
        where = " in the simulator" if job.device == SIMULATOR else ""

        def tell(stage: str, fraction: float = 0.0) -> None:
            if self._in_flight is ask:
                self._state.set_task(SOURCE, stage + where, fraction)

        ask = Ask(
            Preview(job),
            lambda filtered: self._replied(ask, filtered),
            lambda error: self._failed(ask, error),
            lambda step: tell(step.stage, step.fraction),
        )
        self._in_flight = ask
        self._patience.start(self._patience_ms)
        tell("filtering")
        self._link.ask(ask)

    def _leave_stale(self) -> None:
        """Stop the preview in flight if another one is wanted and it has had its time.

        One of the simulator has none, because it may take minutes; and another device need not wait for its end,
        because the simulator has a process of its own.
        """
        ask, wanted = self._in_flight, self._wanted
        if ask is None or wanted is None:
            return
        assert isinstance(ask.request, Preview)
        if ask.request.wants_simulator and ask.request.job != wanted:
            if wanted.device != SIMULATOR:
                self._landed()
            self._stop(ask)
        elif ask is self._stopped:
            return
        elif ask.request.job == wanted:
            # Edited back, or a host that came up meanwhile: what is wanted is on its way.
            self._wanted = None
        elif not self._patience.isActive():
            self._patience_ms *= PATIENCE_GROWTH
            self._stop(ask)

    def _stop(self, ask: Ask) -> None:
        if ask is not self._stopped:
            self._stopped = ask
            self._link.cancel(ask)

    def _replied(self, ask: Ask, filtered: Filtered) -> None:
        self._landed(ask)
        assert isinstance(ask.request, Preview)
        job = ask.request.job
        if job == self._workspace.job():
            self._patience_ms = PATIENCE_MS
            self._messages.clear(SOURCE)
            self._display.show_filtered(filtered)
            self._tell_age()
            self.shown.emit()
        else:
            self._link.keeper.discard(segments_of(filtered))
        self._send()

    def _failed(self, ask: Ask, error: EngineError) -> None:
        is_newest = self._in_flight is ask
        assert isinstance(ask.request, Preview)
        self._landed(ask)
        # The simulator's end is told to its requests alone.
        told = isinstance(error, Cancelled) or (
            is_reported_by_link(error) and not ask.request.wants_simulator
        )
        if is_newest and self._wanted is None:
            self._tell_age()
        if is_newest and self._wanted is None and not told:
            can_simulate = self._lacks_a_gpu(ask.request.job)
            way_out = (USE_SIMULATOR, self.simulator_wanted.emit) if can_simulate else ("", None)
            message = error_message(SOURCE, error, *way_out)
            # With a way out nothing has gone wrong.
            self._messages.show(replace(message, severity=Severity.WARNING) if can_simulate else message)
            self.failed.emit(error)
        self._send()

    def _lacks_a_gpu(self, job: FilterJob) -> bool:
        """Whether the job needs a GPU and there is none: the simulator can do it for a small picture."""
        variant = self._state.variant(job.variant)
        has_gpu = any(device.is_usable_gpu for device in self._state.devices)
        return variant is not None and variant.kind == "cuda" and not has_gpu and job.device != SIMULATOR

    def _tell_age(self) -> None:
        """Say whether what is shown is still the result of the job, of which no preview is awaited any more or yet."""
        self._aging.stop()
        self._state.set_result_earlier(self._display.is_earlier)

    def _landed(self, ask: Ask | None = None) -> None:
        """Wait no longer for what is in flight; of an ask that was left nothing is awaited already."""
        if ask is None or ask is self._in_flight:
            self._in_flight = None
            self._state.end_task(SOURCE)

    def _checked(self, availability: tuple[Availability, ...]) -> None:
        # Answers arrive in the order of the questions, so the last one is the newest.
        self._state.set_availability(availability)

    def _check_failed(self, error: EngineError) -> None:
        if not (isinstance(error, Cancelled) or is_reported_by_link(error)):
            self._messages.show_error("availability", error)
