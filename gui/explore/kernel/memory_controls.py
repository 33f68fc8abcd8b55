"""How values lie in the device's memory: the type of the results, and pitched or packed rows."""

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox

from engine.geometry.layout import ROW_BYTES, Layout
from engine.work.filtering.problem import RESULT_TYPES
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.widgets.panel_parts import NarrowBox

_TYPE_TOOLTIP = (
    "What the kernel writes, and so what is verified and timed.\n\n"
    "float32: the sums as they are, four bytes per sample, below 0 and above full scale too; the screen and "
    "a saved file round them.\n\n"
    "8 or 16 bit, as the picture: the kernel itself rounds (halves to even) and clips, as a photo program "
    "does. It writes a quarter or half of the bytes, which is what a memory-bound kernel spends its time on. "
    "Kernels that cannot do it are greyed."
)
_OPERATION = "There is no choice: an operation gives a picture of the same type."
_CHAIN = "There is no choice: what lies between the steps of a chain, and its result, are float32."
_FLOAT_PICTURE = "This picture has float32 samples, so its results have them either way."
_BITS = {"uint8": "8 bit", "uint16": "16 bit"}
_LAYOUT_TOOLTIP = (
    f"Pitched: each row of the picture and of the result begins on a {ROW_BYTES}-byte boundary of the GPU's "
    "memory, with unused bytes after the row before it. Then 32 neighbouring float32 values lie in one line "
    f"of {ROW_BYTES} bytes and a warp reads them at once. Off, the rows are packed: each begins where the "
    "one before ends, and a warp may have to read two lines.\n\n"
    "It changes times only, never the result. Widths such as 1001 show the difference; at 1024 there is none."
)
_CPU_IS_PACKED = (
    "Rows on the CPU are always packed. To compare the two layouts, choose a CUDA device or the simulator."
)


class ResultTypeBox(NarrowBox):
    """Chooses `Settings.result_type`; greyed, with the reason, where the picture leaves no choice."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(5)
        self._workspace = workspace
        self.setAccessibleName("Output type")
        for result_type in RESULT_TYPES:
            self.addItem("float32", result_type)
        self.activated.connect(lambda at: workspace.change(result_type=self.itemData(at)))
        workspace.settings_changed.connect(self._refresh)
        workspace.picture_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        picture = self._workspace.picture
        bits = _BITS.get(picture.dtype, "") if picture else ""
        is_filtering = self._workspace.is_filtering
        is_chain = self._workspace.is_chain
        is_open = is_filtering and not is_chain and (picture is None or bool(bits))
        same = "same" if bits and not (is_filtering or is_chain) else "float32"
        self.setItemText(self.findData("same"), bits or "8 or 16 bit")
        # For a float picture both mean the same; the choice is kept for the next one.
        chosen = self._workspace.settings.result_type if is_open else same
        self.setCurrentIndex(self.findData(chosen))
        self.setEnabled(is_open)
        why = _CHAIN if is_chain else _FLOAT_PICTURE if is_filtering else _OPERATION
        self.setToolTip(_TYPE_TOOLTIP if is_open else why)
        self.setAccessibleDescription(self.toolTip())


class LayoutSwitch(QCheckBox):
    """Chooses `Settings.layout`; greyed, with the reason, where the device is the CPU."""

    def __init__(self, workspace: Workspace, engine_state: EngineState) -> None:
        super().__init__()
        self._workspace = workspace
        self._engine_state = engine_state
        self.setAccessibleName(f"Rows on the device begin at {ROW_BYTES}-byte boundaries")
        self.toggled.connect(
            lambda pitched: workspace.change(layout=Layout.PITCHED if pitched else Layout.PACKED)
        )
        workspace.settings_changed.connect(self._refresh)
        engine_state.ready_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        settings = self._workspace.settings
        device = self._engine_state.used_device(settings.device)
        on_cpu = device is not None and device.kind == "cpu"
        with QSignalBlocker(self):
            # Greyed, it shows what holds on the CPU: rows are packed.
            self.setChecked(on_cpu or settings.layout is Layout.PITCHED)
        self.setEnabled(not on_cpu)
        self.setText("Packed rows" if on_cpu else "Pitched rows")
        tooltip = _CPU_IS_PACKED if on_cpu else _LAYOUT_TOOLTIP
        self.setAccessibleDescription(tooltip)
        self.setToolTip(tooltip)
