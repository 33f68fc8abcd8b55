"""A preview follows each change of the job: one is in flight, the newest wins, others are dropped."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from engine.device_info import AUTO, SIMULATOR, SIMULATOR_PIXELS, SIMULATOR_SIDE
from engine.errors import Cancelled, EngineError
from engine.host.protocol import Filtered, PictureHandle
from engine.host.request import Check, Preview, Seen, segments_of
from engine.work.filtering.clipping import Clipped
from engine.work.messages import ListRequest, PictureJob
from gui.engine_link.engine_link import Newest, SegmentKeeper, is_reported_by_link, needs_no_message
from gui.engine_link.engine_state import SLOW_MS, EngineState
from gui.explore.jobs import is_chain
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.messages import PageMessages, Severity, WindowMessage

if TYPE_CHECKING:
    from engine.results.measurement import StepTime

USE_SIMULATOR = "Use the simulator with a small picture"
USE_PART = f"Use {SIMULATOR_SIDE} × {SIMULATOR_SIDE} of this picture"


def choose_simulator(workspace: Workspace, state: EngineState) -> None:
    """Choose the simulator; a kernel of the CPU, which no simulator runs, gives way to Automatic."""
    chosen = state.variant(workspace.settings.variant)
    is_cpu = chosen is not None and chosen.kind == "cpu"
    workspace.change(device=SIMULATOR, **({"variant": AUTO} if is_cpu else {}))


class ComputingMessages(PageMessages):
    """Messages about what is computed, with the small picture's button where it helps; `take` opens it."""

    def __init__(
        self, services: Services, page: object, workspace: Workspace, take: Callable[[], None]
    ) -> None:
        super().__init__(services.messages, page)
        self._workspace, self._state, self._take = workspace, services.state, take

    @property
    def have_a_way_out(self) -> bool:
        """Whether a small picture in the simulator helps: it is chosen, or the kernel needs a GPU in vain."""
        picture, settings = self._workspace.picture, self._workspace.settings
        if settings.device == SIMULATOR:
            return picture is not None and picture.width * picture.height > SIMULATOR_PIXELS
        chosen = self._state.variant(settings.variant)
        return chosen is not None and chosen.kind == "cuda" and not self._state.has_gpu

    def show(self, message: WindowMessage) -> None:
        if message.severity is not Severity.INFO and not message.action and self.have_a_way_out:
            # With a way out nothing has gone wrong.
            words = USE_PART if self._workspace.picture is not None else USE_SIMULATOR
            message = replace(message, severity=Severity.WARNING, action=words, act=self._take)
        super().show(message)


CLIPPED_SOURCE = "clipped"


class ClipHint(QObject):
    """A message when a result begins to be clipped, or that of another mask or picture is, until it ends."""

    def __init__(self, workspace: Workspace, state: EngineState, messages: PageMessages) -> None:
        super().__init__()
        self._workspace, self._messages = workspace, messages
        self._shown: object = None
        state.filtered.connect(self._follow)

    def _follow(self, filtered: Filtered) -> None:
        if filtered.screen is None:
            # A run that failed: the result before is still shown.
            return
        workspace = self._workspace
        clipped = Clipped(*filtered.clipped, range_mode=workspace.range_mode)
        mode, before = clipped.better_range, self._shown
        # Not with each weight that is typed: it would lie on the picture all the time.
        of = clipped.range_mode, workspace.picture, workspace.is_chain, workspace.mask.name
        self._shown = (mode, *of) if mode else None
        if not mode:
            self._messages.clear(CLIPPED_SOURCE)
        elif self._shown != before:
            is_rounded = not workspace.can_leave_range
            how = {"range_mode": mode} | ({"result_type": "float32"} if is_rounded else {})
            shows, act = f"Show {mode}{', as float32' * is_rounded}", partial(workspace.change, **how)
            self._messages.show(
                WindowMessage(CLIPPED_SOURCE, Severity.INFO, clipped.words, action=shows, act=act)
            )


class Display(QObject):
    """Puts pictures and results into the state. Views let go of the old one in the signal for the new one."""

    outcome_changed = Signal()  # `operation_result` or `refusal`
    timed = Signal()  # `step_times`

    def __init__(self, workspace: Workspace, state: EngineState, keeper: SegmentKeeper) -> None:
        super().__init__()
        self._workspace, self._state, self._keeper = workspace, state, keeper
        self.job: PictureJob | None = None  # the job whose result is shown; None where there is none
        self.operation_result: Filtered | None = None
        """What an operation reports beside its picture; None for a convolution."""
        self.step_times: tuple[StepTime, ...] = ()  # what the steps of a chain took that was shown last
        self.shown_steps: tuple[StepTime, ...] = ()
        """What computed the steps of the chain whose result is shown."""
        self.refusal = ""  # why the operation cannot be done; its panel says it
        self.seen: Callable[[], Seen | None] = lambda: None
        """The visible part of a result, where another machine is to send only that."""
        # Most previews arrive sooner, and a label that flickers with each edit says nothing.
        self._age_timer = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._age_timer.timeout.connect(self.show_age)
        state.machine_changed.connect(self._lose_elsewhere)
        workspace.operation_changed.connect(lambda: self._set_outcome(None))

    @property
    def is_earlier(self) -> bool:
        """Whether there is a result, and the job has changed since it was shown."""
        return self._state.last_result is not None and self.job != self._workspace.job()

    def follow_job(self) -> None:
        """Note that the job may have changed: if no result comes soon, the one shown is an earlier one."""
        if not self.is_earlier:
            self.show_age()
        elif not self._age_timer.isActive():
            self._age_timer.start()

    def show_age(self) -> None:
        """Say whether the result on the screen is of an earlier job, when no preview is expected soon."""
        self._age_timer.stop()
        self._state.set_result_earlier(self.is_earlier)

    def show_picture(self, picture: PictureHandle) -> None:
        """Work on this picture from now on, and drop the result of the one before."""
        with (
            self._keeper.exchange(self._workspace.picture, picture),
            self._keeper.exchange(self._state.last_result, None),
        ):
            self._state.forget_filtered()
            self._set_outcome(None)
            self._workspace.set_picture(picture)

    def show(self, reply: Filtered, job: PictureJob | None = None) -> None:
        """Show the result of a preview or a run of the present job, or of one that has just been edited."""
        present = self._workspace.job()
        self.job = job or present
        self.shown_steps = reply.steps
        with self._keeper.exchange(self._state.last_result, reply):
            self._state.show_filtered(reply, is_passing=self.job != present)
        self._set_outcome(reply if self.job is not None and self.job.operation is not None else None)
        self.note_times(reply)

    def note_times(self, reply: Filtered) -> None:
        if reply.steps:
            self.step_times = reply.steps
            self.timed.emit()

    def _lose_elsewhere(self) -> None:
        """Note that a result on another machine went with the connection: it cannot be saved."""
        if self._state.last_result is not None and self._state.last_result.tiles:
            self.job = None
            self.show_age()

    def refuse(self, refusal: str) -> None:
        """Say that the present job has no result; an operation's panel says why."""
        self.show_age()
        self._set_outcome(None, refusal)

    def _set_outcome(self, result: Filtered | None, refusal: str = "") -> None:
        if (result, refusal) != (self.operation_result, self.refusal):
            self.operation_result, self.refusal = result, refusal
            self.outcome_changed.emit()


SOURCE = "preview"
# A preview of plain loops takes 11 s for 3000 x 2500 RGB and 15 x 15 weights; most take less than this.
PATIENCE_MS = 500
# Stopping may cost a new host (2 s of grace, 1 to 2 s of start), so after each preview that was stopped the
# next one gets more time: 0.5, 1, 2, 4, 8 s. However quick the edits are, restarts become rare.
PATIENCE_GROWTH = 2


class PreviewController(QObject):
    """Keeps the shown result and the availability of variants in step with the workspace.

    Edits that arrive together (a paste, a preset with its settings) make one preview. During a run the newest
    preview waits. A preview that is no longer wanted is stopped once it has lasted `PATIENCE_MS`.
    """

    shown = Signal()  # the preview of the present job is shown
    failed = Signal(object)  # the EngineError of the preview of the present job
    _job_may_differ = Signal()

    def __init__(
        self, workspace: Workspace, services: Services, messages: ComputingMessages, display: Display
    ) -> None:
        super().__init__()
        self._workspace, self._state, self._link = workspace, services.state, (link := services.link)
        self._messages, self._display = messages, display
        self._previews, self._checks, self._lists = (Newest(link) for _ in range(3))
        self._wanted: PictureJob | None = None
        self._stopped_job: PictureJob | None = None
        self._is_stopped = self._is_queued = False
        self._patience_ms = PATIENCE_MS
        self._patience_timer = QTimer(self, singleShot=True)
        self._patience_timer.timeout.connect(self._leave_stale)
        # Queued and no timer: that would come after the painting of all that the edit changed, 10 ms.
        self._job_may_differ.connect(self._request_preview, Qt.ConnectionType.QueuedConnection)
        workspace.job_changed.connect(self.again)
        services.state.running_changed.connect(self._send)
        link.ready.connect(lambda _: self.again())

    def again(self) -> None:
        """Make the preview of the job once more, when all edits that arrive now have arrived."""
        if not self._is_queued:
            self._is_queued = True
            self._job_may_differ.emit()

    def cancel(self) -> None:
        """Stop the preview that is being made, and make none until the job changes."""
        if self._previews.in_flight is not None:
            self._stopped_job, self._wanted = self._workspace.job(), None
            self._stop()

    def _request_preview(self) -> None:
        self._is_queued = False
        job = self._workspace.job()
        self._display.follow_job()
        # Stopping may have led to a new host, which is no reason to begin again.
        self._stopped_job, self._wanted = (job, None) if job == self._stopped_job else (None, job)
        if self._workspace.refusal is not None:
            self._messages.show_error(SOURCE, self._workspace.refusal)
        self._send()
        listed, state = self._workspace.step_job(), self._state
        if listed is not None:
            self._checks.ask(Check(listed), state.set_availability, self._show_failure)
            operation = listed.operation
            if operation is not None and not state.variants_of(operation.operation):
                self._lists.ask(ListRequest("operations"), state.set_operations, self._show_failure)

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
        answers = partial(self._replied, job), partial(self._failed, job)
        self._previews.ask(
            Preview(job, self._display.seen()), *answers, lambda step: show_stage(step.stage, step.fraction)
        )

    def _leave_stale(self) -> None:
        """Stop a preview that is not wanted any more once its time is over; one in the simulator at once."""
        preview, wanted = self._previews.in_flight, self._wanted
        if preview is None or wanted is None:
            return
        assert isinstance(preview, Preview)
        if preview.job.device == SIMULATOR and preview.job != wanted:
            if not self._is_stopped:
                self._stop()
        elif self._is_stopped:
            return
        elif preview.job == wanted:
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
            # Over a line each one is late during a drag: what comes is seen all the same.
            self._display.show(reply, job)
            self._display.follow_job()
        else:
            self._link.keeper.discard(segments_of(reply))
        self._send()

    def _is_of_this_edit(self, job: PictureJob) -> bool:
        """Whether a preview of another machine is of this picture and operation, with older settings."""
        present = self._workspace.job()
        if present is None or not self._link.is_remote or is_chain(job) != is_chain(present):
            return False
        one, other = (each.operation.operation if each.operation else "" for each in (job, present))
        return job.picture == present.picture and one == other

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
