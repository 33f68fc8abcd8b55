"""Pictures that the engine makes of what is shown: how both differ, and what is black and white in them."""

from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import EngineError
from engine.host.protocol import ScreenLevels, ShowWindow, TiledScreen, Windowed
from engine.verify.verification import Region
from engine.work.messages import Compared, ComparePictures
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.layers import ViewMode
from gui.explore.workspace import Workspace

MODES = {ViewMode.DIFFERENCE: "difference", ViewMode.ERROR: "error"}

_WAIT = "Comparing picture and result."
_NO_RESULT = "There is no result of these settings yet."
_IN_PARTS = (
    "This picture stays in its file: it is not compared as a whole.\n"
    "Select a region with Shift and drag, and crop to it."
)
_ELSEWHERE = "The result is on another machine. Choose This computer under Device to compare here."
_ONLY_FILTERS = "The error is known of convolutions; for another operation see Proof in the results."
# While somebody zooms or drags, no part is asked for.
_SETTLED_MS = 150


class Comparison(QObject):
    """`screen` has the picture for the screen, or `words` say why there is none."""

    changed = Signal()

    def __init__(self, workspace: Workspace, state: EngineState, link: EngineLink) -> None:
        super().__init__()
        self._workspace, self._state, self._keeper = workspace, state, link.keeper
        self._newest = Newest(link)
        self._mode: ViewMode | None = None
        self._seen = Region(0, 1, 0, 1)
        self._shown: ComparePictures | None = None
        self._is_whole = False
        self.screen: ScreenLevels | None = None
        self.words = ""
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._ask)
        state.filtered.connect(lambda _: self._again(0))
        # A preview waits while values are computed to be compared.
        workspace.job_changed.connect(self._newest.cancel)
        workspace.picture_changed.connect(lambda _: self._forget())

    def show(self, mode: ViewMode, seen: Region) -> None:
        """Note the mode, and which pixels are seen: of a large error only these are computed."""
        mode_now = mode if mode in MODES else None
        if mode_now != self._mode:
            self._mode, self._seen = mode_now, seen
            self._drop(_WAIT)
            self._again(0)
        elif mode_now is not None and seen != self._seen:
            self._seen = seen
            if not self._is_whole:
                self._again(_SETTLED_MS)

    def _again(self, after_ms: int) -> None:
        if self._mode is not None:
            self._timer.start(after_ms)

    def _ask(self) -> None:
        picture, result, job = self._workspace.picture, self._state.last_result, self._workspace.filter_job()
        if self._mode is None:
            return
        why = ""
        if picture is not None and isinstance(picture.screen, TiledScreen):
            why = _IN_PARTS
        elif result is not None and result.tiles:
            why = _ELSEWHERE
        elif picture is None or result is None or result.values is None or self._state.result_is_earlier:
            why = _NO_RESULT
        elif self._mode is ViewMode.ERROR and job is None:
            why = _ONLY_FILTERS
        if why or picture is None or result is None or result.values is None:
            self._newest.forget()
            self._drop(why)
            return
        needs = job if self._mode is ViewMode.ERROR else None
        request = ComparePictures(picture, result.values, needs, result.variant, self._seen)
        if request != self._shown:
            self._newest.ask(request, lambda reply: self._replied(request, reply), self._failed)

    def _replied(self, request: ComparePictures, reply: Compared) -> None:
        self._shown, self._is_whole = request, reply.is_whole
        self._put(reply.screen, reply.words)

    def _failed(self, error: EngineError) -> None:
        if not needs_no_message(error):
            self._drop(str(error))

    def _forget(self) -> None:
        self._newest.forget()
        self._drop(_WAIT)

    def _drop(self, words: str) -> None:
        self._shown, self._is_whole = None, False
        self._put(None, words)

    def _put(self, screen: ScreenLevels | None, words: str) -> None:
        with self._keeper.exchange(self.screen, screen):
            self.screen, self.words = screen, words
            self.changed.emit()


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
        self.is_wanted = False
        """Whether a window is chosen."""
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
    def is_settled(self) -> bool:
        """Whether nothing is on its way."""
        return self._newest.in_flight is None

    def choose(self, ends: Ends | None) -> None:
        """Show these ends black and white; None: as the display range says."""
        if ends is None and not self.is_wanted:
            return
        self.is_wanted, self.ends = ends is not None, ends
        self._ask()

    def choose_percentiles(self) -> None:
        """Show those values black and white that most others lie between."""
        self.is_wanted, self.ends = True, None
        self._ask()

    def _again(self) -> None:
        if self.is_wanted:
            self._ask()

    def _ask(self) -> None:
        picture, result = self._workspace.picture, self._state.last_result
        values = result.values if self._of_result and result is not None else None
        has_values = picture is not None and isinstance(picture.screen, ScreenLevels)
        if self._of_result:
            has_values = has_values and values is not None
        if not self.is_wanted or picture is None or not has_values:
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
