"""What is on the screen now; its shared memory is held while it is shown and released after."""

from PySide6.QtCore import QTimer

from engine.host.protocol import Filtered, PictureHandle
from engine.host.shared_array import segments_of
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.operation.messages import OperationJob
from gui.engine_link.engine_link import SegmentKeeper
from gui.engine_link.engine_state import SLOW_MS, EngineState
from gui.explore.operation.operation_state import OperationState
from gui.explore.workspace import Workspace


class Display:
    """Puts pictures and results into the state. Views let go of the old one in the signal for the new one."""

    def __init__(
        self, workspace: Workspace, operations: OperationState, state: EngineState, keeper: SegmentKeeper
    ) -> None:
        self._workspace = workspace
        self._operations = operations
        self._state = state
        self._keeper = keeper
        self._job: FilterJob | OperationJob | None = None
        # Most previews arrive sooner, and a label that flickers with each edit says nothing.
        self._age_timer = QTimer(singleShot=True, interval=SLOW_MS)
        self._age_timer.timeout.connect(self.show_age)

    @property
    def is_earlier(self) -> bool:
        """Whether there is a result, and the job has changed since it was shown."""
        return self._state.last_result is not None and self._job != self._wanted()

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
        old_picture, old_result = self._workspace.picture, self._state.last_result
        self._keeper.hold(segments_of(picture))
        self._state.forget_filtered()
        self._workspace.set_picture(picture)
        self._keeper.drop(segments_of(old_picture))
        self._keeper.drop(segments_of(old_result))

    def show_filtered(self, filtered: Filtered) -> None:
        """Show a result of the present job."""
        old = self._state.last_result
        self._keeper.hold(segments_of(filtered))
        self._job = self._wanted()
        self._state.show_filtered(filtered)
        self._keeper.drop(segments_of(old))

    def _wanted(self) -> FilterJob | OperationJob | None:
        return self._workspace.job() or self._operations.job()
