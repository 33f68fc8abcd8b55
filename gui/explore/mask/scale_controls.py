"""How the mask is applied: flipped, normalised, divided, with an offset."""

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from engine.errors import MaskError
from engine.mask.mask import MAX_LINE
from gui.explore.mask.number_field import NumberField
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID

_FLIP_TOOLTIP = (
    "Off: correlation, the mask is laid on the picture as you see it (ImageJ, GIMP, OpenCV).\n"
    "On: convolution, the mask is turned by 180 degrees first (SciPy's convolve, signal processing).\n"
    "Masks that look the same after the turn give the same picture either way."
)
_NORMALISE_TOOLTIP = (
    "Divide the mask by the sum of its weights when it is applied, so that even areas keep their brightness.\n"
    "The cells keep the numbers you typed."
)
_DIVIDE_TOOLTIP = (
    "Divide every weight by a number, once: type 16 for a mask written as 1 2 1; 2 4 2; 1 2 1.\n"
    "Press Enter; it can be undone."
)
_OFFSET_TOOLTIP = "Added to every result, in the picture's own numbers: 128 puts the zero of an 8-bit edge picture in the middle."
# Beyond the merge keys of the cells.
_OFFSET_MERGE_KEY = MAX_LINE * MAX_LINE


class ScaleControls(QWidget):
    """Two check boxes and two fields.

    Signals
    -------
    refused(str)
        A field got no number, or one that the mask cannot take.
    typing()
        The person writes into a field.
    """

    refused = Signal(str)
    typing = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.flip_box = QCheckBox("Flip (convolution)")
        self.flip_box.setToolTip(_FLIP_TOOLTIP)
        self.normalise_box = QCheckBox("Normalise")
        self.divide_field = NumberField("Divide by", "The mask was not divided")
        self.divide_field.setToolTip(_DIVIDE_TOOLTIP)
        self.divide_field.setPlaceholderText("e.g. 16")
        self.offset_field = NumberField("Offset")
        self.offset_field.setToolTip(_OFFSET_TOOLTIP)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        boxes = QHBoxLayout()
        boxes.setSpacing(2 * GRID)
        boxes.addWidget(self.flip_box)
        boxes.addWidget(self.normalise_box)
        boxes.addStretch(1)
        column.addLayout(boxes)
        fields = QHBoxLayout()
        fields.setSpacing(GRID)
        for text, field in (("Divide by", self.divide_field), ("Add offset", self.offset_field)):
            label = QLabel(text)
            label.setBuddy(field)
            fields.addWidget(label)
            fields.addWidget(field, 1)
        column.addLayout(fields)
        self._connect()
        self._show_state()

    def _connect(self) -> None:
        self.flip_box.toggled.connect(lambda on: self._workspace.change(flip=on))
        self.normalise_box.toggled.connect(lambda on: self._workspace.change(normalise=on))
        self.divide_field.entered.connect(self._divide)
        self.offset_field.entered.connect(self._set_offset)
        for field in (self.divide_field, self.offset_field):
            field.refused.connect(self.refused)
            field.typing.connect(self.typing)
        self._workspace.mask_changed.connect(self._show_state)
        self._workspace.settings_changed.connect(self._show_state)

    def _divide(self, divisor: float) -> None:
        try:
            mask = self._workspace.mask.divided_by(divisor)
        except MaskError as error:
            self.refused.emit(str(error))
            return
        self._workspace.set_mask(mask.with_name(""), f"Divide by {divisor:g}")

    def _set_offset(self, offset: float) -> None:
        try:
            mask = self._workspace.mask.with_offset(offset)
        except MaskError as error:
            self.refused.emit(str(error))
            self.offset_field.show_number(self._workspace.mask.offset)
            return
        self._workspace.set_mask(mask, f"Offset {offset:g}", merge_key=_OFFSET_MERGE_KEY)

    def _show_state(self) -> None:
        settings = self._workspace.settings
        with QSignalBlocker(self.flip_box), QSignalBlocker(self.normalise_box):
            self.flip_box.setChecked(settings.flip)
            self.normalise_box.setChecked(settings.normalise)
        can = self._workspace.can_normalise
        self.normalise_box.setEnabled(can)
        self.normalise_box.setToolTip(
            _NORMALISE_TOOLTIP
            if can
            else "The weights add up to 0, and nothing can be divided by 0. Use the mask as it is."
        )
        self.divide_field.show_number(None)
        self.offset_field.show_number(self._workspace.mask.offset)
