"""What a session keeps: state, results, view, and the parts of other pages. Its file is in `session_file`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta, Struct
from PySide6.QtCore import QObject

from gui.explore.picture.layers import ViewMode
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.results.results_model import Asked, ResultsModel
from gui.explore.state import PictureSource, State
from gui.explore.workspace import Workspace
from gui.page.panels import Panel
from gui.typed_json import Text

_Window = tuple[float, float]
_Place = Annotated[float, Meta(gt=-1e9, lt=1e9)]


class View(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the page looks."""

    # Value of a `ViewMode`.
    mode: Text = ""
    # Names of those in front.
    panels: tuple[Text, ...] = ()
    # Which of the rows is selected.
    run: Annotated[int, Meta(ge=0)] | None = None
    # Pixels of the screen for one of the picture, and the pixel in the middle; None where it is fitted.
    zoom: Annotated[float, Meta(gt=0, lt=1e9)] | None = None
    row: _Place = 0.0
    column: _Place = 0.0
    # The values that are black and white, of the original and of the result; none: as the display range says.
    original_window: _Window | None = None
    result_window: _Window | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """All that is kept. Nobody changes it, so that any thread can write it."""

    state: State
    runs: tuple[Asked, ...] = ()
    # Of the file of the picture, when it was opened; empty for a sample, and where it is not known.
    digest: str = ""
    view: View = field(default_factory=View)
    # What other pages add, by their keys; they check it themselves.
    pages: Mapping[str, Any] = field(default_factory=dict)
    # Of one that was read: a sentence for each thing that was left out.
    left_out: tuple[str, ...] = ()


class SessionView(QObject):
    """What of a view is not known here stays as it is."""

    def __init__(
        self,
        workspace: Workspace,
        pictures: PictureController,
        picture_view: PictureView,
        results: ResultsModel,
        panels: Sequence[Panel],
    ) -> None:
        super().__init__()
        self._workspace, self._picture_view = workspace, picture_view
        self._results, self._panels = results, panels
        self._kept: View | None = None
        # Another picture is fitted first.
        pictures.opened.connect(self._look)

    def read(self) -> View:
        """Return the view."""
        canvas = self._picture_view.canvas
        described, runs = self._results.described, self._results.rows()
        row, column = canvas.view.middle
        original, result = self._picture_view.windows
        zoom = None if canvas.view.is_fitted else canvas.view.transform.zoom
        return View(
            mode=canvas.scene.mode.value,
            panels=tuple(panel.objectName() for panel in self._panels if panel.isVisible()),
            run=next((at for at, run in enumerate(runs) if run is described), None),
            zoom=zoom,
            row=row if zoom else 0.0,
            column=column if zoom else 0.0,
            original_window=original.ends,
            result_window=result.ends,
        )

    def give(self, kept: View) -> None:
        """Bring a view back: its place and windows once the picture is there."""
        for mode in ViewMode:
            if mode.value == kept.mode:
                self._picture_view.set_mode(mode)
        for panel in self._panels:
            if panel.objectName() in kept.panels and not panel.is_own_window:
                panel.bring_to_front()
        rows = self._results.rows()
        if kept.run is not None and kept.run < len(rows):
            self._results.describe(rows[kept.run].result)
        self._kept = kept
        picture = self._workspace.picture
        if picture is not None and self._workspace.state.source == PictureSource.of(picture):
            self._look()

    def _look(self) -> None:
        kept, self._kept = self._kept, None
        if kept is None:
            return
        if kept.zoom:
            self._picture_view.canvas.view.look_at(kept.zoom, kept.row, kept.column)
        for window, ends in zip(
            self._picture_view.windows, (kept.original_window, kept.result_window), strict=True
        ):
            window.choose(ends)
