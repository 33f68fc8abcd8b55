"""The selected part of the picture: the actions for it, and which of them can be chosen now."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from engine.device_info import SIMULATOR_SIDE
from engine.host.tiles import TiledScreen
from engine.verify.regions import Region
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.layers import Drawing
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.small_picture import choose_simulator
from gui.explore.workspace import Workspace
from gui.page.actions import Actions, Entry

_MENU, _SUBMENU, _SECTION = "&View", "Regio&n", 30
_PART = f"{SIMULATOR_SIDE} × {SIMULATOR_SIDE}"
ENTRIES: tuple[Entry, ...] = tuple(
    Entry(name, text, tip, keys, icon, _MENU, _SECTION, _SUBMENU)
    for name, text, tip, keys, icon in (
        ("region_select", "&Select a region",
         "Drag a rectangle over the picture. Shift and drag does that at any time.", "Ctrl+D",
         "selection-drag"),
        ("region_filter", "&Filter only the region", "The rest of the result keeps the original.",
         "Ctrl+Shift+D", "selection-ellipse-arrow-inside"),
        ("region_measure", "&Measure the region",
         "Mean, deviation, minimum and maximum of the region, in the panel Look.", "Ctrl+I", "ruler"),
        ("region_crop", "&Crop to the region", "The region becomes the picture.", "Ctrl+Shift+X", "crop"),
        ("region_whole", "&Whole picture again", "Open all of the picture that was cropped.", "",
         "image-outline"),
        ("region_simulate", f"Use &{_PART} in the simulator",
         f"Crop to {_PART} of it, in the region or in the middle of the view, and simulate the GPU.",
         "", "chip"),
        ("region_patch", "Find this &patch", "Search the picture for what is in the region.", "",
         "image-search-outline"),
        ("region_clear", "C&lear the region", "Select nothing.", "Ctrl+Shift+A", "selection-off"),
    )
)  # fmt: skip
_MOST_PATCH_SIDE, _LEAST_PATCH_SIDE = 64, 2
FIND_PATCH = "find-patch"


class RegionActions(QObject):
    """Acts on the region of the workspace; `measure` shows its numbers."""

    def __init__(
        self,
        actions: Actions,
        workspace: Workspace,
        state: EngineState,
        pictures: PictureController,
        view: PictureView,
        measure: Callable[[], None],
    ) -> None:
        super().__init__(actions)
        self._actions, self._workspace, self._state = actions, workspace, state
        self._pictures, self._view = pictures, view
        made = actions.add(ENTRIES)
        for name in ("region_select", "region_filter"):
            actions[name].setCheckable(True)
        menu = QMenu()
        menu.addActions(made)
        view.toolbar.show_region_menu(menu)
        actions["region_select"].toggled.connect(self._draw)
        actions["region_filter"].triggered.connect(workspace.filter_only_region)
        actions.connect_to(
            region_measure=measure,
            region_crop=self.crop,
            region_whole=pictures.open_whole,
            region_simulate=self.simulate,
            region_patch=self.find_patch,
            region_clear=lambda: workspace.select(None),
        )
        view.canvas.region_drawn.connect(self._drawn)
        workspace.region_wanted.connect(lambda: actions["region_select"].setChecked(True))
        changed = workspace.region_changed, workspace.picture_changed, workspace.operation_changed
        for signal in (*changed, workspace.steps_changed):
            signal.connect(self._refresh)
        self._refresh()

    def crop(self) -> None:
        """Make the region the picture."""
        if self._workspace.region is not None:
            self._pictures.crop(self._workspace.region)

    def simulate(self) -> None:
        """Make a part of the picture that is done within seconds the picture, and choose the simulator."""
        region = self.small_region()
        if region is not None:
            self._pictures.crop(region, self._choose_simulator)

    def _choose_simulator(self, is_open: bool) -> None:
        if is_open:
            choose_simulator(self._workspace, self._state)

    def small_region(self) -> Region | None:
        """Return that part, in the middle of the region or of the view; None without a picture."""
        picture, region = self._workspace.picture, self._workspace.region
        if picture is None:
            return None
        middle = self._workspace.looked_at or (picture.height // 2, picture.width // 2)
        if region is not None:
            middle = (region.top + region.bottom) // 2, (region.left + region.right) // 2
        sides = [min(SIMULATOR_SIDE, length) for length in (picture.height, picture.width)]
        top, left = (
            min(max(0, at - side // 2), length - side)
            for at, side, length in zip(middle, sides, (picture.height, picture.width), strict=True)
        )
        return Region(top, top + sides[0], left, left + sides[1])

    def find_patch(self) -> None:
        """Search the picture for what is in the region, of which at most 64 x 64 are taken."""
        region = self._workspace.region
        if region is None:
            return
        self._workspace.choose(FIND_PATCH)
        height, width = (min(max(len(along), _LEAST_PATCH_SIDE), _MOST_PATCH_SIDE) for along in region.ranges)
        patch = {"top": region.top, "left": region.left, "height": height, "width": width}
        parameters = {**self._workspace.settings.parameters, **patch}
        self._workspace.change(parameters=parameters, patch_path="")

    def _draw(self, is_drawing: bool) -> None:
        self._view.canvas.drawing = Drawing.REGION if is_drawing else Drawing.PAN

    def _drawn(self, region: Region | None) -> None:
        self._actions["region_select"].setChecked(False)
        if region is not None and self._workspace.operation == FIND_PATCH:
            self.find_patch()

    def _refresh(self) -> None:
        workspace, actions = self._workspace, self._actions
        picture, has_region = workspace.picture, workspace.region is not None
        is_in_parts = picture is not None and isinstance(picture.screen, TiledScreen)
        can_filter = has_region and workspace.is_filtering and not (is_in_parts or workspace.is_chain)
        for name, is_possible, why in (
            ("region_select", picture is not None, "Open a picture first."),
            ("region_filter", can_filter, self._why_not_filter(has_region, is_in_parts)),
            ("region_measure", picture is not None and not is_in_parts, _IN_PARTS if is_in_parts else ""),
            ("region_crop", has_region, _NO_REGION),
            ("region_whole", picture is not None and picture.crop is not None, "The picture is not cropped."),
            ("region_simulate", picture is not None, "Open a picture first."),
            ("region_patch", has_region and not is_in_parts, _IN_PARTS if is_in_parts else _NO_REGION),
            ("region_clear", has_region, _NO_REGION),
        ):
            actions.allow(name, "" if is_possible else why)
        actions["region_filter"].setChecked(workspace.filters_region)

    def _why_not_filter(self, has_region: bool, is_in_parts: bool) -> str:
        if not has_region:
            return _NO_REGION
        if self._workspace.is_chain:
            return "A chain takes the whole picture: crop to the region instead."
        return _IN_PARTS if is_in_parts else "Only a convolution can be limited to a region."


_NO_REGION = "Select a region first: Shift and drag over the picture."
_IN_PARTS = "The picture stays in its file: crop to a region first."
