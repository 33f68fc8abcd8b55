"""What the kernel writes: float32, or samples of the picture's own type."""

from PySide6.QtWidgets import QComboBox, QWidget

from engine.tasks.filtering.problem import RESULT_TYPES
from gui.explore.workspace import Workspace

_TEACHES = (
    "What the kernel writes, and so what is verified and timed.\n\n"
    "float32: the sums as they are, four bytes a sample, below 0 and above full scale too; the screen and a saved file "
    "round them.\n\n"
    "8 or 16 bit, as the picture: the kernel itself rounds (halves to the even number) and clips, as a photo program "
    "does. It writes a quarter or half of the bytes, which is what a memory-bound kernel spends its time on. Kernels "
    "that cannot do it are greyed."
)
_FLOAT = "This picture has float32 samples, so its results have them either way."
_BITS = {"uint8": "8 bit", "uint16": "16 bit"}
_FLOAT32 = "float32"


class ResultTypeBox(QComboBox):
    """Chooses `Settings.result_type`; the label beside it says what of. Greyed, with the reason, where the picture leaves no choice."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setAccessibleName("Output type")
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(5)
        for word in RESULT_TYPES:
            self.addItem(_FLOAT32, word)
        self.activated.connect(lambda at: workspace.change(result_type=self.itemData(at)))
        workspace.settings_changed.connect(self._refresh)
        workspace.picture_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        picture = self._workspace.picture
        bits = _BITS.get(picture.pixels.dtype, "") if picture else ""
        is_open = picture is None or bool(bits)
        self.setItemText(self.findData("same"), bits or "8 or 16 bit")
        # Of a float picture both mean the same; the choice is kept for the next one.
        chosen = self._workspace.settings.result_type if is_open else "float32"
        self.setCurrentIndex(self.findData(chosen))
        self.setEnabled(is_open)
        self.setToolTip(_TEACHES if is_open else _FLOAT)
        self.setAccessibleDescription(self.toolTip())
