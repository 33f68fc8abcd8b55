"""Which values of original and result are shown black and white, where a person has chosen that.

For the screen alone: values, files and what is computed stay as they are.
"""

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from engine.host.picture_numbers import ShowWindow, Windowed
from engine.host.protocol import ScreenLevels
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.workspace import Workspace

Ends = tuple[float, float]


class Window(QObject):
    """The window of the original, or of the result."""

    changed = Signal()  # `ends` or `screen`

    def __init__(
        self, workspace: Workspace, state: EngineState, link: EngineLink, *, of_result: bool
    ) -> None:
        super().__init__()
        self._workspace, self._state, self._keeper = workspace, state, link.keeper
        self._of_result = of_result
        self._newest = Newest(link)
        self._is_wanted = False
        self.ends: Ends | None = None
        """What is black and what is white; None: as the display range says."""
        self.screen: ScreenLevels | None = None
        """What is painted in place of the picture; None where it is not chosen, or not here yet."""
        workspace.picture_changed.connect(lambda _: self.choose(None))
        if of_result:
            state.filtered.connect(lambda _: self._again())
            # A preview waits while values are computed to be shown.
            workspace.job_changed.connect(self._newest.cancel)

    @property
    def is_wanted(self) -> bool:
        """Whether a window is chosen."""
        return self._is_wanted

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way."""
        return self._newest.in_flight is None

    def choose(self, ends: Ends | None) -> None:
        """Show these ends black and white; None: as the display range says."""
        if ends is None and not self._is_wanted:
            return
        self._is_wanted, self.ends = ends is not None, ends
        self._ask()

    def choose_percentiles(self) -> None:
        """Show those values black and white that most others lie between."""
        self._is_wanted, self.ends = True, None
        self._ask()

    def _again(self) -> None:
        if self._is_wanted:
            self._ask()

    def _ask(self) -> None:
        picture, result = self._workspace.picture, self._state.last_result
        values = result.values if self._of_result and result is not None else None
        has_values = picture is not None and isinstance(picture.screen, ScreenLevels)
        if self._of_result:
            has_values = has_values and values is not None
        if not self._is_wanted or picture is None or not has_values:
            self._newest.forget()
            self._show(None)
            return
        request = ShowWindow(picture, values, self.ends)
        if request != self._newest.in_flight:
            self._newest.ask(request, self._replied, self._failed)

    def _replied(self, reply: Windowed) -> None:
        self.ends = reply.ends
        self._show(reply.screen)

    def _failed(self, error: EngineError) -> None:
        # Whatever is wrong with the engine, the link or the preview says.
        self._show(None)

    def _show(self, screen: ScreenLevels | None) -> None:
        with self._keeper.exchange(self.screen, screen):
            self.screen = screen
            self.changed.emit()
