"""The table of a page's runs, with one menu of what can be done with it; while empty, what it will hold."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from engine.results.columns import Column
from engine.results.metrics import Metric
from gui.runs.model import RunsModel
from gui.runs.table import COMMON_NUMBERS, RunsTable, fill_metric_menu
from gui.style.metrics import follow
from gui.widgets.panel_parts import NO_ARROW, Placeholder, menu_button

_MORE_TIP = "What the bars show, columns, copies, files."


class RunsPanel(QWidget):
    """Shows a table of a `RunsModel`; a subclass lays out `more` and `stack` among its own controls.

    `empty` says what the table will hold.
    """

    save_wanted = Signal()  # the person wants the bars in a file

    def __init__(self, model: RunsModel, table: RunsTable, empty: str) -> None:
        super().__init__()
        self.model, self.table, name = model, table, table.accessibleName()
        self.table.baseline_asked.connect(model.use_as_baseline)
        self.page_actions: Sequence[QAction] = ()
        """Those that are in the menu too, such as those that save the runs."""
        self.menu = QMenu()
        self.menu.aboutToShow.connect(self.fill_menu)
        self.more = menu_button("⋯", f"{name}: more", _MORE_TIP, self.menu)
        self.more.setAutoRaise(True)
        self.more.setStyleSheet(NO_ARROW)
        # Before it is laid out: shown without a parent it would be a window.
        self.more.setParent(self)
        self._empty = empty
        self.stack = Placeholder(self.table)
        follow(self._enable, model.rowsInserted, model.rowsRemoved, model.modelReset, model.dataChanged)

    def fill_menu(self) -> None:
        """Write the menu: what the bars show, which columns there are, then pictures and the actions."""
        menu = self.menu
        menu.clear()
        # The numbers of runs, of which one is drawn.
        model, group = self.model, QActionGroup(menu)
        drawn, numbers = model.bars.metric.key, (one for one in model.columns if isinstance(one, Metric))

        def draw(number: Column, is_on: bool) -> None:
            if is_on:
                model.draw(number.key)

        bars = menu.addMenu("Bars")
        for action in fill_metric_menu(bars, numbers, COMMON_NUMBERS, lambda one: one.key == drawn, draw):
            group.addAction(action)
        self.table.fill_column_menu(menu.addMenu("Columns"))
        menu.addSeparator()
        has_bars = bool(self.model.bars.values)
        for text, act in (
            ("Copy bars as picture", self.copy_picture),
            ("Save bars as PNG or SVG…", self.save_wanted.emit),
        ):
            action = menu.addAction(text)
            action.setEnabled(has_bars)
            action.triggered.connect(lambda _checked=False, act=act: act())
        menu.addActions(self.page_actions)

    def copy_picture(self) -> None:
        """Put the bars on the clipboard, with all their rows."""
        QGuiApplication.clipboard().setPixmap(self.table.drawing().pixmap())

    def explain_empty(self, words: str) -> None:
        """Say something else of what the table will hold."""
        self._empty = words
        self._enable()

    def _enable(self) -> None:
        has_rows = self.model.rowCount() > 0
        self.stack.say("" if has_rows else self._empty)
        # What nothing can be done with yet is not shown.
        self.more.setVisible(has_rows)
