"""Searching in code: a field that Ctrl+F opens and Esc closes."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.code.code_view import CodeView
from gui.widgets.panel_parts import icon_button, quiet_label, row


class FindBar(QWidget):
    """Finds a text in a view, from the cursor on and round; capitals count where the text has some."""

    def __init__(self) -> None:
        super().__init__()
        self._view: CodeView | None = None
        self.field = QLineEdit(clearButtonEnabled=True, placeholderText="Find in the code")
        self.field.setAccessibleName("Text to find in the code")
        self.count = quiet_label(small=True)
        self.before = icon_button("chevron-up", "Previous place", "Previous place (Shift+Enter)")
        self.after = icon_button("chevron-down", "Next place", "Next place (Enter)")
        self.close_button = icon_button("close", "Close the search", "Close the search (Esc)")
        self.setLayout(
            row((self.field, 1), self.count, self.before, self.after, self.close_button, spacing=HALF_GRID)
        )
        self.count.setMinimumWidth(9 * GRID)
        self.field.textChanged.connect(lambda: self._find(from_here=True))
        self.before.clicked.connect(lambda: self._find(backwards=True))
        self.after.clicked.connect(lambda: self._find())
        self.close_button.clicked.connect(self.leave)
        self.hide()

    def search_in(self, view: CodeView) -> None:
        """Show the field for a view; what is selected there is looked for."""
        self._view = view
        selected = view.textCursor().selectedText()
        self.show()
        if selected and "\u2029" not in selected:
            self.field.setText(selected)
        self.field.selectAll()
        self.field.setFocus()
        self._find(from_here=True)

    def leave(self) -> None:
        """Hide the field, and give the focus back to the code."""
        self.hide()
        if self._view is not None:
            self._view.setFocus()

    def event(self, event: QEvent) -> bool:
        # Ours before the shortcut of the window, which would stop a run.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.setAccepted(event.key() == Qt.Key.Key_Escape)
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._find(backwards=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif event.key() == Qt.Key.Key_Escape:
            self.leave()
        else:
            super().keyPressEvent(event)

    def _find(self, *, backwards: bool = False, from_here: bool = False) -> None:
        view, text = self._view, self.field.text()
        if view is None or not text:
            self.count.setText("")
            return
        kinds, places = QTextDocument.FindFlag, QTextCursor.MoveOperation
        flags = kinds.FindCaseSensitively if text != text.lower() else kinds(0)
        flags |= kinds.FindBackward if backwards else kinds(0)
        begin = cursor = view.textCursor()
        if from_here:
            # What is found already may have grown by a letter.
            cursor.setPosition(cursor.selectionStart())
            view.setTextCursor(cursor)
        is_found = view.find(text, flags)
        if not is_found:
            view.moveCursor(places.End if backwards else places.Start)
            is_found = view.find(text, flags)
        if not is_found:
            view.setTextCursor(begin)
        self.count.setText("" if is_found else "Not found")
