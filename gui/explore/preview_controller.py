"""A preview follows each change of the job: one is in flight, the newest wins, others are dropped."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from engine.device_info import SIMULATOR
from engine.errors import Cancelled, EngineError
from engine.host.protocol import Filtered
from engine.host.request import Check, Preview, Seen
from engine.host.shared_array import segments_of
from engine.work.messages import ListRequest, PictureJob
from gui.engine_link.engine_link import EngineLink, Newest, is_reported_by_link, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.display import Display
from gui.explore.picture_job import is_chain
from gui.explore.small_picture import ComputingMessages
from gui.explore.workspace import Workspace

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
    _job_may_differ = Signal()

    def __init__(
        self,
        workspace: Workspace,
        state: EngineState,
        link: EngineLink,
        messages: ComputingMessages,
        display: Display,
        seen: Callable[[], Seen | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._link = link
        self._seen = seen
        self._keeper = link.keeper
        self._messages = messages
        self._display = display
        self._previews, self._checks, self._lists = (Newest(link) for _ in range(3))
        self._wanted: PictureJob | None = None
        self._given_up: PictureJob | None = None
        self._is_stopped = False
        self._patience_ms = PATIENCE_MS
        self._patience_timer = QTimer(self, singleShot=True)
        self._patience_timer.timeout.connect(self._leave_stale)
        self._is_settling = False
        # Queued and no timer: that would come after the painting of all that the edit changed, 10 ms.
        self._job_may_differ.connect(self._job_settled, Qt.ConnectionType.QueuedConnection)
        workspace.job_changed.connect(self.again)
        state.running_changed.connect(self._send)
        link.ready.connect(lambda _: self.again())

    def again(self) -> None:
        """Make the preview of the job once more, when all edits that arrive now have arrived."""
        if not self._is_settling:
            self._is_settling = True
            self._job_may_differ.emit()

    def cancel(self) -> None:
        """Stop the preview that is being made, and make none until the job changes."""
        if self._previews.in_flight is not None:
            self._given_up, self._wanted = self._workspace.job(), None
            self._stop()

    def _job_settled(self) -> None:
        self._is_settling = False
        job = self._workspace.job()
        self._display.follow_job()
        # Stopping may have led to a new host, which is no reason to begin again.
        self._given_up = job if job == self._given_up else None
        self._wanted = job if job != self._given_up else None
        if self._workspace.refusal is not None:
            self._messages.show_error(SOURCE, self._workspace.refusal)
        self._send()
        listed = self._workspace.step_job()
        if listed is not None:
            self._checks.ask(Check(listed), self._state.set_availability, self._show_failure)
            operation = listed.operation
            if operation is not None and not self._state.variants_of(operation.operation):
                ask = ListRequest("operations")
                self._lists.ask(ask, self._state.set_operations, self._show_failure)

    def _send(self) -> None:
        self._leave_stale()
        if self._wanted is None or self._state.running or self._previews.in_flight is not None:
            return
        if self._link.is_lost:
            # The one that is shown is an earlier one, until there is a connection again.
            self._display.show_age()
            return
        job, self._wanted = self._wanted, None
        where = " in the simulator" if job.device == SIMULATOR else ""

        def show_stage(stage: str, fraction: float = 0.0) -> None:
            self._state.set_task(SOURCE, stage + where, fraction)

        self._is_stopped = False
        self._patience_timer.start(self._patience_ms)
        show_stage("computing")
        self._previews.ask(
            Preview(job, self._seen()),
            partial(self._replied, job),
            partial(self._failed, job),
            lambda step: show_stage(step.stage, step.fraction),
        )

    def _leave_stale(self) -> None:
        """Stop the preview in flight if another one is wanted and its time is over.

        One in the simulator is stopped at once, because it may take long.
        """
        asked, wanted = self._previews.in_flight, self._wanted
        if asked is None or wanted is None:
            return
        assert isinstance(asked, Preview)
        if asked.job.device == SIMULATOR and asked.job != wanted:
            if not self._is_stopped:
                self._stop()
        elif self._is_stopped:
            return
        elif asked.job == wanted:
            # Edited back, or a host that came up meanwhile: what is wanted is on its way.
            self._wanted = None
        elif not self._patience_timer.isActive():
            self._patience_ms *= PATIENCE_GROWTH
            self._stop()
        else:
            self._previews.supersede()

    def _stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self._previews.cancel()

    def _replied(self, job: PictureJob, reply: Filtered) -> None:
        self._state.end_task(SOURCE)
        if job == self._workspace.job():
            self._patience_ms = PATIENCE_MS
            self._messages.clear(SOURCE)
            self._display.show(reply)
            self._display.show_age()
            self.shown.emit()
        elif self._is_of_this_edit(job):
            # Over a line each one is late while somebody drags: what comes is seen all the same.
            self._display.show(reply, job)
            self._display.follow_job()
        else:
            self._keeper.discard(segments_of(reply))
        self._send()

    def _is_of_this_edit(self, job: PictureJob) -> bool:
        """Whether a preview of another machine is of this picture and operation, with older settings."""
        present = self._workspace.job()
        if present is None or not self._link.is_remote or is_chain(job) != is_chain(present):
            return False
        names = [one.operation.operation if one.operation else "" for one in (job, present)]
        return job.picture == present.picture and names[0] == names[1]

    def _failed(self, job: PictureJob, error: EngineError) -> None:
        self._state.end_task(SOURCE)
        if self._wanted is None and job == self._workspace.job():
            if is_reported_by_link(error) or isinstance(error, Cancelled):
                self._display.show_age()
            else:
                in_panel = job.operation is not None and error.is_refusal
                self._display.refuse(str(error) if in_panel else "")
                if not in_panel or self._messages.have_a_way_out:
                    self._messages.show_error(SOURCE, error)
                self.failed.emit(error)
        self._send()

    def _show_failure(self, error: EngineError) -> None:
        # What is refused, the preview says.
        if not (needs_no_message(error) or error.is_refusal):
            self._messages.show_error("availability", error)
