"""What the mask sees outside the picture."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from engine.geometry.border import Border
from gui.explore.mask.number_field import NumberField
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID


class BorderControls(QWidget):
    """The borders, and the value of a constant one.

    Signals
    -------
    refused(str)
        The value was no number.
    typing()
        The person writes another value.
    """

    refused = Signal(str)
    typing = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.border_box = QComboBox()
        self.border_box.setAccessibleName("Border")
        for border in Border:
            self.border_box.addItem(border.value.capitalize(), border)
            last = self.border_box.count() - 1
            self.border_box.setItemData(last, border.sentence, Qt.ItemDataRole.ToolTipRole)
        self.value_field = NumberField("Border value")
        self.value_field.setFixedWidth(9 * GRID)
        label = QLabel("Border")
        label.setBuddy(self.border_box)
        self._value_label = QLabel("value")
        self._value_label.setBuddy(self.value_field)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(label)
        row.addWidget(self.border_box, 1)
        row.addWidget(self._value_label)
        row.addWidget(self.value_field)
        self.border_box.activated.connect(
            lambda index: workspace.change(border=Border(self.border_box.itemData(index)))
        )
        self.value_field.entered.connect(lambda value: workspace.change(cval=value))
        self.value_field.refused.connect(self.refused)
        self.value_field.typing.connect(self.typing)
        workspace.settings_changed.connect(self._show_settings)
        self._show_settings()

    def _show_settings(self) -> None:
        settings = self._workspace.settings
        self.border_box.setCurrentIndex(list(Border).index(settings.border))
        self.border_box.setToolTip(
            f"{settings.border.sentence}\nThe border says what the mask meets where it hangs over the picture's edge."
        )
        takes_value = settings.border.takes_value
        self.value_field.setEnabled(takes_value)
        self._value_label.setEnabled(takes_value)
        self.value_field.show_number(settings.cval)
        self.value_field.setToolTip(
            "The value of every cell outside the picture, in the picture's own numbers (255 is white at 8 bit)."
            if takes_value
            else "Only a constant border has a value; choose Constant to give one."
        )
