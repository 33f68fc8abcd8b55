"""A panel of a page: its title stands in its own bar, or in its tab where it shares its place with others."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStyleOptionDockWidget, QWidget


class Dock(QDockWidget):
    """A panel that can be moved, closed and brought back; the page calls `follow_tabs` after `moved`."""

    moved = Signal()

    def __init__(self, name: str, title: str, page: QMainWindow, widget: QWidget) -> None:
        super().__init__(title, page)
        self._page = page
        self.setObjectName(name)
        self.setWidget(widget)
        self.toggleViewAction().setToolTip(f"Show or hide the panel {title}.")
        # Qt leaves what is behind another tab visible far outside, where Tab and screen readers find it.
        room = widget.sizePolicy()
        room.setRetainSizeWhenHidden(True)
        widget.setSizePolicy(room)
        self.visibilityChanged.connect(widget.setVisible)
        for moved in (self.dockLocationChanged, self.topLevelChanged, self.visibilityChanged):
            moved.connect(self.moved)

    @property
    def is_tabbed(self) -> bool:
        """Whether a tab has its title: it shares its place with another panel that is not closed."""
        others = self._page.tabifiedDockWidgets(self)
        return not self.isFloating() and any(one.toggleViewAction().isChecked() for one in others)

    def initStyleOption(self, option: QStyleOptionDockWidget) -> None:
        super().initStyleOption(option)
        if self.is_tabbed:
            # The tab says it: the bar is only for the two buttons.
            option.title = ""

    def follow_tabs(self) -> None:
        """Take the title out of the bar where a tab has it, and put it back."""
        if self.property("tabbed") != self.is_tabbed:
            self.setProperty("tabbed", self.is_tabbed)
            self.style().unpolish(self)
            self.style().polish(self)
            self.updateGeometry()
