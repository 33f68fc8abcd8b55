"""What is on the screen now; its shared memory is held while it is shown and released after."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from engine.host.protocol import Filtered, PictureHandle
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import SegmentKeeper
from gui.engine_link.engine_state import SLOW_MS, EngineState
from gui.explore.workspace import Workspace

if TYPE_CHECKING:
    from engine.results.measurement import StepTime


class Display(QObject):
    """Puts pictures and results into the state. Views let go of the old one in the signal for the new one."""

    found_changed = Signal()  # `found` or `refusal`
    timed = Signal()  # `step_times`

    def __init__(self, workspace: Workspace, state: EngineState, keeper: SegmentKeeper) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._keeper = keeper
        self._job: PictureJob | None = None
        self.found: Filtered | None = None
        """What an operation found beside its picture; None for a convolution."""
        self.step_times: tuple[StepTime, ...] = ()
        """What the steps of a chain took that was shown last."""
        self.shown_steps: tuple[StepTime, ...] = ()
        """What computed the steps of the chain whose result is shown."""
        self.refusal = ""
        """Why the operation cannot be done; its panel says it."""
        # Most previews arrive sooner, and a label that flickers with each edit says nothing.
        self._age_timer = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._age_timer.timeout.connect(self.show_age)
        state.machine_changed.connect(self._lose_elsewhere)
        workspace.operation_changed.connect(lambda: self._set_found(None))

    @property
    def job(self) -> PictureJob | None:
        """The job whose result is shown; None where there is none."""
        return self._job

    @property
    def is_earlier(self) -> bool:
        """Whether there is a result, and the job has changed since it was shown."""
        return self._state.last_result is not None and self._job != self._workspace.job()

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
            self._set_found(None)
            self._workspace.set_picture(picture)

    def show(self, reply: Filtered, job: PictureJob | None = None) -> None:
        """Show the result of a preview or a run of the present job, or of one that has just been edited."""
        present = self._workspace.job()
        self._job = job or present
        self.shown_steps = reply.steps
        with self._keeper.exchange(self._state.last_result, reply):
            self._state.show_filtered(reply, is_passing=self._job != present)
        self._set_found(reply if self._job is not None and self._job.operation is not None else None)
        self.note_times(reply)

    def note_times(self, reply: Filtered) -> None:
        """Keep what the steps of a chain took."""
        if reply.steps:
            self.step_times = reply.steps
            self.timed.emit()

    def _lose_elsewhere(self) -> None:
        """Note that a result on another machine went with the connection: it cannot be saved."""
        if self._state.last_result is not None and self._state.last_result.tiles:
            self._job = None
            self.show_age()

    def refuse(self, refusal: str) -> None:
        """Say that the present job has no result; an operation's panel says why."""
        self.show_age()
        self._set_found(None, refusal)

    def _set_found(self, found: Filtered | None, refusal: str = "") -> None:
        if (found, refusal) != (self.found, self.refusal):
            self.found, self.refusal = found, refusal
            self.found_changed.emit()
