"""Pictures: open a file or a sample, save the result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from engine.errors import Cancelled, EngineError
from engine.host.protocol import OpenPicture, PictureHandle, Saved, SaveResult
from engine.host.request import Request
from engine.host.tiles import TiledScreen
from engine.results.progress import Progress
from gui.engine_link.engine_link import Ask, EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.display import Display
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, Severity

OPEN_SOURCE = "open"
SAVE_SOURCE = "save"

_SAVE_LARGE = "Save the mask, and filter the file on the command line: haloscope filter {} --memory 2G."

Then = Callable[[bool], None]


class PictureController(QObject):
    """Opens and saves through the engine; the newest requested picture wins."""

    opened = Signal(object)  # the PictureHandle that is shown now
    open_failed = Signal(object)  # the EngineError

    def __init__(
        self, workspace: Workspace, state: EngineState, link: EngineLink, messages: Messages, display: Display
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._link = link
        self._messages = messages
        self._display = display
        self._newest = Newest(link)
        self._is_stopping = False

    def open_path(self, path: Path, then: Then | None = None) -> None:
        """Open a picture file; `then` is called with True after it is shown, with False if it cannot be."""
        self._link.ask(self.asked(OpenPicture(path=str(path)), then))

    def open_sample(self, key: str, then: Then | None = None) -> None:
        self._link.ask(self.asked(OpenPicture(sample=key), then))

    def asked(self, request: OpenPicture, then: Then | None = None) -> Ask:
        """Return the ask for a picture, which from now on is the newest."""
        # The one before may take minutes, for which this one would wait.
        self.cancel()
        self._is_stopping = False
        self._state.set_task(OPEN_SOURCE, f"opening {_name(request)}")
        return self._newest.made(
            request,
            lambda picture: self._replied(picture, then),
            lambda error: self._failed(error, then),
            self._progressed,
        )

    def cancel(self) -> None:
        """Stop the picture that is being opened, if there is one; the one before stays."""
        opening = self._newest.in_flight
        if opening is not None and not self._is_stopping:
            self._is_stopping = True
            self._state.set_task(OPEN_SOURCE, f"stopping: opening {_name(opening)}")
            self._newest.cancel()

    def can_save_result(self) -> bool:
        """Return whether there is a result of the settings as they are; a message says why not."""
        picture, result = self._workspace.picture, self._state.last_result
        if picture is not None and isinstance(picture.screen, TiledScreen):
            what = "A picture that is opened in parts cannot be saved from here"
            why, remedy = "its result is computed only where you look", _SAVE_LARGE.format(picture.title)
        elif picture is None or result is None or result.values is None:
            what, why, remedy = "There is no result to save yet", "", "Wait for the preview."
        elif self._display.is_earlier:
            what = "There is no result of these settings to save"
            why = "The picture that is shown is an earlier result"
            remedy = "Wait for the preview, or choose a kernel and a device that can run."
        else:
            return True
        self._messages.show(Message(SAVE_SOURCE, Severity.WARNING, what, why, remedy))
        return False

    def save_result(self, path: Path, depth: str = "keep") -> None:
        """Save the result that is shown; one of settings that no longer hold is refused."""
        picture, result = self._workspace.picture, self._state.last_result
        if not self.can_save_result() or picture is None or result is None or result.values is None:
            return
        self._messages.clear(SAVE_SOURCE)
        self._state.set_task(SAVE_SOURCE, f"saving {path.name}")
        request = SaveResult(picture, result.values, str(path), self._workspace.range_mode, depth)
        self._link.ask(Ask(request, self._saved, partial(self._show_failure, SAVE_SOURCE)))

    def _progressed(self, step: Progress) -> None:
        if not self._is_stopping:
            self._state.set_task(OPEN_SOURCE, step.stage, step.fraction)

    def _replied(self, picture: PictureHandle, then: Then | None) -> None:
        self._state.end_task(OPEN_SOURCE)
        self._messages.clear(OPEN_SOURCE)
        if picture.notes:
            self._messages.show(Message(OPEN_SOURCE, Severity.INFO, picture.title, " ".join(picture.notes)))
        self._display.show_picture(picture)
        self.opened.emit(picture)
        if then is not None:
            then(True)

    def _failed(self, error: EngineError, then: Then | None) -> None:
        self._show_failure(OPEN_SOURCE, error)
        self.open_failed.emit(error)
        if then is not None:
            then(False)

    def _saved(self, saved: Saved) -> None:
        self._state.end_task(SAVE_SOURCE)
        severity = Severity.WARNING if saved.notes else Severity.INFO
        self._messages.show(Message(SAVE_SOURCE, severity, f"Saved as {saved.path}", " ".join(saved.notes)))

    def _show_failure(self, source: str, error: EngineError) -> None:
        self._state.end_task(source)
        if not isinstance(error, Cancelled):
            self._messages.show_error(source, error)


def _name(request: Request) -> str:
    assert isinstance(request, OpenPicture)
    return Path(request.path).name or request.sample
