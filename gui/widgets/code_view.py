"""Rows of code to read, such as functions and diffs: numbers beside them, words in colours, lit rows."""

import keyword
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from engine.explain.code_diff import Change, Diff
from engine.explain.code_lines import SourceFunction, SourceLine
from gui.style.metrics import GRID, HALF_GRID, code_font
from gui.style.theme import Theme, current_theme, mixed, theme_notifier


class Look(StrEnum):
    """How a row is drawn."""

    CODE = "code"
    HEADING = "heading"
    REMOVED = "removed"
    ADDED = "added"
    GAP = "gap"  # lines are left out, or only the other side has one


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A row: its text, the number of its line, and the line of the source that it is, or comes from."""

    text: str
    look: Look = Look.CODE
    number: int | None = None
    source: SourceLine | None = None


_MARKS = {Look.REMOVED: "−", Look.ADDED: "+"}
_UNIFIED = {Change.SAME: Look.CODE, Change.REMOVED: Look.REMOVED, Change.ADDED: Look.ADDED}


def number_text(row: CodeRow) -> str:
    """Return what stands before a row: its number, and whether a side alone has it."""
    number = "" if row.number is None else str(row.number)
    return f"{number} {_MARKS[row.look]}" if row.look in _MARKS else number


def function_rows(function: SourceFunction) -> tuple[CodeRow, ...]:
    """Return the lines of a function, each a line of the source."""
    numbered = enumerate(function.lines, start=function.first_line)
    return tuple(
        CodeRow(line, number=number, source=SourceLine(function.path, number)) for number, line in numbered
    )


def unified_rows(diff: Diff, around: int | None) -> tuple[CodeRow, ...]:
    """Return a diff in one column, with so many equal lines around each difference; None: all."""
    rows = []
    for line in diff.unified(around):
        number = line.left_number if line.right_number is None else line.right_number
        look = Look.GAP if number is None else _UNIFIED[line.change]
        rows.append(CodeRow("⋯" if number is None else line.text.expandtabs(8), look, number))
    return tuple(rows)


def side_rows(diff: Diff) -> tuple[tuple[CodeRow, ...], tuple[CodeRow, ...]]:
    """Return a diff in two columns of as many rows."""

    def row(number: int | None, text: str, change: Change, look: Look) -> CodeRow:
        if number is None:
            return CodeRow("", Look.GAP)
        return CodeRow(text.expandtabs(8), Look.CODE if change is Change.SAME else look, number)

    left = tuple(row(one.left_number, one.left, one.change, Look.REMOVED) for one in diff.rows)
    return left, tuple(row(one.right_number, one.right, one.change, Look.ADDED) for one in diff.rows)


# Parts of a colour in the ground: words keep a contrast of 4.5 : 1 on it.
_TINT, _CURRENT = 0.14, 0.08
_TONES = {Look.REMOVED: "error", Look.ADDED: "good", Look.GAP: "muted"}
_BAR = 3


class CodeView(QPlainTextEdit):
    """Shows rows. The one with the cursor is `row`; `chosen` says that a person has moved it to another."""

    chosen = Signal(int)
    used = Signal()  # it has got the focus

    def __init__(self, name: str) -> None:
        wrap = QPlainTextEdit.LineWrapMode.NoWrap
        super().__init__(readOnly=True, undoRedoEnabled=False, lineWrapMode=wrap)
        self.rows: Sequence[CodeRow] = ()
        self.row = 0
        """The row with the cursor."""
        self.marked: Collection[int] = ()
        """Rows that belong to one that was chosen elsewhere."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(code_font())
        self.setAccessibleName(name)
        # The arrow keys move the cursor, which chooses a row.
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self._highlighter = Highlighter(self.document())
        self._numbers = _Numbers(self)
        self.updateRequest.connect(lambda _rect, _dy: self._numbers.update())
        self.verticalScrollBar().valueChanged.connect(self._colour)
        self.cursorPositionChanged.connect(self._follow_cursor)
        theme_notifier().changed.connect(self._repaint)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 6 * GRID)

    def show_rows(self, rows: Sequence[CodeRow], *, is_python: bool) -> bool:
        """Show rows from the first one on; the same rows stay as they are, and the reply is False."""
        if rows == self.rows:
            return False
        self.rows, self.marked, self.row = rows, (), 0
        self._highlighter.take(rows, is_python=is_python)
        self._numbers.fit(max(map(len, map(number_text, rows)), default=0))
        self.setViewportMargins(self._numbers.width(), 0, 0, 0)
        self.setPlainText("\n".join(row.text for row in rows))
        self._colour()
        self._repaint()
        return True

    def mark(self, rows: Collection[int]) -> None:
        """Light rows that belong to one that was chosen elsewhere, and bring the first of them into sight."""
        self.marked = rows
        self._repaint()
        if not rows:
            return
        visible = [number for number, _, _ in self.rows_in_sight()][:-1]
        # How many more rows fit; negative: not all of them can be visible at once.
        free_rows = len(visible) - (max(rows) - min(rows) + 1)
        if not (any if free_rows < 0 else all)(row in visible for row in rows):
            # Some rows above it, so that its surroundings are visible.
            above = len(visible) // 3 if free_rows < 0 else min(len(visible) // 3, free_rows)
            self.verticalScrollBar().setValue(max(0, min(rows) - above))

    def choose(self, row: int) -> None:
        """Move the cursor to a row, as a person does."""
        cursor = QTextCursor(self.document().findBlockByNumber(row))
        self.setTextCursor(cursor)
        self.centerCursor()

    def ground_of(self, row: int) -> QColor:
        theme = current_theme()
        ground = QColor(theme.base)
        if row < len(self.rows) and (tone := _TONES.get(self.rows[row].look)):
            ground = mixed(ground, QColor(getattr(theme, tone)), _TINT)
        if row in self.marked:
            ground = mixed(ground, QColor(theme.accent), _TINT)
        elif row == self.row and self.hasFocus():
            ground = mixed(ground, QColor(theme.text), _CURRENT)
        return ground

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        width = self.viewport().width()
        for number, top, height in self.rows_in_sight():
            painter.fillRect(QRect(0, top, width, height), self.ground_of(number))
        painter.end()
        super().paintEvent(event)

    def rows_in_sight(self) -> list[tuple[int, int, int]]:
        """Return the rows in sight, each with its upper edge and its height in pixels."""
        rows: list[tuple[int, int, int]] = []
        block: QTextBlock = self.firstVisibleBlock()
        offset, end = self.contentOffset(), self.viewport().height()
        while block.isValid():
            box = self.blockBoundingGeometry(block).translated(offset)
            if box.top() > end:
                break
            rows.append((block.blockNumber(), round(box.top()), round(box.height())))
            block = block.next()
        return rows

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._numbers.setGeometry(inside.left(), inside.top(), self._numbers.width(), inside.height())
        self._colour()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_numbers"):
            self._numbers.setFont(self.font())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.used.emit()
        self._repaint()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._repaint()

    def _follow_cursor(self) -> None:
        row = self.textCursor().blockNumber()
        if row != self.row:
            self.row = row
            self._repaint()
            self.chosen.emit(row)

    def _colour(self) -> None:
        self._highlighter.colour([number for number, _, _ in self.rows_in_sight()])

    def _repaint(self) -> None:
        self.viewport().update()
        self._numbers.update()


class _Numbers(QWidget):
    """The numbers of the rows in sight, with a bar beside those that are lit."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view
        self.setFont(view.font())

    def fit(self, digits: int) -> None:
        """Have room for so many digits."""
        width = self.fontMetrics().horizontalAdvance("0" * max(3, digits))
        self.resize(width + GRID + HALF_GRID + _BAR, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, view = current_theme(), self._view
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.window))
        for number, top, height in view.rows_in_sight():
            if number >= len(view.rows):
                continue
            if number in view.marked:
                painter.fillRect(self.width() - _BAR, top, _BAR, height, QColor(theme.accent))
            painter.setPen(QColor(theme.muted))
            inside = QRect(0, top, self.width() - HALF_GRID - _BAR, height)
            painter.drawText(inside, Qt.AlignmentFlag.AlignRight, number_text(view.rows[number]))
        painter.end()


# Each name is a field of the theme.
_PYTHON = re.compile(
    r"(?P<muted>#.*)"
    r"|(?P<good>\"\"\".*?(?:\"\"\"|$)|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    rf"|(?P<accent>\b(?:{'|'.join(keyword.kwlist)})\b|^\s*@\w[\w.]*)"
    r"|(?P<warning>\b\d[\w.]*)"
)
_ASSEMBLY = re.compile(
    r"(?P<muted>//.*|^\s*\.[a-z]\w*)"
    r"|(?P<good>\$\w+|\.L\w+)"
    r"|^[\s{]*(?:@!?%?\w+\s+)?(?P<accent>[a-zA-Z][\w.:]*)(?=[\s;])"
    r"|(?P<warning>(?<![\w%])(?:0[xf])?\d[0-9a-fA-F]*\b)"
)
_QUOTES = '"""'


class Highlighter(QSyntaxHighlighter):
    """Colours the rows in sight, by their looks and their language: 2,500 at once would take 50 ms."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._rows: Sequence[CodeRow] = ()
        self._words = _PYTHON
        # Rows that begin within a docstring, and those that have their colours.
        self._inside: set[int] = set()
        self._coloured: set[int] = set()
        self._formats: dict[str, QTextCharFormat] = {}
        self._take_theme(current_theme())
        theme_notifier().changed.connect(self._take_theme)

    def take(self, rows: Sequence[CodeRow], *, is_python: bool) -> None:
        self._rows = rows
        self._words = _PYTHON if is_python else _ASSEMBLY
        self._inside, self._coloured = set(), set()
        is_inside = False
        for number, row in enumerate(rows if is_python else ()):
            # Each function is whole.
            is_inside = is_inside and row.look is not Look.HEADING
            if is_inside:
                self._inside.add(number)
            is_inside = is_inside != bool(row.text.count(_QUOTES) % 2)

    def colour(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._coloured:
                self._coloured.add(number)
                self.rehighlightBlock(self.document().findBlockByNumber(number))

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number not in self._coloured or number >= len(self._rows):
            return
        look = self._rows[number].look
        if look in (Look.HEADING, Look.GAP):
            self.setFormat(0, len(text), self._formats[look])
        elif number in self._inside:
            self.setFormat(0, len(text), self._formats["good"])
        else:
            for word in self._words.finditer(text):
                name = word.lastgroup or ""
                begin, end = word.span(name)
                self.setFormat(begin, end - begin, self._formats[name])

    def _take_theme(self, theme: Theme) -> None:
        names = {name: name for name in ("muted", "good", "accent", "warning")}
        for name, colour in (names | {Look.HEADING: "text", Look.GAP: "muted"}).items():
            self._formats[name] = made = QTextCharFormat()
            made.setForeground(QColor(getattr(theme, colour)))
        self._formats[Look.HEADING].setFontWeight(QFont.Weight.Bold)
        self.rehighlight()
