"""Quiet texts: cut with … where a panel is narrow, or scrolled; findings by name; a legend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from gui.style.metrics import GRID, small_font
from gui.widgets.panel_parts import ScrollArea, quiet_label


class ElidedLabel(QLabel):
    """A label that never widens its panel; `small` takes the smaller font of notes, `mode` says what is cut.

    `name` is for screen readers; a text that is no note `is_plain`. It takes `lines` lines, and up to `most`
    where its text needs them at the width that it is given; what does not fit is cut. Without `most` it keeps
    its height.
    """

    def __init__(
        self,
        lines: int = 1,
        *,
        most: int | None = None,
        small: bool = False,
        is_plain: bool = False,
        name: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._mode, self._fewest = mode, lines
        self._most = max(lines, most or lines)
        roles = QPalette.ColorRole
        self.setForegroundRole(roles.WindowText if is_plain else roles.PlaceholderText)
        if small:
            self.setFont(small_font())
        if self._most > 1:
            # Its layout asks for its height at a width; a fixed height would be that of the width before.
            grows = self._most > lines
            height = QSizePolicy.Policy.Preferred if grows else QSizePolicy.Policy.Fixed
            self.setSizePolicy(QSizePolicy.Policy.Ignored, height)

    def setText(self, text: str) -> None:
        if text == self.text():
            # A new geometry would have the whole window laid out.
            return
        super().setText(text)
        self.setToolTip(text)
        self.updateGeometry()

    def say(self, text: str) -> None:
        """Show a text; none hides the label."""
        self.setText(text)
        self.setVisible(bool(text))

    def set_most(self, lines: int) -> None:
        """Let the text take up to so many lines."""
        self._most = max(self._fewest, lines)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return self._most > self._fewest

    def heightForWidth(self, width: int) -> int:
        return self._height_of(len(self._cut(self.text(), self._most, width)))

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height_of(self._fewest))

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        metrics = self.fontMetrics()
        there = max(1, self.height() // metrics.lineSpacing())
        for number, line in enumerate(self._cut(self.text(), min(there, self._most))):
            is_centred = self.alignment() & Qt.AlignmentFlag.AlignHCenter
            left = (self.width() - metrics.horizontalAdvance(line)) / 2 if is_centred else 0.0
            painter.drawText(QPointF(left, 1 + metrics.ascent() + number * metrics.lineSpacing()), line)
        painter.end()

    def _height_of(self, lines: int) -> int:
        return max(self._fewest, lines) * self.fontMetrics().lineSpacing() + 2

    def _cut(self, text: str, most: int, width: int | None = None) -> list[str]:
        """Return the text in lines of a width (by default its own), the last of `most` with … if cut."""
        width = max(1, self.width() if width is None else width)
        layout = QTextLayout(text, self.font())
        layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
        lines: list[str] = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            begin = line.textStart()
            if len(lines) == most - 1:
                rest = text[begin:]
                lines.append(self.fontMetrics().elidedText(rest, self._mode, width))
                break
            lines.append(text[begin : begin + line.textLength()].rstrip())
        layout.endLayout()
        return lines


class NamedFinding(NamedTuple):
    """A name, its value, and what that means."""

    name: str
    text: str
    tip: str


class Findings(QWidget):
    """Shows findings, each in `most` lines at most; what each means is in its tooltip."""

    def __init__(self, name: str, most: int = 1, spacing: int = 0) -> None:
        super().__init__()
        self._most = most
        self._labels: list[tuple[QLabel, ElidedLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(spacing)
        self._grid.setColumnStretch(1, 1)
        self.setLayout(self._grid)
        self.setAccessibleName(name)

    @property
    def shown(self) -> dict[str, str]:
        """The texts by their names."""
        return {name.text(): text.text() for name, text in self._labels if not name.isHidden()}

    def show_findings(self, findings: Sequence[NamedFinding]) -> None:
        for row in range(len(self._labels), len(findings)):
            name, text = quiet_label(small=True), ElidedLabel(most=self._most, small=True, is_plain=True)
            self._labels.append((name, text))
            self._grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(text, row, 1)
            # What is left over lies below the last row.
            self._grid.setRowStretch(row, 0)
            self._grid.setRowStretch(row + 1, 1)
        for row, labels in enumerate(self._labels):
            for label in labels:
                label.setVisible(row < len(findings))
        for (name, text), one in zip(self._labels, findings, strict=False):
            name.setText(one.name)
            text.setText(one.text)
            text.setAccessibleName(f"{one.name}: {one.text}")
            for label in (name, text):
                label.setToolTip(f"{one.name}: {one.text}\n{one.tip}")
        self.setAccessibleDescription(", ".join(f"{one.name}: {one.text}" for one in findings))


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A mark in its colour ("#rrggbb"), on a ground of its own if it has one, and what it means."""

    text: str
    colour: str
    mark: str = "■"
    ground: str = ""


def legend_html(entries: Iterable[LegendEntry]) -> str:
    """Return the entries as rich text."""
    return "&nbsp;&nbsp; ".join(
        f"<span style='color: {one.colour}; background: {one.ground or 'transparent'}'>"
        f"{one.mark or '&nbsp;&nbsp;&nbsp;'}</span>&nbsp;{escape(one.text).replace(' ', '&nbsp;')}"
        for one in entries
    )


class Legend(QLabel):
    """Shows `entries`, and never widens its panel."""

    def __init__(self, name: str) -> None:
        super().__init__(wordWrap=True)
        self.entries: Sequence[LegendEntry] = ()
        self.setFont(small_font())
        policy = self.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)
        self.setSizePolicy(policy)
        self.setAccessibleName(name)

    def show_entries(self, entries: Sequence[LegendEntry]) -> None:
        self.entries = entries
        self.setText(legend_html(entries))
        self.setAccessibleDescription(", ".join(one.text for one in entries))


class ScrolledText(ScrollArea):
    """As high as its text, up to `most` lines; gives way to others down to `fewest`.

    Where both are the same it keeps its height, so that nothing below it moves.
    """

    def __init__(
        self, name: str, fewest: int, most: int, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
    ) -> None:
        # Before it stands in the area: Qt's style sheets drop a font and margins that are set later.
        plain, flags = Qt.TextFormat.PlainText, Qt.TextInteractionFlag.TextSelectableByMouse
        label = QLabel(wordWrap=True, textFormat=plain, textInteractionFlags=flags)
        label.setAlignment(Qt.AlignmentFlag.AlignTop)
        label.setFont(small_font())
        label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        label.setContentsMargins(*margins)
        super().__init__(label)
        self._label = label
        self._fewest, self._most = fewest, most
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setAccessibleName(name)

    @property
    def text(self) -> str:
        return self._label.text()

    def say(self, text: str) -> None:
        """Show sentences, from their beginning."""
        if text != self.text:
            self._label.setText(text)
            self.setAccessibleDescription(text)
            self.verticalScrollBar().setValue(0)
            self.updateGeometry()

    def set_most(self, lines: int) -> None:
        """Take up to so many lines, and `fewest` at least."""
        lines = max(self._fewest, lines)
        if lines != self._most:
            self._most = lines
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(self._most))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._height(self._fewest))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()

    def _height(self, lines: int) -> int:
        margins = self._label.contentsMargins()
        # Computed again when the style gives the text its font: by then a line is a pixel higher.
        height = lines * self._label.fontMetrics().lineSpacing() + 2 + margins.top() + margins.bottom()
        if self._fewest == self._most:
            return height
        # Without the scroll bar, which comes and goes with the height.
        return min(height, max(0, self._label.heightForWidth(max(1, self.width()))))
