"""Pictures: open a file or a sample, save the result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from engine.errors import Cancelled, EngineError, LineLost
from engine.host.protocol import CropPicture, OpenPicture, PictureHandle, Saved, SaveResult, TiledScreen
from engine.host.request import Request
from engine.results.problem import Progress
from engine.verify.verification import Region
from engine.work.messages import SaveFiltered
from gui.engine_link.engine_link import Ask, Newest
from gui.explore.preview_controller import Display
from gui.explore.state import PictureSource
from gui.explore.workspace import Workspace
from gui.page.contract import Services

OPEN_SOURCE = "open"
SAVE_SOURCE = "save"

Then = Callable[[bool], None]


class PictureController(QObject):
    """Opens and saves through the engine; the newest requested picture wins."""

    opened = Signal(object)  # the PictureHandle that is shown now
    open_failed = Signal(object)  # the EngineError

    def __init__(self, workspace: Workspace, services: Services, display: Display) -> None:
        super().__init__()
        self._workspace, self._state, self._link = workspace, services.state, services.link
        self._messages, self._display, self._newest = services.messages, display, Newest(services.link)
        self._is_stopping = False
        self._saving: Ask | None = None
        # What the end of a connection kept from being opened.
        self._kept_back: tuple[OpenPicture, Then | None] | None = None
        self._link.ready.connect(self._open_kept_back)
        # Undo and sessions bring an earlier picture back.
        workspace.picture_wanted.connect(self.open_source)

    def open_path(self, path: Path, then: Then | None = None) -> None:
        """Open a picture file; `then` is called with True after it is shown, with False if it cannot be."""
        self._open(OpenPicture(path=str(path)), then)

    def open_sample(self, key: str, then: Then | None = None) -> None:
        self._open(OpenPicture(sample=key), then)

    def crop(self, region: Region, then: Then | None = None) -> None:
        """Make a part of the picture the picture."""
        picture = self._workspace.picture
        if picture is not None:
            self._link.ask(self._newest_ask(CropPicture(picture, region), f"cropping {picture.title}", then))

    def open_whole(self) -> None:
        """Open all of the picture that is a part of a file or a sample."""
        picture = self._workspace.picture
        if picture is not None and picture.crop is not None:
            self._open(OpenPicture(picture.path, picture.sample), None)

    def open_source(self, source: PictureSource | None, then: Then | None = None) -> None:
        """Open what a picture came from; None: what is shown is wanted again."""
        if source is None or (request := source.request) is None:
            self._stop_opening()
        else:
            self._open(request, then)

    def _open(self, request: OpenPicture, then: Then | None) -> None:
        if self._link.is_lost:
            what, why = f"{_name(request)} is opened later", "there is no connection to the server"
            self._messages.note(OPEN_SOURCE, what, why, "Reconnect, or choose This computer under Device.")
        self._link.ask(self.newest_ask(request, then))

    def newest_ask(self, request: OpenPicture, then: Then | None = None) -> Ask:
        """Return the ask for a picture, which from now on is the newest."""
        return self._newest_ask(request, f"opening {_name(request)}", then)

    def _newest_ask(self, request: OpenPicture | CropPicture, stage: str, then: Then | None) -> Ask:
        # The one before may take minutes, for which this one would wait.
        self._stop_opening()
        self._is_stopping = False
        self._kept_back = None
        self._state.set_task(OPEN_SOURCE, stage)
        failed = partial(self._failed, request, then)
        return self._newest.made(request, partial(self._replied, then), failed, self._progressed)

    def cancel(self) -> None:
        """Stop the picture that is being opened, and a file that is being filtered; what is shown stays."""
        if self._saving is not None and isinstance(self._saving.request, SaveFiltered):
            self._link.cancel(self._saving)
        self._stop_opening()

    def _stop_opening(self) -> None:
        if (opening := self._newest.in_flight) is not None and not self._is_stopping:
            self._is_stopping = True
            self._state.set_task(OPEN_SOURCE, f"stopping: opening {_name(opening)}")
            self._newest.cancel()

    @property
    def saves_in_parts(self) -> bool:
        """Whether the result is that of a picture in parts: then the file is filtered when it is saved."""
        picture = self._workspace.picture
        is_in_parts = picture is not None and isinstance(picture.screen, TiledScreen)
        return is_in_parts and self._state.last_result is not None

    def can_save_result(self) -> bool:
        """Return whether there is a result of the settings as they are; a message says why not."""
        picture, result = self._workspace.picture, self._state.last_result
        if self.saves_in_parts and not self._display.is_earlier:
            return True
        if picture is None or result is None or (result.values is None and not result.tiles):
            what, why, remedy = "There is no result to save yet", "", "Wait for the preview."
        elif self._display.is_earlier:
            what = "There is no result of these settings to save"
            why = "The picture that is shown is an earlier result"
            remedy = "Wait for the preview, or choose a kernel and a device that can run."
        else:
            return True
        self._messages.warn(SAVE_SOURCE, what, why, remedy)
        return False

    def when_shown(self, then: Callable[[], None]) -> None:
        """Call `then` once the result of the settings as they are is shown; never if they change before."""
        if not self._display.is_earlier:
            then()
            return
        job = self._workspace.job()

        def look() -> None:
            if self._workspace.job() == job and self._display.is_earlier:
                return
            self._state.filtered.disconnect(look)
            if self._workspace.job() == job:
                then()

        self._state.filtered.connect(look)

    def save_result(
        self, path: Path, depth: str = "keep", *, metadata: bool = True, quality: int = 0
    ) -> None:
        """Save the result that is shown; one of settings that no longer hold is refused."""
        picture, result, job = self._workspace.picture, self._state.last_result, self._workspace.job()
        if not self.can_save_result() or picture is None or result is None:
            return
        request: Request
        if self.saves_in_parts and job is not None:
            request = SaveFiltered(job, str(path), depth)
        else:
            # Of a result on another machine the values are fetched.
            screen = result.screen
            elsewhere = screen if isinstance(screen, TiledScreen) and result.values is None else None
            how = str(path), self._workspace.range_mode, depth
            request = SaveResult(picture, result.values, *how, elsewhere, metadata, quality)
        self._messages.clear(SAVE_SOURCE)
        self._state.set_task(SAVE_SOURCE, f"saving {path.name}")
        failed = partial(self._save_failed, request)
        self._saving = self._link.ask(Ask(request, self._saved, failed, self._save_progressed))

    def _save_progressed(self, step: Progress) -> None:
        if step.fraction:
            self._state.set_task(SAVE_SOURCE, f"{step.stage} {100 * step.fraction:.0f} %", step.fraction)

    def _save_failed(self, request: Request, error: EngineError) -> None:
        self._saving = None
        self._show_failure(SAVE_SOURCE, error)
        if isinstance(error, Cancelled) and isinstance(request, SaveFiltered):
            what, why = f"{Path(request.path).name} was stopped", "what is done is kept beside it"
            remedy = "To go on, save to the same name with the same settings."
            self._messages.note(SAVE_SOURCE, what, why, remedy)

    def _progressed(self, step: Progress) -> None:
        if not self._is_stopping:
            self._state.set_task(OPEN_SOURCE, step.stage, step.fraction)

    def _replied(self, then: Then | None, picture: PictureHandle) -> None:
        self._state.end_task(OPEN_SOURCE)
        self._messages.clear(OPEN_SOURCE)
        self._messages.forget_errors()
        if picture.notes:
            self._messages.note(OPEN_SOURCE, picture.title, " ".join(picture.notes))
        self._display.show_picture(picture)
        self.opened.emit(picture)
        if then is not None:
            then(True)

    def _open_kept_back(self) -> None:
        if self._kept_back is not None:
            self._link.ask(self.newest_ask(*self._kept_back))

    def _failed(self, request: OpenPicture | CropPicture, then: Then | None, error: EngineError) -> None:
        is_cut_off = isinstance(error, LineLost) or (isinstance(error, Cancelled) and not self._is_stopping)
        if isinstance(request, OpenPicture) and is_cut_off:
            # The link says why; it is opened by the next engine.
            self._state.end_task(OPEN_SOURCE)
            self._kept_back = request, then
            return
        self._workspace.keep_picture()
        self._show_failure(OPEN_SOURCE, error)
        self.open_failed.emit(error)
        if then is not None:
            then(False)

    def _saved(self, saved: Saved) -> None:
        self._saving = None
        self._state.end_task(SAVE_SOURCE)
        say = self._messages.warn if saved.notes else self._messages.note
        say(SAVE_SOURCE, f"Saved as {saved.path}", " ".join(saved.notes))

    def _show_failure(self, source: str, error: EngineError) -> None:
        self._state.end_task(source)
        if not isinstance(error, Cancelled):
            self._messages.show_error(source, error)


def _name(request: Request) -> str:
    if isinstance(request, CropPicture):
        return request.picture.title
    assert isinstance(request, OpenPicture)
    return Path(request.path).name or request.sample
