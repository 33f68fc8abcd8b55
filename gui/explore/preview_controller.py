"""A preview follows each change of the job: one is in flight, the newest wins, others are dropped."""

from PySide6.QtCore import QObject, QTimer, Signal

from engine.device_info import SIMULATOR
from engine.errors import Cancelled, EngineError
from engine.host.protocol import Filtered
from engine.host.shared_array import segments_of
from engine.host.verbs import Check, Preview
from engine.tasks.filtering.messages import FilterJob
from gui.engine_link.engine_link import Ask, EngineLink, is_reported_by_link
from gui.engine_link.engine_state import EngineState
from gui.explore.display import Display
from gui.explore.workspace import Workspace
from gui.page.messages import PageMessages

SOURCE = "preview"
# A preview of plain loops takes 11 s for 3000 x 2500 RGB and 15 x 15 weights; most take less than this.
PATIENCE_MS = 500
# Stopping may cost a new host (2 s of grace, 1 to 2 s of start), so after each preview that was stopped the
# next one gets more time: 0.5, 1, 2, 4, 8 s. However quickly somebody edits, restarts become rare.
PATIENCE_GROWTH = 2


class PreviewController(QObject):
    """Keeps the shown result and the availability of variants in step with the workspace.

    Edits that arrive together (a paste, a preset with its settings) make one preview. During a run the newest
    preview waits. A preview that is no longer wanted is stopped once it has lasted `PATIENCE_MS`.
    """

    # The preview of the present job is shown.
    shown = Signal()
    # The EngineError of the preview of the present job.
    failed = Signal(object)

    def __init__(
        self,
        workspace: Workspace,
        state: EngineState,
        link: EngineLink,
        messages: PageMessages,
        display: Display,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._link = link
        self._messages = messages
        self._display = display
        self._wanted: FilterJob | None = None
        self._in_flight: Ask | None = None
        self._stopped: Ask | None = None
        self._given_up: FilterJob | None = None
        self._patience_ms = PATIENCE_MS
        self._patience_timer = QTimer(self, singleShot=True)
        self._patience_timer.timeout.connect(self._leave_stale)
        self._settle_timer = QTimer(self, singleShot=True, interval=0)
        self._settle_timer.timeout.connect(self._job_settled)
        workspace.job_changed.connect(self._settle_timer.start)
        state.running_changed.connect(self._send)
        link.ready.connect(lambda _: self._settle_timer.start())

    def cancel(self) -> None:
        """Stop the preview that is being made, and make none until the job changes."""
        if self._in_flight is not None:
            self._given_up, self._wanted = self._workspace.job(), None
            self._stop(self._in_flight)

    def _job_settled(self) -> None:
        job = self._workspace.job()
        self._display.follow_job()
        # Stopping may have led to a new host, which is no reason to begin again.
        self._given_up = job if job == self._given_up else None
        self._wanted = job if job != self._given_up else None
        if job is not None:
            # Answers arrive in the order of the questions, so the last one is the newest.
            self._link.ask(Ask(Check(job), self._state.set_availability, self._check_failed))
        self._send()

    def _send(self) -> None:
        self._leave_stale()
        if self._wanted is None or self._state.running or self._in_flight is not None:
            return
        job, self._wanted = self._wanted, None
        where = " in the simulator" if job.device == SIMULATOR else ""

        def show_stage(stage: str, fraction: float = 0.0) -> None:
            if self._in_flight is ask:
                self._state.set_task(SOURCE, stage + where, fraction)

        ask = Ask(
            Preview(job),
            lambda filtered: self._replied(ask, filtered),
            lambda error: self._failed(ask, error),
            lambda step: show_stage(step.stage, step.fraction),
        )
        self._in_flight = ask
        self._patience_timer.start(self._patience_ms)
        show_stage("filtering")
        self._link.ask(ask)

    def _leave_stale(self) -> None:
        """Stop the preview in flight if another one is wanted and its time is over.

        One in the simulator is stopped at once, because it may take minutes; another device does not wait for
        its end, because the simulator has its own process.
        """
        ask, wanted = self._in_flight, self._wanted
        if ask is None or wanted is None:
            return
        assert isinstance(ask.request, Preview)
        if ask.request.wants_simulator and ask.request.job != wanted:
            if wanted.device != SIMULATOR:
                self._end_wait()
            self._stop(ask)
        elif ask is self._stopped:
            return
        elif ask.request.job == wanted:
            # Edited back, or a host that came up meanwhile: what is wanted is on its way.
            self._wanted = None
        elif not self._patience_timer.isActive():
            self._patience_ms *= PATIENCE_GROWTH
            self._stop(ask)

    def _stop(self, ask: Ask) -> None:
        if ask is not self._stopped:
            self._stopped = ask
            self._link.cancel(ask)

    def _replied(self, ask: Ask, filtered: Filtered) -> None:
        self._end_wait(ask)
        assert isinstance(ask.request, Preview)
        job = ask.request.job
        if job == self._workspace.job():
            self._patience_ms = PATIENCE_MS
            self._messages.clear(SOURCE)
            self._display.show_filtered(filtered)
            self._display.show_age()
            self.shown.emit()
        else:
            self._link.keeper.discard(segments_of(filtered))
        self._send()

    def _failed(self, ask: Ask, error: EngineError) -> None:
        is_newest = self._in_flight is ask
        assert isinstance(ask.request, Preview)
        self._end_wait(ask)
        # The end of the simulator's process is reported to its requests alone.
        is_reported = is_reported_by_link(error) and not ask.request.wants_simulator
        if is_newest and self._wanted is None:
            self._display.show_age()
            if not (is_reported or isinstance(error, Cancelled)):
                self._messages.show_error(SOURCE, error)
                self.failed.emit(error)
        self._send()

    def _end_wait(self, ask: Ask | None = None) -> None:
        """Stop waiting for the preview in flight, if it is this one (None: whichever it is)."""
        if ask is None or ask is self._in_flight:
            self._in_flight = None
            self._state.end_task(SOURCE)

    def _check_failed(self, error: EngineError) -> None:
        if not (isinstance(error, Cancelled) or is_reported_by_link(error)):
            self._messages.show_error("availability", error)
