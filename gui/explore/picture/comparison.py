"""Pictures that the engine makes of what is shown: how both differ, and what is black and white in them."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import EngineError
from engine.host.protocol import ScreenLevels, ShowWindow, TiledScreen, Windowed
from engine.verify.verification import Region
from engine.work.messages import Compared, ComparePictures
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.layers import ViewMode
from gui.explore.workspace import Workspace

_WAIT = "Comparing picture and result."
_NO_RESULT = "There is no result of these settings yet."
_IN_PARTS = (
    "This picture stays in its file: it is not compared as a whole.\n"
    "Select a region with Shift and drag, and crop to it."
)
_ELSEWHERE = "The result is on another machine. Choose This computer under Device to compare here."
_ONLY_FILTERS = "The error is known of convolutions; for another operation see Proof in the results."
_PAUSE_MS = 150  # no part is requested until zooming or dragging pauses


class Made(QObject):
    """Base class: `screen` is what the engine has made of the picture and its result; None for nothing."""

    changed = Signal()

    def __init__(self, workspace: Workspace, state: EngineState, link: EngineLink) -> None:
        super().__init__()
        self._workspace, self._state, self._keeper = workspace, state, link.keeper
        self._newest = Newest(link)
        self.screen: ScreenLevels | None = None

    def _show(self, screen: ScreenLevels | None) -> None:
        with self._keeper.exchange(self.screen, screen):
            self.screen = screen
            self.changed.emit()


class Comparison(Made):
    """How picture and result differ; without a screen `words` say why."""

    def __init__(self, workspace: Workspace, state: EngineState, link: EngineLink) -> None:
        super().__init__(workspace, state, link)
        self._mode: ViewMode | None = None
        self._seen = Region(0, 1, 0, 1)
        self._shown: ComparePictures | None = None
        self._is_whole, self.words = False, ""
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._ask)
        state.filtered.connect(lambda _: self._timer.start(0))
        # A preview waits while values are computed to be compared.
        workspace.job_changed.connect(self._newest.cancel)
        workspace.picture_changed.connect(lambda _: self._give_up(_WAIT))

    def show(self, mode: ViewMode, seen: Region) -> None:
        """Note the mode, and which pixels are seen: of a large error only these are computed."""
        mode_now = mode if mode in (ViewMode.DIFFERENCE, ViewMode.ERROR) else None
        if mode_now != self._mode:
            self._mode, self._seen = mode_now, seen
            self._drop(_WAIT)
            self._timer.start(0)
        elif mode_now is not None and seen != self._seen:
            self._seen = seen
            if not self._is_whole:
                self._timer.start(_PAUSE_MS)

    def _ask(self) -> None:
        picture, result, job = self._workspace.picture, self._state.last_result, self._workspace.filter_job()
        is_error = self._mode is ViewMode.ERROR
        if self._mode is None:
            return
        if picture is not None and isinstance(picture.screen, TiledScreen):
            self._give_up(_IN_PARTS)
        elif result is not None and result.tiles:
            self._give_up(_ELSEWHERE)
        elif picture is None or result is None or result.values is None or self._state.result_is_earlier:
            self._give_up(_NO_RESULT)
        elif is_error and job is None:
            self._give_up(_ONLY_FILTERS)
        else:
            needs = job if is_error else None
            request = ComparePictures(picture, result.values, needs, result.variant, self._seen)
            if request != self._shown:
                self._newest.ask(request, partial(self._replied, request), self._failed)

    def _replied(self, request: ComparePictures, reply: Compared) -> None:
        self._shown, self._is_whole, self.words = request, reply.is_whole, reply.words
        self._show(reply.screen)

    def _failed(self, error: EngineError) -> None:
        if not needs_no_message(error):
            self._drop(str(error))

    def _give_up(self, words: str) -> None:
        self._newest.forget()
        self._drop(words)

    def _drop(self, words: str) -> None:
        self._shown, self._is_whole, self.words = None, False, words
        self._show(None)


Ends = tuple[float, float]


class Window(Made):
    """The window of the original, or of the result: what is painted in its place, once it is here."""

    def __init__(
        self, workspace: Workspace, state: EngineState, link: EngineLink, *, of_result: bool
    ) -> None:
        super().__init__(workspace, state, link)
        self._of_result = of_result
        self.is_wanted = False  # whether a window is chosen
        self.ends: Ends | None = None  # what is black and what is white; None: as the display range says
        workspace.picture_changed.connect(lambda _: self.forget())
        if of_result:
            state.filtered.connect(lambda _: self._ask() if self.is_wanted else None)
            # A preview waits while values are computed to be shown.
            workspace.job_changed.connect(self._newest.cancel)

    def choose(self, ends: Ends | None) -> None:
        """Show these ends black and white; None: as the display range says."""
        if ends is not None or self.is_wanted:
            self.is_wanted, self.ends = ends is not None, ends
            self._ask()

    def forget(self) -> None:
        self.choose(None)

    def choose_percentiles(self) -> None:
        """Show those values black and white that most others lie between."""
        self.is_wanted, self.ends = True, None
        self._ask()

    def _ask(self) -> None:
        picture, result = self._workspace.picture, self._state.last_result
        values = result.values if self._of_result and result is not None else None
        is_here = picture is not None and isinstance(picture.screen, ScreenLevels)
        if not self.is_wanted or picture is None or not is_here or (self._of_result and values is None):
            self._newest.forget()
            self._show(None)
            return
        request = ShowWindow(picture, values, self.ends)
        if request != self._newest.in_flight:
            # Whatever is wrong with the engine, the link or the preview says.
            self._newest.ask(request, self._replied, lambda error: self._show(None))

    def _replied(self, reply: Windowed) -> None:
        self.ends = reply.ends
        self._show(reply.screen)
