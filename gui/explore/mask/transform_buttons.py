"""Turning, mirroring and transposing the mask, and putting its anchor back to the middle."""

from collections.abc import Callable

from PySide6.QtWidgets import QToolButton, QWidget

from engine.mask.mask import Mask
from gui.explore.workspace import Workspace
from gui.style.metrics import HALF_GRID
from gui.widgets.panel_parts import icon_button, row

# fmt: off
# Icon, name, what it does, and how; the anchor moves with its cell.
_TRANSFORMS: tuple[tuple[str, str, str, Callable[[Mask], Mask]], ...] = (
    ("rotate-left", "Rotate left", "Turn the mask by 90°, counter-clockwise.", lambda mask: mask.rotated(1)),
    ("rotate-right", "Rotate right", "Turn the mask by 90°, clockwise.", lambda mask: mask.rotated(-1)),
    ("flip-horizontal", "Mirror left and right",
     "Exchange left and right. (The flip of a convolution is something else: a turn by 180°.)",
     lambda mask: mask.transposed().rotated(-1)),
    ("flip-vertical", "Mirror top and bottom", "Exchange top and bottom.",
     lambda mask: mask.transposed().rotated(1)),
    ("arrow-top-left-bottom-right", "Transpose", "Exchange rows and columns: Sobel x becomes Sobel y.",
     lambda mask: mask.transposed()),
)
_CENTRE = (
    "image-filter-center-focus", "Anchor to the middle",
    "The anchor (framed) is the cell that lies on the pixel whose result is computed.\n"
    "Another cell becomes the anchor through its context menu.",
    lambda mask: mask.with_anchor(None),
)
# fmt: on


class TransformButtons(QWidget):
    """A row of small buttons, with the brush among them."""

    def __init__(self, workspace: Workspace, brush: QWidget) -> None:
        super().__init__()
        self._workspace = workspace
        self.buttons = {entry[1]: self._button(*entry) for entry in _TRANSFORMS}
        self.centre_button = self._button(*_CENTRE)
        self.setLayout(row(*self.buttons.values(), brush, 1, self.centre_button, spacing=HALF_GRID))
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    def _button(
        self, icon_name: str, name: str, sentence: str, change: Callable[[Mask], Mask]
    ) -> QToolButton:
        button = icon_button(icon_name, name, f"{name}: {sentence}")
        button.clicked.connect(lambda: self._workspace.set_mask(change(self._workspace.mask), name))
        return button

    def _show_mask(self, mask: Mask) -> None:
        self.centre_button.setEnabled(mask.anchor != (mask.rows // 2, mask.columns // 2))
