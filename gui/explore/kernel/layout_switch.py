"""The switch between pitched and packed rows on the device."""

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.geometry.layout import ROW_BYTES, Layout
from engine.host.protocol import PictureHandle
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace

_TEXT = "Pitched rows"
_TEXT_ON_CPU = "Packed rows"
_TEACHES = (
    f"Pitched: each row of the picture and of the result begins on a {ROW_BYTES}-byte boundary of the GPU's memory, with "
    f"unused bytes after the row before it. Then 32 neighbouring float32 values lie in one line of {ROW_BYTES} bytes and "
    "a warp reads them at once. Off, the rows are packed: each begins where the one before ends, and a warp may have to "
    "read two lines.\n\n"
    "It changes times only, never the result. Widths such as 1001 show the difference; at 1024 there is none."
)
_WHY_NOT = (
    "Rows on the CPU are always packed. To compare the two layouts, choose a CUDA device or the simulator."
)


class LayoutSwitch(QCheckBox):
    """Chooses `Settings.layout`; greyed, with the reason, where the device is the CPU."""

    def __init__(
        self, workspace: Workspace, engine_state: EngineState, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._engine_state = engine_state
        self.setAccessibleName(f"Rows on the device begin at {ROW_BYTES}-byte boundaries")
        self.toggled.connect(self._choose)
        workspace.settings_changed.connect(self._refresh)
        workspace.picture_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        self._refresh()

    def _choose(self, pitched: bool) -> None:
        self._workspace.change(layout=Layout.PITCHED if pitched else Layout.PACKED)

    def _refresh(self) -> None:
        settings = self._workspace.settings
        device = self._engine_state.used_device(settings.device)
        on_cpu = device is not None and device.kind == "cpu"
        with QSignalBlocker(self):
            # Greyed, it says what is true of the CPU: its rows are packed.
            self.setChecked(on_cpu or settings.layout is Layout.PITCHED)
        self.setEnabled(not on_cpu)
        self.setText(_TEXT_ON_CPU if on_cpu else _TEXT)
        picture = self._workspace.picture
        example = f"\n\n{_of_picture(picture)}" if picture else ""
        self.setToolTip(_WHY_NOT if on_cpu else _TEACHES + example)
        self.setAccessibleDescription(_WHY_NOT if on_cpu else _TEACHES)


def _of_picture(picture: PictureHandle) -> str:
    """Return what the layout means for the rows of a picture."""
    itemsize = {"uint8": 1, "uint16": 2}.get(picture.pixels.dtype, 4)
    pixel_bytes = picture.channels * itemsize
    row_bytes = picture.width * pixel_bytes
    pitch_bytes = Layout.PITCHED.row_pixels(picture.width, picture.channels, itemsize) * pixel_bytes
    if pitch_bytes == row_bytes:
        return f"This picture: {row_bytes:,} bytes per row, which is a boundary already."
    return f"This picture: {row_bytes:,} bytes per row packed, {pitch_bytes:,} pitched."
