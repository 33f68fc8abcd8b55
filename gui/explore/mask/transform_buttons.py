"""Turning, mirroring and transposing the mask, and putting its anchor back to the middle."""

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from engine.mask.mask import Mask
from gui.explore.workspace import Workspace
from gui.style.metrics import HALF_GRID
from gui.widgets.panel_parts import icon_button

# Icon, name, what it does, and how; the anchor moves with its cell.
_TRANSFORMS: tuple[tuple[str, str, str, Callable[[Mask], Mask]], ...] = (
    (
        "rotate-left",
        "Rotate left",
        "Turn the mask by 90 degrees, counter-clockwise.",
        lambda mask: mask.rotated(1),
    ),
    (
        "rotate-right",
        "Rotate right",
        "Turn the mask by 90 degrees, clockwise.",
        lambda mask: mask.rotated(-1),
    ),
    (
        "flip-horizontal",
        "Mirror left and right",
        "Exchange left and right. (The flip of a convolution is another thing: it turns by 180 degrees.)",
        lambda mask: mask.transposed().rotated(-1),
    ),
    (
        "flip-vertical",
        "Mirror top and bottom",
        "Exchange top and bottom.",
        lambda mask: mask.transposed().rotated(1),
    ),
    (
        "arrow-top-left-bottom-right",
        "Transpose",
        "Exchange rows and columns: Sobel x becomes Sobel y.",
        lambda mask: mask.transposed(),
    ),
)


class TransformButtons(QWidget):
    """A row of small buttons."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF_GRID)
        self.buttons: dict[str, QToolButton] = {}
        for icon_name, name, sentence, transform in _TRANSFORMS:
            button = icon_button(icon_name, name, f"{name}: {sentence}")
            button.clicked.connect(
                lambda _=False, name=name, transform=transform: self._apply(name, transform)
            )
            self.buttons[name] = button
            row.addWidget(button)
        row.addStretch(1)
        self.centre_button = icon_button(
            "image-filter-center-focus",
            "Anchor to the middle",
            "Anchor to the middle: the anchor (framed) is the cell that lies on the pixel whose result is computed.\n"
            "Another cell becomes the anchor through its context menu.",
        )
        self.centre_button.clicked.connect(
            lambda: self._apply("Anchor to the middle", lambda mask: mask.with_anchor(None))
        )
        row.addWidget(self.centre_button)
        workspace.mask_changed.connect(self._show_mask)
        self._show_mask(workspace.mask)

    def _apply(self, name: str, transform: Callable[[Mask], Mask]) -> None:
        self._workspace.set_mask(transform(self._workspace.mask), name)

    def _show_mask(self, mask: Mask) -> None:
        self.centre_button.setEnabled(mask.anchor != (mask.rows // 2, mask.columns // 2))
