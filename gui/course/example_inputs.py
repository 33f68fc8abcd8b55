"""The values behind a worked example: fields that the table below them follows, and the way back."""

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QSizePolicy, QWidget

from engine.course.worked_examples import Example, Input, example_of
from gui.course.course_model import CourseModel
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.widgets.panel_parts import column, row, text_button
from gui.widgets.refusal import Refusal

_PER_LINE = 4
_WIDEST = 32 * GRID
# What was typed is quoted in a refusal; what cannot be broken would widen the page and squeeze the papers.
_LONG_WORD = re.compile(r"\S{16}(?=\S)")
_RESET_TIP = "Put the lecture's values back into all fields of this table."


class ValueField:
    """One value: its label above, its refusal below; `text` is what is typed."""

    def __init__(self, one: Input, parent: QWidget) -> None:
        self.input = one
        # In a narrow window long labels would squeeze the list of papers.
        self.label = QLabel(one.label, parent, wordWrap=True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        self.edit = _Edit(self, parent)
        self.refusal = Refusal()
        self.refusal.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.refusal.setFont(small_font())
        # What is typed is shown as it is.
        self.refusal.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setFont(small_font())
        self.label.setBuddy(self.edit)
        self.edit.setFont(number_font())
        self.edit.setAccessibleName(one.label)
        self.edit.setMinimumWidth(10 * GRID)
        self.edit.setMaximumWidth(_WIDEST)
        self.edit.setToolTip(one.explanation)
        self.label.setToolTip(one.explanation)
        self.say("")

    @property
    def parts(self) -> tuple[QWidget, ...]:
        """From top to bottom."""
        return self.label, self.edit, self.refusal

    @property
    def text(self) -> str:
        return self.edit.text()

    def say(self, refusal: str) -> None:
        """Show why the value is refused; nothing for a value that is taken."""
        self.refusal.say(_LONG_WORD.sub("\\g<0>\u200b", refusal))
        self.edit.setAccessibleDescription(refusal or self.input.explanation)


class _Edit(QLineEdit):
    """Esc puts the lecture's value back."""

    def __init__(self, field: ValueField, parent: QWidget) -> None:
        super().__init__(parent)
        self._field = field

    def keyPressEvent(self, event: QKeyEvent) -> None:
        lecture = self._field.input.text
        if event.key() == Qt.Key.Key_Escape and self.text() != lecture:
            self.setText(lecture)
            self.textEdited.emit(lecture)
        else:
            super().keyPressEvent(event)


class ExampleInputs(QWidget):
    """The fields of the table that is shown; hidden where it is not a worked example."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self._shown: tuple[str, str] = ("", "")
        self._example: Example | None = None
        self.fields: list[ValueField] = []
        self.reset = text_button("retry", "Lecture's values", "Lecture's values", _RESET_TIP)
        self.reset.clicked.connect(self._reset)
        self._form = QWidget()
        self._grid = QGridLayout(self._form)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(HALF_GRID // 2)
        for at in range(_PER_LINE):
            self._grid.setColumnStretch(at, 1)
        end = column(self.reset, 1, margins=(0, 2 * GRID, 0, 0))
        self.setLayout(row((self._form, 1), end, margins=(GRID, HALF_GRID, GRID, 0)))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.setAccessibleName("Values of the worked example")
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(80 * GRID, super().sizeHint().height())

    def show_table(self, paper: str, title: str) -> None:
        """Show the fields of a table; those of the table that is shown stay as they are being typed."""
        if (paper, title) == self._shown:
            return
        self._shown, self._example = (paper, title), example_of(paper, title)
        for field in self.fields:
            for part in field.parts:
                self._grid.removeWidget(part)
                part.hide()
                part.deleteLater()
        self.fields = []
        if self._example is not None:
            texts = self._course.typed(paper, title) or self._example.texts
            for at, one in enumerate(self._example.inputs):
                field = ValueField(one, self._form)
                field.edit.setText(texts[one.key])
                field.edit.setCursorPosition(0)
                field.edit.textEdited.connect(self._take)
                # Each in a row of its own: fields stand in line also where a label beside wraps.
                for below, part in enumerate(field.parts):
                    self._grid.addWidget(part, at // _PER_LINE * len(field.parts) + below, at % _PER_LINE)
                self.fields.append(field)
            self._check()
        self.setVisible(self._example is not None)

    def _texts(self) -> dict[str, str]:
        return {field.input.key: field.text for field in self.fields}

    def _check(self) -> bool:
        """Say at each field why it is refused; return whether none is."""
        if self._example is None:
            return False
        refusals = self._example.refusals(self._texts())
        for field in self.fields:
            field.say(refusals.get(field.input.key, ""))
        self.reset.setEnabled(self._texts() != self._example.texts)
        return not refusals

    def _take(self) -> None:
        if self._check():
            self._course.type_values(*self._shown, self._texts())

    def _reset(self) -> None:
        for field in self.fields:
            field.edit.setText(field.input.text)
        self._take()
        if self.fields:
            # The button that was pressed is disabled now.
            self.fields[0].edit.setFocus()
