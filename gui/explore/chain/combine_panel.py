"""In the mask's place: how a step makes one of two results."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QSlider, QWidget

from engine.work.steps import HOW
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.fields import NumberBox
from gui.widgets.panel_parts import Refusal, column, fill_box, form, label_for, quiet_label, row

_MOST = 100.0
# The slider covers what is used; the field takes all.
_SLID, _PER_UNIT = 2, 100
_TIP = (
    "How much of the second result: 0 is the first alone, 1 the second alone. Below 0 and above 1 it "
    "exaggerates: -0.8 adds 0.8 times the difference."
)


class CombinePanel(QWidget):
    """Edits the parameters of the selected step, which combines two results."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.how = QComboBox()
        self.how.setAccessibleName("How two results are combined")
        self.how.setToolTip("What becomes of each pair of samples.")
        fill_box(self.how, {key: key.capitalize() for key in HOW}, None)
        self.about = quiet_label(wraps=True, small=True)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(-_SLID * _PER_UNIT, _SLID * _PER_UNIT)
        self.slider.setAccessibleName("Weight of the second result")
        self.field = NumberBox(
            "Weight of the second result", -_MOST, _MOST, "a number from -100 to 100", decimals=3
        )
        self.field.setSingleStep(0.1)
        for part in (self.slider, self.field):
            part.setToolTip(_TIP)
        self.refusal = Refusal()
        fields = form()
        fields.addRow(label_for("Combine by", self.how), self.how)
        self._weight = QWidget()
        self._weight.setLayout(row(label_for("Weight", self.field), (self.slider, 1), self.field))
        self.setLayout(
            column(
                fields,
                self.about,
                self._weight,
                self.refusal,
                1,
                spacing=GRID,
                margins=(GRID, HALF_GRID, GRID, GRID),
            )
        )
        self.setAccessibleName("Combine panel")
        self.how.activated.connect(lambda at: workspace.set_parameter("how", self.how.itemData(at)))
        self.slider.valueChanged.connect(lambda at: workspace.set_parameter("weight", at / _PER_UNIT))
        self.field.valueChanged.connect(lambda: workspace.set_parameter("weight", self.field.value()))
        self.field.refused.connect(self.refusal.say)
        workspace.settings_changed.connect(self._show)
        workspace.operation_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        given = self._workspace.settings.parameters
        how, weight = given.get("how", "add"), float(given.get("weight", 0.5))
        self.how.setCurrentIndex(self.how.findData(how))
        self.about.setText(f"{HOW.get(how, '').capitalize()}.")
        self._weight.setVisible(how == "blend")
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(weight * _PER_UNIT))
        self.field.show_value(weight)
        self.refusal.say("")
