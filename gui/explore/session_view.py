"""How the page looks, as a session keeps it: view mode, zoom and place, panels in front, the selected run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject

from gui.explore.picture.layers import ViewMode
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_panel import ResultsPanel
from gui.explore.state import PictureSource
from gui.explore.workspace import Workspace
from gui.page.dock import Dock

_LARGEST_PLACE = 1e9


class SessionView(QObject):
    """Reads the view, and brings one back; what of it is not as expected stays as it is."""

    def __init__(
        self,
        workspace: Workspace,
        pictures: PictureController,
        picture_view: PictureView,
        results: ResultsModel,
        results_panel: ResultsPanel,
        docks: Sequence[Dock],
    ) -> None:
        super().__init__()
        self._workspace, self._picture_view = workspace, picture_view
        self._results, self._results_panel, self._docks = results, results_panel, docks
        self._place: tuple[float, float, float] | None = None
        # Another picture is fitted first.
        pictures.opened.connect(self._look)

    def read(self) -> dict[str, Any]:
        """Return the view as plain JSON values."""
        canvas = self._picture_view.canvas
        row, column = canvas.view.middle
        described, runs = self._results.described, self._results.rows()
        kept: dict[str, Any] = {
            "mode": canvas.mode.value,
            "panels": [dock.objectName() for dock in self._docks if not dock.visibleRegion().isEmpty()],
            "run": next((at for at, run in enumerate(runs) if run is described), None),
        }
        if not canvas.view.is_fitted:
            kept |= {"zoom": canvas.view.transform.zoom, "row": row, "column": column}
        return kept

    def give(self, kept: Mapping[str, Any]) -> None:
        """Bring a view back: its place once the picture is there."""
        for mode in ViewMode:
            if mode.value == kept.get("mode"):
                self._picture_view.set_mode(mode)
        panels = kept.get("panels")
        for dock in self._docks:
            if isinstance(panels, list) and dock.objectName() in panels and not dock.isHidden():
                dock.raise_()
        rows, run = self._results.rows(), kept.get("run")
        if type(run) is int and 0 <= run < len(rows):
            chosen = rows[run].result
            self._results_panel.select(lambda result: result is chosen)
        place = [kept.get(name) for name in ("zoom", "row", "column")]
        numbers = [float(part) for part in place if type(part) in (int, float)]  # type: ignore[arg-type]
        is_place = len(numbers) == len(place) and all(abs(part) < _LARGEST_PLACE for part in numbers)
        self._place = (numbers[0], numbers[1], numbers[2]) if is_place and numbers[0] > 0.0 else None
        picture = self._workspace.picture
        if picture is not None and self._workspace.state.source == PictureSource.of(picture):
            self._look()

    def _look(self) -> None:
        place, self._place = self._place, None
        if place is not None and all(map(math.isfinite, place)):
            self._picture_view.canvas.view.look_at(*place)
