"""The row over the picture: how original and result share the pane, the zoom, and how results are shown."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QComboBox, QHBoxLayout, QLabel, QToolButton, QWidget

from engine.image.convert import RANGE_MODES
from gui.explore.picture.view_mode import ViewMode
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, digits_width, number_font
from gui.widgets.panel_parts import ICON_BUTTON_SIDE, icon_button

_CLIPPED = (
    "The kernel writes results of the picture's own type, so they are clipped already.\n"
    "For the other ways, choose float32 as output type in the panel Kernel."
)


class PictureToolbar(QWidget):
    """Modes, zoom and range mode.

    Signals
    -------
    mode_chosen(str)
        A ViewMode.
    zoom_in_clicked(), zoom_out_clicked(), fit_clicked(), actual_clicked()
    """

    mode_chosen = Signal(str)
    zoom_in_clicked = Signal()
    zoom_out_clicked = Signal()
    fit_clicked = Signal()
    actual_clicked = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.mode_buttons = QButtonGroup(self)
        self.zoom_text = QLabel()
        self.range_box = QComboBox()
        self._range_label = QLabel("Display range")
        self._zoom_buttons: list[QToolButton] = []
        self._step_buttons: tuple[QToolButton, ...] = ()
        self._line = row = QHBoxLayout(self)
        row.setContentsMargins(GRID, HALF_GRID, GRID, HALF_GRID)
        row.setSpacing(HALF_GRID)
        self._add_modes(row)
        row.addSpacing(GRID)
        self._add_zoom(row)
        row.addStretch(1)
        self._add_range(row)
        self._width_with_label = self._line.minimumSize().width()
        self._range_label.hide()
        self._width_with_steps = self._line.minimumSize().width()
        self._show_steps(False)
        self._narrowest = self._line.minimumSize()
        workspace.settings_changed.connect(self._show_settings)
        workspace.picture_changed.connect(self._show_settings)
        self._show_settings()

    def show_mode(self, mode: ViewMode) -> None:
        """Mark the mode that is shown."""
        self.mode_buttons.button(list(ViewMode).index(mode)).setChecked(True)

    def show_zoom(self, zoom: float | None) -> None:
        """Show the zoom in per cent; None while there is no picture, and then there is nothing to switch."""
        for button in (*self.mode_buttons.buttons(), *self._zoom_buttons):
            button.setEnabled(zoom is not None)
        if zoom is None:
            self.zoom_text.setText("")
            return
        percent = 100.0 * zoom
        self.zoom_text.setText(f"{percent:.0f} %" if percent >= 10.0 else f"{percent:.1f} %")

    def minimumSizeHint(self) -> QSize:
        # Names beside the icons must not keep the pane from getting narrow again.
        return self._narrowest

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._name_modes(self.width())

    def _name_modes(self, width: int) -> None:
        """Write the names of the modes beside their icons where there is room for all of them."""
        self._range_label.setVisible(width >= self._width_with_label)
        # Where there is no room at all, the wheel and the keys + and - are left.
        self._show_steps(width >= self._width_with_steps)
        metrics = self.fontMetrics()
        buttons = self.mode_buttons.buttons()
        widths = [ICON_BUTTON_SIDE + GRID + metrics.horizontalAdvance(button.text()) for button in buttons]
        others = self._line.sizeHint().width() - sum(button.width() for button in buttons)
        has_room = others + sum(widths) <= width
        style = (
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon if has_room else Qt.ToolButtonStyle.ToolButtonIconOnly
        )
        for button, wide in zip(buttons, widths, strict=True):
            button.setFixedWidth(wide if has_room else ICON_BUTTON_SIDE)
            if isinstance(button, QToolButton):
                button.setToolButtonStyle(style)
        self._line.activate()

    def _show_steps(self, shown: bool) -> None:
        for button in self._step_buttons:
            button.setVisible(shown)

    def _add_modes(self, row: QHBoxLayout) -> None:
        for number, mode in enumerate(ViewMode):
            button = _button(mode.icon_name, mode.label, mode.sentence)
            button.setCheckable(True)
            self.mode_buttons.addButton(button, number)
            row.addWidget(button)
        self.mode_buttons.idClicked.connect(
            lambda number: self.mode_chosen.emit(list(ViewMode)[number].value)
        )
        self.show_mode(ViewMode.SPLIT)

    def _add_zoom(self, row: QHBoxLayout) -> None:
        self.zoom_text.setFont(number_font())
        # Wide enough for the largest zoom, so that the buttons beside it stay where they are.
        self.zoom_text.setFixedWidth(digits_width(7) + HALF_GRID)
        self.zoom_text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.zoom_text.setAccessibleName("Zoom")
        self.zoom_text.setToolTip("Zoom: at 100 % one pixel of the picture is one pixel of the screen.")
        smaller = _button(
            "zoom-out", "Zoom out", "Show more of the picture (key -, or the wheel around the cursor)."
        )
        larger = _button("zoom-in", "Zoom in", "Show pixels larger (key +, or the wheel around the cursor).")
        fit = _button("zoom-fit", "Fit", "Show the whole picture (key 0; double click switches).")
        actual = _button(
            "zoom-actual",
            "100 %",
            "One pixel of the picture as one pixel of the screen (key 1). Below 100 % pixels are averaged.",
        )
        for button, signal in (
            (smaller, self.zoom_out_clicked),
            (larger, self.zoom_in_clicked),
            (fit, self.fit_clicked),
            (actual, self.actual_clicked),
        ):
            button.clicked.connect(signal)
            self._zoom_buttons.append(button)
        self._step_buttons = (smaller, larger)
        for widget in (smaller, self.zoom_text, larger, fit, actual):
            row.addWidget(widget)

    def _add_range(self, row: QHBoxLayout) -> None:
        self._range_label.setBuddy(self.range_box)
        self.range_box.setAccessibleName("Display range")
        for key, sentence in RANGE_MODES.items():
            self.range_box.addItem(key.capitalize(), key)
            self.range_box.setItemData(self.range_box.count() - 1, sentence, Qt.ItemDataRole.ToolTipRole)
        self.range_box.activated.connect(
            lambda number: self._workspace.change(range_mode=self.range_box.itemData(number))
        )
        row.addWidget(self._range_label)
        row.addWidget(self.range_box)

    def _show_settings(self) -> None:
        self.range_box.setCurrentIndex(self.range_box.findData(self._workspace.range_mode))
        is_open = self._workspace.result_dtype == "float32"
        self.range_box.setEnabled(is_open)
        if not is_open:
            self.range_box.setToolTip(_CLIPPED)
            return
        lines = [f"{key.capitalize()}: {sentence}" for key, sentence in RANGE_MODES.items()]
        self.range_box.setToolTip(
            "How results below 0 or above full scale are shown (the numbers stay as they are):\n"
            + "\n".join(lines)
        )


def _button(icon_name: str, title: str, sentence: str) -> QToolButton:
    button = icon_button(icon_name, title, f"{title}: {sentence}")
    button.setText(title)
    # A click leaves the focus on the picture, whose keys go on working.
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
