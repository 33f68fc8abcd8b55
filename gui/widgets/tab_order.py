"""The order of Tab for widgets that are made later: by themselves they would come last in the window."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QWidget


def place_after(before: QWidget, made: QWidget) -> None:
    """Let Tab go from `before`, or the last in it that takes Tab, to `made`, and on from there as till now.

    Where nothing there takes Tab, what comes earlier in the window is followed by `made`.
    """
    last: QWidget | None = None
    own: list[QWidget] = []
    has_met = False
    for one in _chain(before):
        is_own = _is_in(one, made)
        is_before = not is_own and _is_in(one, before)
        if _takes_tab(one):
            if is_own:
                own.append(one)
            elif is_before or not has_met:
                last = one
        has_met = has_met or is_before
    for one in own:
        if last is not None:
            QWidget.setTabOrder(last, one)
        last = one


def _chain(widget: QWidget) -> Iterator[QWidget]:
    """Yield every widget of the window in the order of Tab, from its first one on."""
    first = widget.window()
    yield first
    one = first.nextInFocusChain()
    while one is not None and one is not first:
        yield one
        one = one.nextInFocusChain()


def _takes_tab(widget: QWidget) -> bool:
    # The line edit in a box is the box's own.
    is_part = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox)
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and not is_part


def _is_in(widget: QWidget, other: QWidget) -> bool:
    return widget is other or other.isAncestorOf(widget)
