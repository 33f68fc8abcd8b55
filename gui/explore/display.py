"""What is on the screen now; its shared memory is held while it is shown and released after."""

from engine.host.protocol import Filtered, FilterJob, PictureHandle
from engine.host.shared_array import segments_of
from gui.engine_link.engine_link import SegmentKeeper
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace


class Display:
    """Puts pictures and results into the state. Views let go of the old one in the signal for the new one."""

    def __init__(self, workspace: Workspace, state: EngineState, keeper: SegmentKeeper) -> None:
        self._workspace = workspace
        self._state = state
        self._keeper = keeper
        self._job: FilterJob | None = None

    @property
    def is_earlier(self) -> bool:
        """Whether there is a result, and the job has changed since it was shown."""
        return self._state.last_result is not None and self._job != self._workspace.job()

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
        self._job = self._workspace.job()
        self._state.show_filtered(filtered)
        self._keeper.drop(segments_of(old))
