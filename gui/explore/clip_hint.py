"""Says that much of the result lies out of range, and is black or white, with the range that shows it."""

from PySide6.QtCore import QObject

from engine.host.protocol import Filtered
from engine.work.filtering.clipping import Clipped
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, PageMessages, Severity

SOURCE = "clipped"


class ClipHint(QObject):
    """A message when a result begins to be clipped, or that of another mask or picture is.

    It goes when that ends. The name of the result on the picture says it all the time (`PictureView`).
    """

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
        mode = clipped.better_range
        if not mode:
            self._shown = None
            self._messages.clear(SOURCE)
            return
        # Not with each weight that is typed: it would lie on the picture all the time.
        about = mode, clipped.range_mode, workspace.picture, workspace.is_chain, workspace.mask.name
        if about == self._shown:
            return
        self._shown = about
        is_rounded = not workspace.can_leave_range
        shows = f"Show {mode}, as float32" if is_rounded else f"Show {mode}"
        how = {"range_mode": mode} | ({"result_type": "float32"} if is_rounded else {})
        self._messages.show(
            Message(SOURCE, Severity.INFO, clipped.words, "", "", shows, lambda: workspace.change(**how))
        )
