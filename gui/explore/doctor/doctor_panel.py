"""The panel Doctor: the frequency response of the mask, and what is to be said of it."""

from PySide6.QtWidgets import QPushButton, QWidget

from gui.explore.doctor.doctor_state import DoctorState
from gui.explore.doctor.doctor_words import findings, gain_text
from gui.plots.response_plot import ResponsePlot
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.findings import Findings
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    column,
    folding_row,
    icon_button,
    row,
    scrolled,
)

_SPLIT_TIP = (
    "Two steps in the place of this one: its column, and then its row with the result. Up to rounding "
    "and the border they give the same with fewer multiply-adds. It can be undone."
)
_COPY_TIP = "Copy the column and the row as text."
_NOT_SEPARABLE = "Only a separable mask is the product of one column and one row."
# With less width the facts stand below the picture.
_BESIDE_FROM = 48 * GRID
_LINES = 4


class DoctorPanel(QWidget):
    """Shows the examination of the mask. Its plot is why it is made when it is first looked at."""

    def __init__(self, doctor: DoctorState) -> None:
        super().__init__()
        self._doctor = doctor
        self.plot = ResponsePlot()
        self.split_button = QPushButton("Split into two steps")
        self.copy_button = icon_button("copy", "Copy row and column", _COPY_TIP)
        self.findings = Findings("What is known of the mask", _LINES, HALF_GRID)
        facts = QWidget()
        buttons = row(self.split_button, self.copy_button, 1)
        facts.setLayout(column(buttons, self.findings, 1, spacing=GRID))
        # Scrolled alone, so that the picture stays in view.
        halves = folding_row((self.plot, 2), (scrolled(facts), 3), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        self.setLayout(column(halves, margins=PANEL_MARGINS))
        self.setAccessibleName("Mask doctor")
        self.split_button.clicked.connect(doctor.split)
        self.copy_button.clicked.connect(doctor.copy_factors)
        doctor.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        known, workspace = self._doctor.examination, self._doctor.workspace
        for widget in (self.split_button, self.copy_button):
            widget.setEnabled(known is not None and known.factors is not None)
        self.split_button.setToolTip(_SPLIT_TIP if self.split_button.isEnabled() else _NOT_SEPARABLE)
        self.copy_button.setToolTip(_COPY_TIP if self.copy_button.isEnabled() else _NOT_SEPARABLE)
        if known is None:
            return
        picture = workspace.picture
        shape = (picture.height, picture.width, picture.channels) if picture is not None else None
        self.findings.show_findings(findings(known, workspace.settings.border, shape))
        self.findings.setEnabled(not self._doctor.is_earlier)
        self.plot.show_response(known.response, gain_text(known), is_earlier=self._doctor.is_earlier)
