"""The panel Doctor: the frequency response of the mask, and what is to be said of it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from gui.explore.doctor.doctor_state import DoctorState
from gui.explore.doctor.doctor_words import findings, gain_text
from gui.plots.response_plot import ResponsePlot
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    column,
    folding_row,
    icon_button,
    quiet_label,
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


class DoctorPanel(QWidget):
    """Shows the examination of the mask. Its plot is why it is made when it is first looked at."""

    def __init__(self, doctor: DoctorState) -> None:
        super().__init__()
        self._doctor = doctor
        self.plot = ResponsePlot()
        self.split_button = QPushButton("Split into two steps")
        self.copy_button = icon_button("copy", "Copy row and column", _COPY_TIP)
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(HALF_GRID)
        self._grid.setColumnStretch(1, 1)
        facts = QWidget()
        buttons = row(self.split_button, self.copy_button, 1)
        facts.setLayout(column(buttons, self._grid, 1, spacing=GRID))
        # Scrolled alone, so that the picture stays in view.
        halves = folding_row((self.plot, 2), (scrolled(facts), 3), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        self.setLayout(column(halves, margins=PANEL_MARGINS))
        self.setAccessibleName("Mask doctor")
        self.split_button.clicked.connect(doctor.split)
        self.copy_button.clicked.connect(doctor.copy_factors)
        doctor.changed.connect(self._show)
        self._show()

    @property
    def shown(self) -> dict[str, str]:
        """What is found, by its names."""
        return {name.text(): text.text() for name, text in self._labels if not name.isHidden()}

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
        found = findings(known, workspace.settings.border, shape)
        for at in range(len(self._labels), len(found)):
            name, text = quiet_label(small=True), quiet_label(small=True, wraps=True)
            text.setForegroundRole(QPalette.ColorRole.WindowText)
            for label in (name, text):
                label.setAlignment(Qt.AlignmentFlag.AlignTop)
            # Whole, however many lines that takes: the panel scrolls.
            policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            policy.setHeightForWidth(True)
            text.setSizePolicy(policy)
            self._labels.append((name, text))
            self._grid.addWidget(name, at, 0)
            self._grid.addWidget(text, at, 1)
        for at, (name, text) in enumerate(self._labels):
            for label in (name, text):
                label.setVisible(at < len(found))
                label.setEnabled(not self._doctor.is_earlier)
        for (name, text), one in zip(self._labels, found, strict=False):
            name.setText(one.name)
            text.setText(one.text)
            text.setAccessibleName(f"{one.name}: {one.text}")
            for label in (name, text):
                label.setToolTip(f"{one.text}\n\n{one.tip}")
        self.plot.show_response(known.response, gain_text(known), is_earlier=self._doctor.is_earlier)
