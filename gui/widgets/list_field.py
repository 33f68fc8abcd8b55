"""A list that is typed with commas, with a menu of sets; what is refused says why in one line."""

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from engine.errors import EngineError
from gui.style.metrics import HALF_GRID, number_font
from gui.widgets.panel_parts import Refusal, column, folding_row, menu_button, quiet_label, row

Items = tuple[Any, ...]


class ListField(QWidget):
    """The owner answers `chosen` with `show_items`. Where a text is refused, the list stays as it was.

    `kind` is what the list has: "tiles". `read` returns a list and a note on it, or raises an EngineError;
    `write` returns the text of a list. `before` and `after` stand in the line of the field.
    """

    chosen = Signal(object)  # the list that was typed, or a set

    def __init__(
        self,
        kind: str,
        sets: Iterable[tuple[str, Items]],
        read: Callable[[str], tuple[Items, str]],
        write: Callable[[Items], str],
        *,
        before: tuple[QWidget, ...] = (),
        after: tuple[QWidget, ...] = (),
    ) -> None:
        super().__init__()
        self._read, self._write = read, write
        self._shown: Items | None = None
        self.field = QLineEdit()
        self.field.setFont(number_font())
        menu = QMenu()
        for text, items in sets:
            menu.addAction(text).triggered.connect(lambda _checked=False, those=items: self._choose(those))
        tip = f"{kind.capitalize()} that are often compared."
        self.sets = menu_button("Sets", f"Sets of {kind}", tip, menu)
        self.refusal = Refusal()
        self.note = quiet_label(wraps=True)
        first, then = row(*before, (self.field, 1)), row(self.sets, *after, spacing=HALF_GRID)
        line = folding_row((first, 1), then, spacing=HALF_GRID)
        self.setLayout(column(line, self.refusal, self.note, spacing=HALF_GRID))
        self.field.editingFinished.connect(self.take)
        # While a text is typed, what was said of the one before no longer holds.
        self.field.textEdited.connect(lambda: self._say())

    @property
    def is_refused(self) -> bool:
        """Whether what is typed is not such a list."""
        return bool(self.refusal.text())

    def show_items(self, items: Items) -> None:
        """Show a list; where it is the same, what is being typed stays."""
        if items != self._shown:
            self._show(items)

    def take(self) -> None:
        """Take what is typed."""
        text = self.field.text()
        # Leaving the field again keeps the note.
        if self._shown is not None and text == self._write(self._shown) and not self.is_refused:
            return
        try:
            items, note = self._read(text)
        except EngineError as error:
            self._say(str(error))
        else:
            self._choose(items, note)

    def _choose(self, items: Items, note: str = "") -> None:
        self.chosen.emit(items)
        # What is typed and refused goes also where the list was chosen already.
        self._show(items, note)

    def _show(self, items: Items, note: str = "") -> None:
        self._shown = items
        self.field.setText(self._write(items))
        # Show the beginning of a long list.
        self.field.setCursorPosition(0)
        self._say(note=note)

    def _say(self, refusal: str = "", note: str = "") -> None:
        self.refusal.say(refusal)
        self.note.setText(note)
        self.note.setVisible(bool(note))
