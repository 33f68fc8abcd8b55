"""The actions of the page Explore, those for the selected region too, and which can be chosen now."""

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from engine.device_info import SIMULATOR_SIDE
from engine.host.protocol import TiledScreen
from engine.image.formats import saved_formats, titles
from engine.image.open import SAMPLES
from engine.verify.verification import Region
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.layers import DragTool
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.preview_controller import choose_simulator
from gui.explore.workspace import Workspace
from gui.page.actions import Actions, Entry
from gui.page.contract import Services
from gui.style.metrics import follow
from gui.widgets.panel_parts import give_menu

_FILE, _EDIT, _VIEW, _MASK = "&File", "&Edit", "&View", "&Mask"
ENTRIES: tuple[Entry, ...] = (
    Entry("open_session", "Open s&ession…", "Open a saved session (picture, mask, settings).", "Ctrl+Shift+O",
          "session-open", _FILE, 20),
    Entry("save_session", "Save sess&ion…",
          "Save picture path, mask, settings and drawn digit, to open them again later.", "Ctrl+Shift+S",
          "session-save", _FILE, 20),
    Entry("load_mask", "&Open mask…", "Open a mask file: JSON, CSV, ImageJ, ImageMagick, text.", "Ctrl+M",
          "mask-open", _MASK, 30),
    Entry("save_mask", "&Save mask…",
          "Save the mask as it was typed: JSON keeps everything, CSV and text the weights.", "Ctrl+Shift+M",
          "mask-save", _MASK, 30),
    Entry("masks", "Library of &masks…",
          "Choose a mask by its picture or a search; own masks and generators are there too.", "Ctrl+Alt+M",
          "mask", _MASK, 10),
    Entry("generate_mask", "&Generate a mask…",
          "Make a mask from a few numbers with sliders: Gaussian, Gabor, motion blur and others.",
          "Ctrl+Alt+G", "tune", _MASK, 10),
    Entry("mask_as_text", "Mask as &text…",
          "Type or paste the mask in any form, or copy it as NumPy, C, MATLAB, ImageMagick or JSON.",
          "Ctrl+Alt+X", "code-brackets", _MASK, 10),
    Entry("paste", "&Paste",
          "Open the picture or file on the clipboard, or put its numbers into the mask.", "Ctrl+V",
          "content-paste", _EDIT, 20),
    Entry("copy_picture", "C&opy result as picture", "Copy the filtered picture, for another program.",
          "Ctrl+Alt+C", "copy", _EDIT, 20),
    Entry("copy_original", "Copy or&iginal as picture", "Copy the picture as it was opened.",
          "Ctrl+Alt+Shift+C", "copy", _EDIT, 20),
    Entry("zoom_fit", "&Fit", "Show the whole picture.", "Ctrl+0", "zoom-fit", _VIEW, 10),
    Entry("zoom_actual", "&Actual size", "Show one pixel of the picture as one pixel of the screen.",
          "Ctrl+1", "zoom-actual", _VIEW, 10),
    Entry("lens", "&Lens", "How a pixel of the result comes about: its cells, products, sum and rounding.",
          "Ctrl+L", "magnify-scan", _VIEW, 30),
    Entry("blink", "&Blink", "Show the original, and the result again (key B over the picture).", "Ctrl+B",
          "original", _VIEW, 30),
    Entry("zoom_in", "Zoom &in", "Make the picture larger; the wheel over the picture does the same.",
          "Ctrl++ Ctrl+=", "zoom-in", _VIEW, 10),
    Entry("zoom_out", "Zoom &out", "Make the picture smaller; the wheel over the picture does the same.",
          "Ctrl+-", "zoom-out", _VIEW, 10),
)  # fmt: skip


def _picture_entries() -> tuple[Entry, ...]:
    return (
        Entry("open", "&Open…", f"Open a picture: {titles()}. You can also drop one here.",
              "Ctrl+O", "open", _FILE, 10),
        Entry("open_folder", "Open &folder as OME-Zarr…",
              "Open a picture that is stored as a folder: OME-Zarr or a Zarr array.",
              "Ctrl+Alt+O", "open", _FILE, 10),
        Entry("save", "&Save result…", f"Save the filtered picture as {titles(saved_formats())}.",
              "Ctrl+S", "save", _FILE, 30),
        Entry("save_bare", "Save &without metadata…",
              "Save the filtered picture without EXIF data (camera, place, time) and resolution.",
              "Ctrl+Alt+S", "save", _FILE, 30),
        Entry("batch", "&Batch…",
              "Filter a folder of pictures as this page does now: its mask or operation, its settings.",
              "Ctrl+Shift+B", "batch", _FILE, 30),
    )  # fmt: skip


_SAMPLES = [
    Entry(f"sample:{sample.key}", f"{sample.title}, {sample.side} × {sample.side}", sample.sentence,
          f"Ctrl+Alt+{number}", "", _FILE, 10, "Open sam&ple", sample.key)
    for number, sample in enumerate(SAMPLES, start=1)
]  # fmt: skip


class ExploreActions(QObject):
    """Brings the actions of the page, and keeps them enabled and checked as the state says."""

    def __init__(self, actions: Actions, workspace: Workspace, state: EngineState) -> None:
        super().__init__(actions)
        self._actions, self._workspace, self._state = actions, workspace, state
        actions.add((*_picture_entries(), *ENTRIES))
        self.samples: list[QAction] = actions.add(_SAMPLES)
        follow(self._refresh, workspace.picture_changed, workspace.settings_changed, state.filtered)

    def _refresh(self) -> None:
        has_result, has_picture = self._state.last_result is not None, self._workspace.picture is not None
        self._actions.allow("copy_picture", "" if has_result else "There is no result yet.")
        # Before there is a result, saving says that it is being computed.
        for name in ("save", "save_bare", "copy_original", "zoom_fit", "zoom_actual", "zoom_in", "zoom_out"):
            self._actions.allow(name, "" if has_picture else "There is no picture yet.")


_MENU, _SUBMENU, _SECTION = "&View", "Regio&n", 30
_PART = f"{SIMULATOR_SIDE} × {SIMULATOR_SIDE}"
REGION_ENTRIES: tuple[Entry, ...] = tuple(
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
    """Acts on the region of the workspace."""

    def __init__(
        self, services: Services, workspace: Workspace, pictures: PictureController, view: PictureView
    ) -> None:
        super().__init__(services.actions)
        self._actions, self._state = (actions := services.actions), services.state
        self._workspace, self._pictures = workspace, pictures
        made = actions.add(REGION_ENTRIES)
        for name in ("region_select", "region_filter"):
            actions[name].setCheckable(True)
        menu = QMenu()
        menu.addActions(made)
        give_menu(view.toolbar.region, menu)
        ways = DragTool.PAN, DragTool.REGION
        actions["region_select"].toggled.connect(lambda on: setattr(view.canvas, "drawing", ways[on]))
        actions["region_filter"].triggered.connect(workspace.filter_only_region)
        actions.connect_to(
            region_crop=lambda: pictures.crop(workspace.region) if workspace.region is not None else None,
            region_whole=pictures.open_whole,
            region_simulate=self.simulate,
            region_patch=self.find_patch,
            region_clear=lambda: workspace.select(None),
        )
        view.canvas.region_drawn.connect(self._drawn)
        workspace.region_wanted.connect(lambda: actions["region_select"].setChecked(True))
        changed = workspace.region_changed, workspace.picture_changed, workspace.operation_changed
        follow(self._refresh, *changed, workspace.steps_changed)

    def simulate(self) -> None:
        """Make a part of the picture that is done within seconds the picture, and choose the simulator."""
        choose = partial(choose_simulator, self._workspace, self._state)
        if (region := self.small_region()) is not None:
            self._pictures.crop(region, lambda is_open: choose() if is_open else None)

    def small_region(self) -> Region | None:
        """Return that part, in the middle of the region or of the view; None without a picture."""
        picture, region = self._workspace.picture, self._workspace.region
        if picture is None:
            return None
        middle = self._workspace.view_middle or (picture.height // 2, picture.width // 2)
        if region is not None:
            middle = (region.top + region.bottom) // 2, (region.left + region.right) // 2
        ends: list[int] = []
        for at, length in zip(middle, (picture.height, picture.width), strict=True):
            side = min(SIMULATOR_SIDE, length)
            first = min(max(0, at - side // 2), length - side)
            ends += first, first + side
        return Region(*ends)

    def find_patch(self) -> None:
        """Search the picture for what is in the region, of which at most 64 x 64 are taken."""
        workspace, region = self._workspace, self._workspace.region
        if region is not None:
            workspace.choose(FIND_PATCH)
            sides = (min(max(len(along), _LEAST_PATCH_SIDE), _MOST_PATCH_SIDE) for along in region.ranges)
            patch = dict(
                zip(("top", "left", "height", "width"), (region.top, region.left, *sides), strict=True)
            )
            workspace.change(parameters={**workspace.settings.parameters, **patch}, patch_path="")

    def _drawn(self, region: Region | None) -> None:
        self._actions["region_select"].setChecked(False)
        if region is not None and self._workspace.operation == FIND_PATCH:
            self.find_patch()

    def _refresh(self) -> None:
        workspace, actions = self._workspace, self._actions
        picture = workspace.picture
        no_picture = "" if picture is not None else "Open a picture first."
        no_region = "" if workspace.region is not None else _NO_REGION
        in_parts = _IN_PARTS if picture is not None and isinstance(picture.screen, TiledScreen) else ""
        no_filter = "" if workspace.is_filtering else "Only a convolution can be limited to a region."
        if workspace.is_chain:
            no_filter = "A chain takes the whole picture: crop to the region instead."
        is_crop = picture is not None and picture.crop is not None
        for name, why_not in (
            ("region_select", no_picture),
            ("region_filter", no_region or (no_filter if workspace.is_chain else in_parts or no_filter)),
            ("region_measure", in_parts),
            ("region_crop", no_region),
            ("region_whole", "" if is_crop else "The picture is not cropped."),
            ("region_simulate", no_picture),
            ("region_patch", in_parts or no_region),
            ("region_clear", no_region),
        ):
            actions.allow(name, why_not)
        actions["region_filter"].setChecked(workspace.filters_region)


_NO_REGION = "Select a region first: Shift and drag over the picture."
_IN_PARTS = "The picture stays in its file: crop to a region first."
