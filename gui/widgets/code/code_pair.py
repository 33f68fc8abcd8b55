"""Code to read, and other code beside it; both are searched, and a diff of them scrolls as one."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSplitter, QWidget

from engine.explain.code.code_diff import Diff
from gui.style.metrics import HALF_GRID
from gui.widgets.code.code_view import CodeView
from gui.widgets.code.find_bar import FindBar
from gui.widgets.code.rows import Row, side_rows, unified_rows
from gui.widgets.panel_parts import Placeholder, column, icon_button


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
        self.copy = icon_button(
            "copy", "Copy the code", "Copy what is selected, else all of what has the cursor"
        )
        self._right_side = Placeholder(self.right)
        self._splitter = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        for part in (self.left, self._right_side):
            self._splitter.addWidget(part)
        self.setLayout(column(self.find_bar, (self._splitter, 1), spacing=HALF_GRID))
        self._connect()

    @property
    def words(self) -> str:
        """What is shown in the place of the code at the right; empty: there is some, or none is wanted."""
        return self._right_side.text if self._right_side.isVisibleTo(self) else ""

    @property
    def is_wide(self) -> bool:
        """Whether both stand side by side."""
        return self._splitter.orientation() is Qt.Orientation.Horizontal

    def show_code(self, rows: Sequence[Row], listing: Sequence[Row] | None = None, why_not: str = "") -> bool:
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
        QShortcut(QKeySequence.StandardKey.Find, panel, self._open_search).setContext(
            Qt.ShortcutContext.WidgetWithChildrenShortcut
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (self.width() >= self._beside_from) is not self.is_wide:
            sides = Qt.Orientation
            self._splitter.setOrientation(sides.Vertical if self.is_wide else sides.Horizontal)
            if self._diff is not None:
                diff, is_python = self._diff
                self.show_diff(diff, is_python=is_python)

    def _scroll_together(self, is_synchronous: bool) -> None:
        """Let both views scroll as one, which then have the same height, or not."""
        self._is_synchronous = is_synchronous
        policy = Qt.ScrollBarPolicy
        for view in (self.left, self.right):
            view.setHorizontalScrollBarPolicy(
                policy.ScrollBarAlwaysOn if is_synchronous else policy.ScrollBarAsNeeded
            )

    def _connect(self) -> None:
        for view, other in ((self.left, self.right), (self.right, self.left)):
            view.used.connect(partial(setattr, self, "_used", view))
            for bar, other_bar in (
                (view.verticalScrollBar(), other.verticalScrollBar()),
                (view.horizontalScrollBar(), other.horizontalScrollBar()),
            ):
                bar.valueChanged.connect(
                    lambda value, bar=other_bar: self._is_synchronous and bar.setValue(value)
                )
        self.search.clicked.connect(self._open_search)
        self.copy.clicked.connect(self._copy)

    def _open_search(self) -> None:
        self.find_bar.search_in(self._view_in_use())

    def _copy(self) -> None:
        view = self._view_in_use()
        selected = view.textCursor().selectedText().replace("\u2029", "\n")
        QGuiApplication.clipboard().setText(selected or view.toPlainText())

    def _view_in_use(self) -> CodeView:
        """Return the view that had the focus last."""
        return self._used if self._used.isVisible() else self.left
