"""What the library of masks lists, own masks too, and its rows: weights, what they do, title and words."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import platformdirs
from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from engine.errors import EngineError, MaskError
from engine.host.protocol import PictureHandle
from engine.mask.generator_table import GENERATORS, Generator
from engine.mask.generators import generate
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.mask.text import load_mask, save_mask
from engine.work.messages import EffectsRequest
from gui.engine_link.engine_link import EngineLink, Newest
from gui.explore.state import known_presets
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, scaled_font, small_font
from gui.style.theme import Theme, cell_background, current_theme
from gui.widgets.number_table import paint_ground, paint_text

# More files are not read: so many are better found by their names in a folder of their own.
_MOST = 500


def default_folder() -> Path:
    """Return where own masks are kept."""
    return Path(platformdirs.user_data_dir("haloscope", appauthor=False)) / "masks"


OWN, GENERATED = "Yours", "From a few numbers, with sliders"


@dataclass(frozen=True)
class LibraryEntry:
    """A mask that can be chosen, or a generator; an own mask has a file."""

    group: str
    title: str
    about: str
    mask: Mask
    key: str = ""
    generator: Generator | None = None
    path: Path = Path()

    @classmethod
    def kept(cls, path: Path, mask: Mask) -> Self:
        return cls(OWN, mask.name, f"{mask.rows} × {mask.columns} cells", mask, path=path)

    @property
    def is_own(self) -> bool:
        return self.group == OWN


class OwnMasks:
    """Reads, saves and deletes them; raises an EngineError where that fails."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def read(self) -> tuple[list[LibraryEntry], list[str]]:
        """Return the masks by their names, and of each file that is none why."""
        entries, faults = [], []
        for path in sorted(self.folder.glob("*.json"))[:_MOST] if self.folder.is_dir() else ():
            try:
                entries.append(LibraryEntry.kept(path, load_mask(path)))
            except EngineError as error:
                faults.append(str(error))
        return sorted(entries, key=lambda own: own.title.casefold()), faults

    def save(self, mask: Mask, name: str) -> LibraryEntry:
        """Keep a mask under a name that no other one has."""
        name, what = " ".join(name.split()), "The mask was not kept"
        if not name:
            raise MaskError(what, "it has no name", "Type a name for it.")
        if len(name) > MAX_NAME_CHARACTERS:
            why = f"its name has {len(name)} characters, and at most {MAX_NAME_CHARACTERS} are taken"
            raise MaskError(what, why, "Shorten it.")
        if any(own.title.casefold() == name.casefold() for own in self.read()[0]):
            raise MaskError(what, f"one of your masks is called {name!r}", "Choose another name.")
        with suppress(OSError):
            # What is wrong with the folder, writing the file says.
            self.folder.mkdir(parents=True, exist_ok=True)
        stem = "-".join(re.findall(r"\w+", name.lower()))[:60] or "mask"
        names = (stem, *(f"{stem}-{number}" for number in range(2, _MOST)))
        path = next(path for each in names if not (path := self.folder / f"{each}.json").exists())
        return self.write(LibraryEntry.kept(path, mask.with_name(name)))

    def delete(self, own: LibraryEntry) -> LibraryEntry:
        """Remove the file of a mask; `write` brings it back."""
        try:
            own.path.unlink(missing_ok=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise MaskError(f"{own.title!r} was not deleted", why, "Delete its file yourself.") from error
        return own

    def write(self, own: LibraryEntry) -> LibraryEntry:
        save_mask(own.mask, own.path)
        return own


def library_entries(own: Iterable[LibraryEntry]) -> list[LibraryEntry]:
    """Return all entries in their order; without presets where their file is damaged."""
    entries = list(own)
    for generator in GENERATORS.values():
        mask = generate(generator.example)
        assert mask is not None
        key = generator.form
        entries.append(LibraryEntry(GENERATED, generator.title, generator.about, mask, key, generator))
    ready = (LibraryEntry(one.group, one.title, one.teaches, one.mask, one.key) for one in known_presets())
    return [*entries, *ready]


def matching(entries: Iterable[LibraryEntry], text: str) -> list[LibraryEntry]:
    """Return the entries that have every word of a search; those whose title has them come first."""
    words = text.lower().replace("×", "x").split()

    def has_all(text: str) -> bool:
        return all(word in text.lower() for word in words)

    matches = [one for one in entries if has_all(f"{one.title} {one.key} {one.group} {one.about}")]
    return sorted(matches, key=lambda one: not has_all(one.title))


SIDE = 5 * GRID
"""Of a picture, pixels."""


class MaskEffects(QObject):
    """The pictures by their masks; requested ones come later."""

    changed = Signal()

    def __init__(self, workspace: Workspace, link: EngineLink) -> None:
        super().__init__()
        self._workspace, self._link, self._newest = workspace, link, Newest(link)
        self._picture: PictureHandle | None = None
        self._made: dict[str, QImage] = {}

    def ask(self, masks: Iterable[Mask]) -> None:
        """Have pictures of masks made, of those that have none for the picture that is open now."""
        picture = self._workspace.picture
        if picture is not self._picture:
            self._picture = picture
            self._made.clear()
        wanted = {mask.weights_digest: mask for mask in masks if mask.weights_digest not in self._made}
        if wanted and not self._link.is_lost:
            request = EffectsRequest(tuple(wanted.values()), picture, SIDE)
            # Without them the library has its weights and words; what went wrong is shown where it matters.
            self._newest.ask(request, lambda made: self._take(wanted, made), lambda error: None)

    def of(self, mask: Mask) -> QImage | None:
        """Return the picture of a mask, if it is there."""
        return self._made.get(mask.weights_digest)

    def _take(self, wanted: Iterable[str], made: Iterable[bytes]) -> None:
        for key, pixels in zip(wanted, made, strict=True):
            # The copy owns its pixels.
            self._made[key] = QImage(pixels, SIDE, SIDE, 3 * SIDE, QImage.Format.Format_RGB888).copy()
        self.changed.emit()


ENTRY = Qt.ItemDataRole.UserRole + 1
Index = QModelIndex | QPersistentModelIndex
_ROW_HEIGHT, _HEAD_HEIGHT = SIDE + GRID, 4 * GRID


def list_entries(rows: QStandardItemModel, entries: Iterable[LibraryEntry], *, with_heads: bool) -> None:
    """List entries anew under the heads of their groups, which cannot be selected."""
    rows.clear()
    group = ""
    for entry in entries:
        if with_heads and entry.group != group:
            group = entry.group
            head = QStandardItem(group)
            head.setFlags(Qt.ItemFlag.NoItemFlags)
            rows.appendRow(head)
        row = QStandardItem(entry.title)
        row.setEditable(False)
        row.setData(entry, ENTRY)
        row.setToolTip(entry.about)
        row.setData(f"{entry.title}. {entry.group}. {entry.about}", Qt.ItemDataRole.AccessibleTextRole)
        rows.appendRow(row)


class LibraryRow(QStyledItemDelegate):
    """Paints a row."""

    def __init__(self, parent: QObject, effects: MaskEffects | None = None) -> None:
        super().__init__(parent)
        self._effects = effects

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(20 * GRID, _ROW_HEIGHT if index.data(ENTRY) else _HEAD_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: LibraryEntry | None = index.data(ENTRY)
        rect: QRect = option.rect
        painter.save()
        if entry is None:
            painter.setFont(scaled_font(0.9, bold=True))
            painter.setPen(QColor(current_theme().muted))
            place = rect.adjusted(GRID, 0, -GRID, -HALF_GRID)
            painter.drawText(place, Qt.AlignmentFlag.AlignBottom, str(index.data()))
            painter.restore()
            return
        strong, quiet = paint_ground(painter, option)
        picture = picture_of(entry.mask, current_theme(), SIDE)
        frame = QRect(rect.left() + GRID, rect.top() + HALF_GRID, SIDE, SIDE)
        place = QRect(0, 0, picture.width(), picture.height())
        place.moveCenter(frame.center())
        painter.drawImage(place, picture)
        painter.setPen(QColor(current_theme().line))
        painter.drawRect(place.adjusted(0, 0, -1, -1))
        left = frame.right() + GRID
        if self._effects is not None:
            # Its place is free until it comes: no word moves then.
            place = frame.translated(SIDE + HALF_GRID, 0)
            left = place.right() + GRID
            if (effect := self._effects.of(entry.mask)) is not None:
                painter.drawImage(place, effect)
        text = rect.adjusted(left - rect.left() + GRID, HALF_GRID + 2, -GRID, -HALF_GRID - 2)
        paint_text(painter, text, entry.title, strong, Qt.AlignmentFlag.AlignTop)
        painter.setFont(small_font())
        paint_text(painter, text, entry.about, quiet, Qt.AlignmentFlag.AlignBottom)
        painter.restore()


@lru_cache(_MOST)
def picture_of(mask: Mask, theme: Theme, side: int) -> QImage:
    """Return the weights in the colours of the grid, as large as fits into a square."""
    image = QImage(mask.columns, mask.rows, QImage.Format.Format_RGB32)
    largest = float(np.abs(mask.weights).max())
    colours = {one: cell_background(one, largest, theme).rgb() for one in set(mask.weights.ravel().tolist())}
    for (row, column), weight in np.ndenumerate(mask.weights):
        image.setPixel(column, row, colours[float(weight)])
    modes = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.FastTransformation
    return image.scaled(side, side, *modes)
