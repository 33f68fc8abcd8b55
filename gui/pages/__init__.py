"""The pages that the bar on the left switches: one file and one line in `PAGES` each.

Nothing but the page that is shown first is imported before the window has been painted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from PySide6.QtWidgets import QMainWindow

from gui.actions import Actions
from gui.state.engine_state import EngineState
from gui.state.results_model import ResultsModel
from gui.state.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page is given."""

    workspace: Workspace
    state: EngineState
    results: ResultsModel
    actions: Actions


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the bar.

    Parameters
    ----------
    key : str
        Stable: the layout is kept under it.
    title, tip, icon : str
    module : str
        Has `build(context: PageContext) -> QMainWindow`; a page keeps its panels in docks of its own.
    """

    key: str
    title: str
    tip: str
    icon: str
    module: str

    def build(self, context: PageContext) -> QMainWindow:
        """Make the page."""
        make: Callable[[PageContext], QMainWindow] = import_module(self.module).build
        return make(context)


PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "explore",
        "Explore",
        "Edit the mask, choose a kernel, and see picture, proof and time (Alt+1).",
        "explore",
        "gui.pages.explore",
    ),
)
