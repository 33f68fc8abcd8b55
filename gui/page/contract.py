"""What a page is: a window inside the window, with docks of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions
from gui.page.messages import Messages

if TYPE_CHECKING:
    from gui.course.course_model import CourseModel
    from gui.explore.results.results_model import ResultsModel
    from gui.explore.workspace import Workspace
    from gui.matrices.matmul_state import MatmulState


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page is given."""

    workspace: "Workspace"
    state: EngineState
    results: "ResultsModel"
    actions: Actions
    course: "CourseModel"
    matmul: "MatmulState"
    messages: Messages


class Page(QMainWindow):
    """Docks around a middle.

    Signals
    -------
    files_dropped(list)
        Local paths, as str, that were dropped on the page.
    """

    files_dropped = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.docks: list[QDockWidget] = []

    def add_dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        """Add a panel that can be moved, closed and brought back; `name` is kept with the layout."""
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        dock.toggleViewAction().setToolTip(f"Show or hide the panel {title}.")
        self.docks.append(dock)
        return dock

    @property
    def surface(self) -> QWidget:
        """Where results are painted."""
        return self

    def finish(self) -> None:
        """Add what the first paint does not wait for."""

    def restore_default(self) -> None:
        """Put every dock back to where it was at first."""

    def take_layout(self, layout: QByteArray, version: int) -> None:
        """Arrange the docks as they were kept."""
        self.restoreState(layout, version)


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the bar.

    Parameters
    ----------
    key : str
        Stable: the layout is kept under it.
    title, tip, icon : str
    module : str
        Has `build(context: PageContext) -> Page`.
    """

    key: str
    title: str
    tip: str
    icon: str
    module: str

    def build(self, context: PageContext) -> Page:
        """Make the page."""
        make: Callable[[PageContext], Page] = import_module(self.module).build
        return make(context)
