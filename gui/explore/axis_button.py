"""The button beside a plot of runs that chooses which of their numbers is drawn."""

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from engine.results.metrics import AnyMetric, metrics_of
from engine.tasks.filtering.problem import Problem
from gui.widgets.panel_parts import menu_button

_TIP = "Choose which number of the runs is drawn."


def axis_button(name: str, shown: AnyMetric, choose: Callable[[str], None]) -> QToolButton:
    """Return the button; `choose` is called with the key of a metric, `name` is for screen readers."""
    menu = QMenu()
    group = QActionGroup(menu)
    for entry in metrics_of(Problem):
        action = group.addAction(entry.header)
        action.setToolTip(entry.explanation)
        action.setCheckable(True)
        action.setChecked(entry.key == shown.key)
        action.triggered.connect(partial(choose, entry.key))
    menu.addActions(group.actions())
    button = menu_button("Axis", name, _TIP, menu)
    button.setAutoRaise(True)
    return button
