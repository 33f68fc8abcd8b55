"""The button beside a plot of runs that chooses which of their numbers is drawn."""

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from engine.results.columns import Column
from engine.results.metrics import AnyMetric, metrics_of
from engine.work.filtering.problem import Problem
from gui.widgets.metric_menu import COMMON_NUMBERS, fill_metric_menu
from gui.widgets.panel_parts import menu_button

_TIP = "Choose which number of the runs is drawn."


def axis_button(name: str, shown: AnyMetric, choose: Callable[[str], None]) -> QToolButton:
    """Return the button; `choose` is called with the key of a metric, `name` is for screen readers."""
    menu = QMenu()
    fill_axis_menu(menu, shown, choose)
    button = menu_button("Axis", name, _TIP, menu)
    button.setAutoRaise(True)
    return button


def fill_axis_menu(menu: QMenu, shown: AnyMetric, choose: Callable[[str], None]) -> None:
    """Write the numbers of runs into a menu, one of which is chosen."""
    group = QActionGroup(menu)

    def dress(action: QAction, entry: Column) -> None:
        group.addAction(action)
        action.setToolTip(entry.explanation)
        action.setCheckable(True)
        action.setChecked(entry.key == shown.key)
        action.triggered.connect(partial(choose, entry.key))

    fill_metric_menu(menu, metrics_of(Problem), COMMON_NUMBERS, dress)
