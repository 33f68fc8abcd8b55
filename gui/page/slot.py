"""Where a widget is put later, such as a panel behind a tab: it is made when it is first visible.

All that a click shows is never made at once. Each widget is made in a turn of the event loop of its own, and
put into its place in another one, which lays it out and paints it: a page of seven panels kept the window
from answering for 0.3 s, a panel with three plots for 0.1 s.

The modules of panels and pages are imported in turns as well, 0.2 s in all and 60 ms at most in one, on the
GUI thread: a start in some 400 crashed where another thread made classes of Qt's.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from gui.style.metrics import Turns
from gui.widgets.panel_parts import column

# Modules that are not needed yet.
_announced: list[str] = []


def import_announced() -> None:
    """Import the modules of widgets that are not needed yet, each in a turn of its own."""
    if _announced:
        _import(_announced[0])
        _turns().ask(import_announced)


def _import(module: str) -> None:
    _announced.remove(module)
    # Whoever makes the widget imports it again, and says what is wrong.
    with suppress(ImportError):
        import_module(module)


class Slot(QWidget):
    """Makes its widget soon after it is first shown, or at `fill`; `module` is what making it imports."""

    filled = Signal()
    visibility_changed = Signal(bool)  # whether the widget is visible, once it is made

    def __init__(self, make: Callable[[], QWidget], module: str = "") -> None:
        super().__init__()
        self.widget: QWidget | None = None
        # It has been made, and is not in its place yet.
        self._made: QWidget | None = None
        self._make, self._module = make, module
        self._column = column()
        self.setLayout(self._column)
        if module and module not in sys.modules and module not in _announced:
            _announced.append(module)

    @property
    def is_complete(self) -> bool:
        """Whether the widget is made and visible, or its tab is hidden."""
        # A layout shows a new widget in the next turn of the event loop.
        return not self.isVisible() or (self.widget is not None and not self.widget.isHidden())

    def fill(self) -> None:
        if self.widget is None:
            self.widget, self._made = self._made or self._make(), None
            self._column.addWidget(self.widget)
            self.filled.emit()
            if self.isVisible():
                self.visibility_changed.emit(True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.widget is not None:
            self.visibility_changed.emit(True)
        else:
            _turns().ask(self._go_on)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self.widget is not None:
            self.visibility_changed.emit(False)

    def _go_on(self) -> None:
        # Its window may be gone by now, or another tab in front.
        if not isValid(self) or not self.isVisible() or self.widget is not None:
            return
        if self._module not in _announced and self._made is not None:
            self.fill()
            return
        if self._module in _announced:
            _import(self._module)
        else:
            self._made = self._make()
        _turns().ask(self._go_on)


@cache
def _turns() -> Turns:
    """Return the turns of the program: two widgets are never made in one."""
    return Turns()
