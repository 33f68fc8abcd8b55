"""Where a widget is put later, such as a panel behind a tab: it is made when somebody looks at it.

All that a click shows is never made at once. What needs a module waits for the thread that imports it. Each
widget is made in a turn of the event loop of its own, and put into its place in another one, which lays it
out and paints it: a page of seven panels kept the window from answering for 0.3 s, a panel with three plots
for 0.1 s.
"""

from collections.abc import Callable
from functools import cache

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from gui.page.imports import imports
from gui.widgets.panel_parts import column
from gui.widgets.turns import Turns


class Slot(QWidget):
    """Makes its widget soon after it is shown for the first time, or when `fill` is called.

    `module` is imported before that.
    """

    filled = Signal()
    looked_at = Signal(bool)  # whether the widget can be seen, since it is there

    def __init__(
        self,
        make: Callable[[], QWidget],
        module: str = "",
        *,
        above: int = 0,
    ) -> None:
        super().__init__()
        self.widget: QWidget | None = None
        # It has been made, and is not in its place yet.
        self._made: QWidget | None = None
        self._make, self._module = make, module
        self._column = column(margins=(0, above, 0, 0))
        self.setLayout(self._column)
        if module:
            imports().announce(module)

    @property
    def is_settled(self) -> bool:
        """Whether the widget is there and shown, or nobody looks."""
        # A layout shows a new widget in the next turn of the event loop.
        return not self.isVisible() or (self.widget is not None and not self.widget.isHidden())

    def fill(self) -> None:
        """Make the widget, if it is not there yet."""
        if self.widget is None:
            self.widget, self._made = self._made or self._make(), None
            self._column.addWidget(self.widget)
            self.filled.emit()
            if self.isVisible():
                self.looked_at.emit(True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.widget is not None:
            self.looked_at.emit(True)
        elif self._module:
            imports().wait_for(self._module, self._ask)
        else:
            self._ask()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self.widget is not None:
            self.looked_at.emit(False)

    def _ask(self) -> None:
        _turns().ask(self._go_on)

    def _go_on(self) -> None:
        # Its window may be gone by now, or another tab in front.
        if not isValid(self) or not self.isVisible() or self.widget is not None:
            return
        if self._made is None:
            self._made = self._make()
            self._ask()
        else:
            self.fill()


@cache
def _turns() -> Turns:
    """Return the turns of the program: two widgets are never made in one."""
    return Turns()
