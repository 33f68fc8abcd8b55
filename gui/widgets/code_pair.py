"""Code to read, and other code beside it; both are searched, and a diff of them scrolls as one."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import (
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QLineEdit, QScrollBar, QSplitter, QWidget

from engine.explain.code_diff import Diff
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.code_view import CodeRow, CodeView, side_rows, unified_rows
from gui.widgets.panel_parts import PlaceholderStack, column, icon_button, named, quiet_label, row


class CodePair(QWidget):
    """Two views of code, the right one only where it has something to show, or a reason why not.

    With less width than `beside_from` they stand below one another, and a diff in one column, of whose equal
    lines `around` stay at each difference; None: all.
    """

    def __init__(self, left: str, right: str, beside_from: int, around: int | None = None) -> None:
        super().__init__()
        self._beside_from, self._around = beside_from, around
        # The diff that is shown, and whether it is one of Python.
        self._diff: tuple[Diff, bool] | None = None
        self._is_synchronous = False
        self.left, self.right = CodeView(left), CodeView(right)
        self._used = self.left
        self.find_bar = FindBar()
        self.search = icon_button("magnify", "Find in the code", "Find in the code (Ctrl+F)")
        tip = "Copy what is selected, else all of what has the cursor"
        self.copy = icon_button("copy", "Copy the code", tip)
        self._right_side = PlaceholderStack(self.right)
        self._splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        for part in (self.left, self._right_side):
            self._splitter.addWidget(part)
        self.setLayout(column(self.find_bar, (self._splitter, 1), spacing=HALF_GRID))
        for view, other in ((self.left, self.right), (self.right, self.left)):
            view.used.connect(partial(setattr, self, "_used", view))
            for bar_of in (CodeView.verticalScrollBar, CodeView.horizontalScrollBar):
                bar_of(view).valueChanged.connect(partial(self._scroll, bar_of(other)))
        self.search.clicked.connect(self._open_search)
        self.copy.clicked.connect(self._copy)

    @property
    def is_wide(self) -> bool:
        """Whether both stand side by side."""
        return self._splitter.orientation() is Qt.Orientation.Horizontal

    def show_code(
        self, rows: Sequence[CodeRow], listing: Sequence[CodeRow] | None = None, why_not: str = ""
    ) -> bool:
        """Show Python, alone or with a listing or why there is none; return whether that is new."""
        self._diff = None
        self._scroll_together(False)
        self._right_side.say(why_not)
        self._right_side.setVisible(listing is not None)
        is_other = self.left.show_rows(rows, is_python=True)
        return self.right.show_rows(listing or (), is_python=False) or is_other

    def show_diff(self, diff: Diff, *, is_python: bool) -> None:
        """Show what differs: side by side where there is room, else in one column."""
        self._diff = diff, is_python
        self._right_side.say("")
        self._right_side.setVisible(self.is_wide)
        left, right = side_rows(diff) if self.is_wide else (unified_rows(diff, self._around), ())
        self.left.show_rows(left, is_python=is_python)
        self.right.show_rows(right, is_python=is_python)
        self._scroll_together(self.is_wide)

    def search_from(self, panel: QWidget) -> None:
        """Let Ctrl+F open the search from anywhere in a panel."""
        find = QShortcut(QKeySequence.StandardKey.Find, panel, self._open_search)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (self.width() >= self._beside_from) is not self.is_wide:
            sides = Qt.Orientation
            self._splitter.setOrientation(sides.Vertical if self.is_wide else sides.Horizontal)
            if self._diff is not None:
                diff, is_python = self._diff
                self.show_diff(diff, is_python=is_python)

    def _scroll(self, other: QScrollBar, value: int) -> None:
        if self._is_synchronous:
            other.setValue(value)

    def _scroll_together(self, is_synchronous: bool) -> None:
        """Let both views scroll as one, which then have the same height, or not."""
        self._is_synchronous, policies = is_synchronous, Qt.ScrollBarPolicy
        for view in (self.left, self.right):
            policy = policies.ScrollBarAlwaysOn if is_synchronous else policies.ScrollBarAsNeeded
            view.setHorizontalScrollBarPolicy(policy)

    def _open_search(self) -> None:
        self.find_bar.search_in(self._view_in_use())

    def _copy(self) -> None:
        view = self._view_in_use()
        selected = view.textCursor().selectedText().replace("\u2029", "\n")
        QGuiApplication.clipboard().setText(selected or view.toPlainText())

    def _view_in_use(self) -> CodeView:
        """Return the view that had the focus last."""
        return self._used if self._used.isVisible() else self.left


class FindBar(QWidget):
    """Finds a text in a view, from the cursor on and round; capitals count where the text has some."""

    def __init__(self) -> None:
        super().__init__()
        self._view: CodeView | None = None
        field = QLineEdit(clearButtonEnabled=True, placeholderText="Find in the code")
        self.field = named(field, "Text to find in the code")
        self.count = quiet_label(small=True)
        self.before = icon_button("chevron-up", "Previous place", "Previous place (Shift+Enter)")
        self.after = icon_button("chevron-down", "Next place", "Next place (Enter)")
        self.close_button = icon_button("close", "Close the search", "Close the search (Esc)")
        buttons = self.before, self.after, self.close_button
        self.setLayout(row((self.field, 1), self.count, *buttons, spacing=HALF_GRID))
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
        has_match = view.find(text, flags)
        if not has_match:
            view.moveCursor(places.End if backwards else places.Start)
            has_match = view.find(text, flags)
        if not has_match:
            view.setTextCursor(begin)
        self.count.setText("" if has_match else "Not found")
