"""Pictures from and to other programs: paste, copy, drag out. The engine's process encodes and decodes."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
from PySide6.QtCore import QByteArray, QFile, QIODevice, QMetaType, QMimeData, QObject, QUrl
from PySide6.QtGui import QDrag, QGuiApplication, QImage

from engine.errors import BadValue, Cancelled, EngineError, MaskError
from engine.host.protocol import PictureHandle, Saved, SaveResult, TiledScreen
from engine.host.request import SharedArray
from engine.mask.text import parse_mask
from gui.engine_link.engine_link import Ask
from gui.explore.mask.grid import MaskGrid
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import DragHandle
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.jobs import Background

SOURCE = "clipboard"
MOST_KEPT = 20
_NOTHING = "Nothing was pasted"
_PNG, _IMAGE = "image/png", "application/x-qt-image"
_LONGEST_PATH = 4096
_SHOWN = 40
# What another program offers, the exact ones first.
_TYPES = {
    "image/png": ".png", "image/tiff": ".tif", "image/bmp": ".bmp", "image/webp": ".webp",
    "image/jpeg": ".jpg", "image/gif": ".gif",
}  # fmt: skip


class Pasted(NamedTuple):
    """What was on the clipboard: a file that was copied here, the bytes of one, or pixels; and its suffix."""

    content: Path | QByteArray | QImage
    suffix: str


class PictureExchange(QObject):
    """Takes pictures from the clipboard, gives results to it and to what they are dragged onto.

    `grid` takes numbers, `show_page` shows the page, `name` returns what a saved result is called at first.
    """

    def __init__(
        self,
        services: Services,
        workspace: Workspace,
        background: Background,
        pictures: PictureController,
        grid: MaskGrid,
        show_page: Callable[[], object],
        name: Callable[[], str],
    ) -> None:
        super().__init__()
        self._state, self._link, self._messages = services.state, services.link, services.messages
        self._workspace, self._background, self._pictures = workspace, background, pictures
        self._grid, self._show_page, self._name = grid, show_page, name

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="haloscope-", ignore_cleanup_errors=True)

    def paste(self) -> None:
        """Open the picture or the file on the clipboard, or put its numbers into the mask."""
        # Of an empty clipboard there is none.
        mime = QGuiApplication.clipboard().mimeData() or QMimeData()
        if self._grid.hasFocus() and not mime.hasImage() and not mime.hasUrls():
            # Its panel says what is wrong with numbers.
            self._grid.paste()
        else:
            self.take(mime)

    def take(self, mime: QMimeData, nothing: str = _NOTHING) -> None:
        """Open a pasted or dropped picture or file, or take its numbers; `nothing` begins a refusal."""
        self._messages.clear(SOURCE)
        try:
            path = file_of(mime)
            if path is None and mime.hasText() and mime.text().strip():
                _check_numbers(mime.text())
                self._show_page()
                self._grid.paste(mime.text())
                return
            if path is None:
                self._keep(picture_on(mime))
        except EngineError as error:
            self._messages.show_error(SOURCE, EngineError(nothing, error.why, error.remedy))
            return
        self._show_page()
        if path is not None:
            self._pictures.open_path(path)

    def copy(self, *, original: bool = False) -> None:
        """Put the result, or the picture before it, on the clipboard as PNG."""
        number = self._workspace.shown_step
        word = "original" if original else f"result of step {number}" if number else "result"
        self._with_file(original, lambda saved: self._put(saved, word))

    def connect_handle(self, handle: DragHandle) -> None:
        """Let the result be dragged by a handle; a click on it copies the result."""
        handle.clicked.connect(lambda: self.copy())
        handle.dragged.connect(lambda: self._with_file(False, lambda saved: self._drag(handle, saved)))

    def _keep(self, pasted: Pasted) -> None:
        """Write a pasted picture and open it; a large one takes longer than a window may stand still."""
        open_ = partial(self._go_on, lambda kept: self._pictures.open_path(kept, self._say_kept))
        self._state.set_task(SOURCE, "pasting a picture")
        self._background.do(lambda: keep_picture(pasted), open_, self._failed)

    def _drag(self, handle: DragHandle, saved: Saved) -> None:
        # Encoding a large picture takes a second: the button may be up again.
        if handle.isDown():
            handle.setDown(False)
            drag = QDrag(handle)
            drag.setMimeData(PictureMime(Path(saved.path), with_file=True))
            drag.setPixmap(handle.icon().pixmap(handle.iconSize()))
            handle.run_drag(drag)
            if saved.notes:
                self._show("The result was dragged as a PNG", saved)

    def _put(self, saved: Saved, word: str) -> None:
        QGuiApplication.clipboard().setMimeData(PictureMime(Path(saved.path), with_file=False))
        self._show(f"The {word} was copied as a picture", saved)

    def _show(self, what: str, saved: Saved) -> None:
        say = self._messages.warn if saved.notes else self._messages.note
        say(SOURCE, what, " ".join(saved.notes))

    def _with_file(self, original: bool, then: Callable[[Saved], None]) -> None:
        """Have the engine write the result, or the original, as PNG, and go on with the file."""
        picture, result = self._workspace.picture, None if original else self._state.last_result
        if picture is None or (not original and not self._pictures.can_save_result()):
            return
        if not isinstance(picture.pixels, SharedArray):
            why = f"{picture.title} stays in its file, and is too large for other programs' memory"
            error = BadValue("Nothing was copied", why, "Use Save result (Ctrl+S).")
            self._messages.show_error(SOURCE, error)
            return
        screen, values = (result.screen, result.values) if result is not None else (None, None)
        elsewhere = screen if isinstance(screen, TiledScreen) and values is None else None
        depth = "16" if picture.dtype == "float32" else "keep"
        how = str(self._place(original, picture)), self._workspace.range_mode, depth
        request = SaveResult(picture, values, *how, elsewhere)
        self._state.set_task(SOURCE, "copying the picture")
        self._link.ask(Ask(request, partial(self._go_on, then), self._failed))

    def _go_on(self, then: Callable[[Any], object], made: object) -> None:
        self._state.end_task(SOURCE)
        then(made)

    def _failed(self, error: EngineError) -> None:
        self._state.end_task(SOURCE)
        if not isinstance(error, Cancelled):
            self._messages.show_error(SOURCE, error)

    def _place(self, original: bool, picture: PictureHandle) -> Path:
        """Return a new path that ends with the program; older ones stay, for they may still be read."""
        stem = f"{Path(picture.title).stem}-original" if original else self._name()
        return Path(tempfile.mkdtemp(dir=self._folder.name)) / f"{stem}.png"

    def _say_kept(self, is_open: bool) -> None:
        if is_open:
            why = f"sessions name it, and the {MOST_KEPT} newest pasted pictures are kept"
            remedy = "Save it to keep it for longer."
            self._messages.note(SOURCE, "Picture pasted", why, remedy)


def pasted_folder() -> Path:
    """Return where pasted pictures are kept."""
    return Path(platformdirs.user_state_dir("haloscope", appauthor=False)) / "pasted"


def file_of(mime: QMimeData) -> Path | None:
    """Return the file on the clipboard, an address or a path, or None. Raises BadValue if it is elsewhere."""
    if mime.hasUrls():
        url = mime.urls()[0]
        if url.isLocalFile():
            return Path(url.toLocalFile())
        if not mime.hasImage():
            what, why = _NOTHING, f"{url.toString()[:200]} is not a file of this computer"
            raise BadValue(what, why, "Save it first, then open the file, or copy the picture itself.")
    text = mime.text().strip().strip("\"'") if mime.hasText() and not mime.hasImage() else ""
    if not text or len(text) > _LONGEST_PATH or "\n" in text or not any(mark in text for mark in "/\\."):
        return None
    path = Path(QUrl(text).toLocalFile() if text.startswith("file:") else text)
    with suppress(OSError, ValueError, RuntimeError):
        path = path.expanduser()
        return path if path.is_absolute() and path.exists() else None
    return None


def picture_on(mime: QMimeData) -> Pasted:
    """Return the picture on the clipboard: a file, its bytes, else pixels. Raises BadValue for none."""
    if isinstance(mime, PictureMime):
        # Reading it here would keep the window from answering, 40 ms with 26 MB.
        return Pasted(mime.path, mime.path.suffix)
    for kind, suffix in _TYPES.items():
        if mime.hasFormat(kind) and (data := mime.data(kind)):
            return Pasted(data, suffix)
    image = mime.imageData()
    if isinstance(image, QImage) and not image.isNull():
        return Pasted(image, ".png")
    why = "there is neither a picture nor a file nor numbers" if mime.formats() else "the clipboard is empty"
    raise BadValue(_NOTHING, why, "Copy a picture, a picture's file, or the numbers of a mask first.")


def keep_picture(pasted: Pasted) -> Path:
    """Write a pasted picture into a file, or raise BadValue; return that. Called on: any thread."""
    try:
        folder = pasted_folder() / f"{time.time_ns():020d}"
        folder.mkdir(parents=True)
        path = folder / f"Clipboard{pasted.suffix}"
        if isinstance(pasted.content, Path):
            shutil.copyfile(pasted.content, path)
        elif isinstance(pasted.content, QByteArray):
            path.write_bytes(pasted.content.data())
        elif not pasted.content.save(str(path), quality=100):
            raise OSError("the picture cannot be written")
    except OSError as error:
        raise BadValue(_NOTHING, f"{pasted_folder()} cannot be written: {error}", "") from error
    for old in sorted(pasted_folder().iterdir())[:-MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return path


class PictureMime(QMimeData):
    """A PNG file for the clipboard or a drag, read when another program asks; `with_file` also as a file."""

    def __init__(self, path: Path, *, with_file: bool) -> None:
        super().__init__()
        self.path = path
        if with_file:
            self.setUrls([QUrl.fromLocalFile(str(path))])

    def formats(self) -> list[str]:
        # Programs of other systems ask for their own form, which Qt makes of an image.
        own = [_PNG] if sys.platform == "linux" else [_PNG, _IMAGE]
        return [*own, *super().formats()]

    def hasFormat(self, mimetype: str) -> bool:
        return mimetype in self.formats()

    def retrieveData(self, mimetype: str, preferred: QMetaType | QMetaType.Type) -> Any:
        if mimetype == _PNG:
            # Empty if the folder for such files was emptied. Qt reads it without a copy in Python.
            file = QFile(str(self.path))
            return file.readAll() if file.open(QIODevice.OpenModeFlag.ReadOnly) else QByteArray()
        if mimetype == _IMAGE:
            return QImage(str(self.path))
        return super().retrieveData(mimetype, preferred)


def _check_numbers(text: str) -> None:
    try:
        parse_mask(text)
    except MaskError as error:
        shown = " ".join(text.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        why = f"“{shown}” is neither a picture, nor a file's path, nor the numbers of a mask: {error.why}"
        raise BadValue(_NOTHING, why, error.remedy) from error
