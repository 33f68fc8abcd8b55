"""The order of Tab for widgets that are made later: by themselves they would come last in the window."""

from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QWidget


def insert_into_tab_order(anchor: QWidget, made: QWidget) -> None:
    """Let Tab go through `made` after the last widget in `anchor`; `anchor` itself need not take the focus.

    Qt's own chain is not read: in PySide6 6.11 `nextInFocusChain()` makes the widget that it returns a child
    of the one that it was asked of, for Python only. When that one is deleted, Python takes everything behind
    it in the chain for deleted too, menus and actions of the window among them.
    """
    if made.window() is not anchor.window():
        return  # one of them floats: Tab does not leave a window
    stops = _tab_stops(made)
    last = next((stop for stop in reversed(_tab_stops(anchor)) if stop not in stops), anchor)
    policy = last.focusPolicy()
    # Qt ignores a widget without focus here, although it has its place in the chain too.
    last.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    for before, stop in pairwise((last, *stops)):
        QWidget.setTabOrder(before, stop)
    last.setFocusPolicy(policy)


def _tab_stops(widget: QWidget) -> list[QWidget]:
    window = widget.window()
    # Menus and lists that drop down are windows of their own.
    inside = (one for one in widget.findChildren(QWidget) if one.window() is window)
    return [one for one in (widget, *inside) if _takes_tab(one)]


def _takes_tab(widget: QWidget) -> bool:
    # The line edit in a box is the box's own.
    is_part = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox)
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and not is_part
