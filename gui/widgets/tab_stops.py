"""Tab goes through a window as it is laid out: what is made later has its turn where it stands.

Qt's own chain has such widgets last. It is not read here: in PySide6 6.11 `nextInFocusChain()` makes the
widget that it returns a child of the one that it was asked of, for Python only.
"""

from collections.abc import Iterable, Iterator

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QSplitter, QWidget


def focus_next(window: QWidget, *, is_forward: bool) -> bool:
    """Give the focus to what comes next in a window, or before it; return whether there is something."""
    now = window.focusWidget()
    order = [one for one in _shown_in(window) if one is now or _takes_tab(one)]
    if not order:
        return False
    step, reasons = 1 if is_forward else -1, Qt.FocusReason
    at = order.index(now) + step if now in order else min(step, 0)
    order[at % len(order)].setFocus(reasons.TabFocusReason if is_forward else reasons.BacktabFocusReason)
    return True


def _shown_in(widget: QWidget) -> Iterator[QWidget]:
    children: Iterable[QObject] = widget.children()
    if isinstance(widget, QSplitter):
        # Its children are in the order in which they were shown.
        children = filter(None, map(widget.widget, range(widget.count())))
    for child in children:
        if isinstance(child, QWidget) and child.isVisible() and not child.isWindow():
            yield child
            yield from _shown_in(child)


def _takes_tab(widget: QWidget) -> bool:
    # A part whose box has the focus for it, such as the line edit in a number box, has a proxy.
    takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    return bool(takes) and widget.isEnabled() and widget.focusProxy() is None
