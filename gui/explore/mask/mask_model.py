"""The mask as a table, its weights as people read and type them; what is not a number is refused."""

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor

from engine.errors import MaskError
from engine.mask.generator_table import number_text
from engine.mask.mask import MAX_LINE, Mask
from engine.mask.text import format_mask, parse_mask
from engine.mask.typed import TypedWeights
from gui.explore.workspace import Workspace
from gui.style.theme import cell_background, current_theme, readable_text, theme_notifier
from gui.widgets.fields import MINUS, read_typed

# A bracket begins a literal, and a colon follows the name of a generator or ImageMagick's size; a slash or an
# asterisk with a blank before it is a factor of the whole mask.
_WHOLE_MASK = re.compile(r"[\[{:]|[\s;][/*]|\*")


def pasted(
    mask: Mask, text: str, cells: list[tuple[int, int]], *, whole: bool = False
) -> tuple[Mask, str, bool]:
    """Return the mask after a paste, the name of this step, and whether it is a new mask, not an edited one.

    `cells` are rows and columns that are selected, the current cell first. With `whole` the text is a whole
    mask, however small it is. Raises MaskError for another text, or one that does not fit at that cell.
    """
    new = parse_mask(text)
    is_smaller = new.rows <= mask.rows and new.columns <= mask.columns and new.shape != mask.shape
    if whole or not is_smaller or _WHOLE_MASK.search(text.strip()):
        return new, f"Paste a mask of {new.rows} × {new.columns}", True
    if new.taps == 1:
        return mask.with_cells(cells, new.typed.cells[0][0]), "Paste a weight", False
    row, column = map(min, zip(*cells, strict=True))
    if row + new.rows > mask.rows or column + new.columns > mask.columns:
        raise MaskError(
            f"{new.rows} × {new.columns} cells were not pasted",
            f"they do not fit at row {row + 1}, column {column + 1} of {mask.rows} × {mask.columns}",
            "Choose a cell further up and left, enlarge the mask, or use Paste as whole mask (Ctrl+Shift+V).",
        )
    table = list(mask.typed.cells)
    for at, put in enumerate(new.typed.cells, start=row):
        table[at] = table[at][:column] + put + table[at][column + new.columns :]
    typed = TypedWeights(tuple(table), mask.typed.divisor)
    return mask.with_typed(typed), f"Paste {new.rows} × {new.columns} cells", False


_LONGEST_EXACT = 6


def read_cell(text: str) -> str:
    """Return what a person typed into a cell (`2`, `-0.5`, `1/9`) for `TypedWeights`; see `read_typed`."""
    if_empty = "Write a number; Delete sets a cell to 0."
    if_several = "Write a half as 0.5; paste several cells with Ctrl+V."
    return read_typed(text, "The weight did not change", "a cell", if_empty, if_several)


@lru_cache(maxsize=8192)
def texts_of(cell: str) -> tuple[str, ...]:
    """Return a cell as typed in ever shorter forms: a fraction itself, then as `short_texts` of its value."""
    numerator, slash, over = cell.partition("/")
    if not slash:
        return short_texts(float(cell))
    return (cell.replace("-", MINUS), *short_texts(float(numerator) / float(over)))


@lru_cache(maxsize=8192)
def short_texts(weight: float) -> tuple[str, ...]:
    """Return a weight in ever shorter forms, for cells of any width: 0.1111, 0.111, 0.11, .11, .1 of 1/9."""
    exact = _with_short_exponent(number_text(weight))
    texts = {exact} if len(exact) <= _LONGEST_EXACT else set()
    for digits in (4, 3, 2, 1):
        text = _rounded(weight, digits)
        texts |= {text, text.replace("0.", ".", 1) if abs(float(text)) < 1.0 else text}
    # The longest first; among equally long ones the nearest first.
    longest_first = sorted(texts, key=lambda text: (-len(text), abs(float(text) - weight)))
    return tuple(text.replace("-", MINUS) for text in longest_first)


def _rounded(weight: float, digits: int) -> str:
    """Return a weight with so many significant digits, with an exponent only where that is shorter."""
    text = f"{weight:.{digits}g}"
    short = _with_short_exponent(text)
    if "e" not in short:
        return text
    power = int(short.partition("e")[2])
    plain = f"{float(text):.0f}" if power > 0 else f"{float(text):.{digits - 1 - power}f}"
    return plain if len(plain) <= len(short) else short


def _with_short_exponent(text: str) -> str:
    """Return 1e-07 as 1e-7."""
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


Index = QModelIndex | QPersistentModelIndex
Cell = tuple[int, int]

_NOWHERE = QModelIndex()


class MaskRole(IntEnum):
    """Item data beside Qt's own roles."""

    SHORT_TEXTS = Qt.ItemDataRole.UserRole + 1
    IS_ANCHOR = Qt.ItemDataRole.UserRole + 2


class MaskModel(QAbstractTableModel):
    """The cells of the workspace's mask, as typed."""

    # An edit was not made; one sentence says why and what to do. The old mask stays.
    edit_refused = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self.mask = workspace, workspace.mask
        self._colours: dict[float, tuple[QColor, QColor]] = {}
        workspace.mask_changed.connect(self._show_mask)
        workspace.settings_changed.connect(self._repaint)
        theme_notifier().changed.connect(self._repaint)

    def clear_cells(self, cells: Iterable[Cell]) -> None:
        """Set cells to 0, as one step."""
        self._workspace.set_mask(self.mask.with_cells(cells, "0"), "Clear cells")

    def paint(self, cells: Iterable[Cell], cell: str, stroke: int) -> None:
        """Set cells to a value; all of one stroke of the brush is one step."""
        mask = self.mask.with_cells(cells, cell)
        self._workspace.set_mask(mask, f"Paint {cell}", merge_key=("stroke", stroke))

    def paste(self, text: str, cells: list[Cell], *, whole: bool = False) -> None:
        """Paste text into the table; `pasted` says what becomes of it."""
        try:
            mask, step, is_new = pasted(self.mask, text, cells, whole=whole)
        except MaskError as error:
            self.edit_refused.emit(str(error))
        else:
            self._workspace.set_mask(mask, step, is_new=is_new)

    def copied_text(self, cells: list[Cell]) -> str:
        """Return the rectangle around the cells, as typed, between tabs; the whole mask for no cells."""
        if not cells:
            return format_mask(self.mask, "tabs")
        rows, columns = zip(*cells, strict=True)
        block = self.mask.typed.cells[min(rows) : max(rows) + 1]
        return "\n".join("\t".join(row[min(columns) : max(columns) + 1]) for row in block)

    def put_anchor(self, row: int, column: int) -> None:
        """Let this cell lie on the pixel."""
        mask = self.mask.with_anchor((row, column))
        self._workspace.set_mask(mask, f"Anchor on row {row + 1}, column {column + 1}")

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else self.mask.rows

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else self.mask.columns

    def flags(self, index: Index) -> Qt.ItemFlag:
        # An index that is not valid has no flags.
        flags = Qt.ItemFlag
        return super().flags(index) | (flags.ItemIsEditable if index.isValid() else flags.NoItemFlags)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        typed = self.mask.cell_text(row, column)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return texts_of(typed)[0]
            case Qt.ItemDataRole.EditRole:
                return typed
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignCenter
            case Qt.ItemDataRole.BackgroundRole | Qt.ItemDataRole.ForegroundRole:
                weight = float(self.mask.weights[row, column])
                return self._colours_of(weight)[role == Qt.ItemDataRole.ForegroundRole]
            case Qt.ItemDataRole.ToolTipRole:
                return self._tooltip(row, column)
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._words(row, column)
            case MaskRole.SHORT_TEXTS:
                return texts_of(typed)
            case MaskRole.IS_ANCHOR:
                return self.mask.anchor == (row, column)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if not index.isValid() or role != Qt.ItemDataRole.EditRole:
            return False
        row, column = index.row(), index.column()
        try:
            mask = self.mask.with_cells([(row, column)], read_cell(str(value)))
        except MaskError as error:
            self.edit_refused.emit(str(error))
            return False
        step = f"Weight in row {row + 1}, column {column + 1}"
        self._workspace.set_mask(mask, step, merge_key=row * MAX_LINE + column)
        return True

    def _colours_of(self, weight: float) -> tuple[QColor, QColor]:
        """Return the colours of background and text of cells with a weight; painting needs them often."""
        if weight not in self._colours:
            theme = current_theme()
            background = cell_background(weight, float(np.abs(self.mask.weights).max()), theme)
            self._colours[weight] = background, readable_text(background, theme)
        return self._colours[weight]

    def _tooltip(self, row: int, column: int) -> str:
        down, right = row - self.mask.anchor[0], column - self.mask.anchor[1]
        if self._workspace.settings.flip:
            down, right = -down, -right
        vertical = f"{abs(down)} {'below' if down > 0 else 'above'}" if down else ""
        horizontal = f"{abs(right)} to the {'right' if right > 0 else 'left'}" if right else ""
        where = " and ".join(filter(None, (vertical, horizontal)))
        pixel = f"the pixel {where}" if where else "the pixel itself (the anchor)"
        return f"{self._words(row, column)}\nMultiplies {pixel}."

    def _words(self, row: int, column: int) -> str:
        weight, text = number_text(float(self.mask.weights[row, column])), self.mask.cell_text(row, column)
        more = self.mask.more_than_weights
        text = f"{text} / {more.divisor}" if more is not None and more.divisor else text
        shown = weight if text == weight else f"{text} = {weight}"
        return f"Row {row + 1}, column {column + 1}: {shown}"

    def _show_mask(self, mask: Mask) -> None:
        if mask.shape == self.mask.shape:
            self.mask = mask
            self._repaint()
        else:
            self.beginResetModel()
            self._colours.clear()
            self.mask = mask
            self.endResetModel()

    def _repaint(self) -> None:
        self._colours.clear()
        last = self.index(self.mask.rows - 1, self.mask.columns - 1)
        self.dataChanged.emit(self.index(0, 0), last)
