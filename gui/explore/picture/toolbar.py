"""The rows over and under the picture: modes, zoom, display range; the values under the cursor."""

from collections.abc import Iterable
from functools import partial

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QComboBox, QLabel, QMenu, QToolButton, QWidget

from engine.geometry.border import RANGE_MODES
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.tiled import Numbers
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.style.metrics import GRID, HALF_GRID, digits_width, follow, follow_letters, number_font
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import (
    ICON_BUTTON_SIDE,
    ROUND_MARGINS,
    action_button,
    give_menu,
    icon_button,
    label_for,
    menu_icon_button,
    named,
    row,
)

# Modes with a button of their own; the others are in the menu.
_BUTTONS = (ViewMode.SPLIT, ViewMode.SIDE_BY_SIDE, ViewMode.ORIGINAL, ViewMode.RESULT)
# The icon of a mode, and what it shows.
_LOOKS = {
    ViewMode.SPLIT: (
        "compare", "One picture: the original left of the handle, the result right of it. Drag the handle."),
    ViewMode.SIDE_BY_SIDE: (
        "view-split-vertical", "Original and result beside each other, at the same place and zoom."),
    ViewMode.ORIGINAL: ("original", "The original alone."),
    ViewMode.RESULT: ("result", "The result alone."),
    ViewMode.DIFFERENCE: (
        "", "The result less the original: middle grey where they are equal, scaled to the largest "
        "difference."),
    ViewMode.ERROR: (
        "", "How far the result is from the float64 reference, in units of the rounding bound."),
}  # fmt: skip
_MORE_TIP = "Difference, error against the reference, single channels. Key B blinks original and result."
_ZOOM_TIP = "Zoom: at 100 % one pixel of the picture is one pixel of the screen."
_REGION_TIP = "Region: select a part of the picture (Shift and drag), to filter, measure or crop it."
_CLIPPED = (
    "The kernel writes results of the picture's own type, so they are clipped already.\n"
    "For the other ways, choose float32 as output type in the panel Kernel."
)
_RANGE = "Display range"
_SAME_TYPE = "An operation gives a picture of the same type: nothing lies out of range."
_RANGES = "How results below 0 or above full scale are shown (the numbers stay as they are):\n" + "\n".join(
    f"{key.capitalize()}: {sentence}" for key, sentence in RANGE_MODES.items()
)


class PictureToolbar(QWidget):
    """Modes, zoom and range mode."""

    mode_chosen = Signal(object)  # a ViewMode
    channel_chosen = Signal(object)  # the number of a channel; None for all

    def __init__(self, workspace: Workspace, actions: Actions) -> None:
        super().__init__()
        self._workspace = workspace
        self.mode_buttons = QButtonGroup(self)
        for number, mode in enumerate(_BUTTONS):
            title, (look, sentence) = mode.value.capitalize(), _LOOKS[mode]
            button = icon_button(look, title, f"{title}: {sentence}")
            button.setText(title)
            button.setCheckable(True)
            # A click leaves the focus, and the keys, with the picture.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self.mode_buttons.addButton(button, number)
        self.mode_buttons.idClicked.connect(lambda number: self.mode_chosen.emit(_BUTTONS[number]))
        self.mode_buttons.button(0).setChecked(True)
        self.zoom_text = named(QLabel(alignment=Qt.AlignmentFlag.AlignCenter), "Zoom", _ZOOM_TIP)
        self.zoom_text.setFont(number_font())
        zooms = smaller, larger, fit, actual = [
            action_button(actions[f"zoom_{name}"]) for name in ("out", "in", "fit", "actual")
        ]
        for zoom in zooms:
            zoom.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more = menu_icon_button("dots-horizontal", "More ways to look", _MORE_TIP)
        self.region = menu_icon_button("selection", "Region", _REGION_TIP)
        give_menu(self.more, self._more_menu())
        self._view_buttons = (*self.mode_buttons.buttons(), self.more, self.region)
        self.range_box = named(QComboBox(), _RANGE)
        for at, (key, sentence) in enumerate(RANGE_MODES.items()):
            self.range_box.addItem(key.capitalize(), key)
            self.range_box.setItemData(at, sentence, Qt.ItemDataRole.ToolTipRole)
        self._range_label = label_for(_RANGE, self.range_box)
        self.range_box.activated.connect(lambda: workspace.change(range_mode=self.range_box.currentData()))
        self._line = row(
            *self.mode_buttons.buttons(), self.more, self.region,
            smaller, self.zoom_text, larger, fit, actual, 1, self._range_label, self.range_box,
            spacing=HALF_GRID, margins=ROUND_MARGINS,
        )  # fmt: skip
        self._line.insertSpacing(len(_BUTTONS) + 2, HALF_GRID)
        self.setLayout(self._line)
        # What is shown where there is room, the most important first.
        self._parts = (
            self.zoom_text.setVisible,
            partial(_show, (smaller, larger)),
            self._range_label.setVisible,
            partial(_show_texts, (self.more,)),
            partial(_show_texts, self.mode_buttons.buttons()),
        )
        follow_letters(self, self._fit_letters)
        follow(self._show_settings, workspace.settings_changed, workspace.picture_changed)

    def _fit_letters(self) -> None:
        # Wide enough for the largest zoom, so that the buttons beside it stay where they are.
        self.zoom_text.setFixedWidth(digits_width(7) + HALF_GRID)
        for show in self._parts:
            show(False)
        self._narrowest = self._line.minimumSize()
        self.updateGeometry()
        self._fit_width()

    def show_mode(self, mode: ViewMode) -> None:
        self.mode_buttons.setExclusive(False)
        for button, shown in zip(self.mode_buttons.buttons(), _BUTTONS, strict=True):
            button.setChecked(shown is mode)
        self.mode_buttons.setExclusive(mode in _BUTTONS)
        for action in self._modes.actions():
            action.setChecked(action.data() == mode.name)
        self._show_more()

    def show_zoom(self, zoom: float | None) -> None:
        """Show the zoom in per cent; None while there is no picture, and then there is nothing to switch."""
        for button in self._view_buttons:
            button.setEnabled(zoom is not None)
        percent = 100.0 * (zoom or 0.0)
        text = f"{percent:.{0 if percent >= 10.0 else 1 if percent >= 1.0 else 2}f} %"
        self.zoom_text.setText(text if percent else "")

    def minimumSizeHint(self) -> QSize:
        # Names beside the icons must not keep the pane from getting narrow again.
        return self._narrowest

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_width()

    def _fit_width(self) -> None:
        """Leave out what there is no room for: the wheel and the keys + and - zoom too."""
        for show in self._parts:
            show(True)
        for show in reversed(self._parts):
            if self._line.minimumSize().width() <= self.width():
                break
            show(False)
        self._line.activate()

    def show_clipped(self, words: str) -> None:
        """Say beside the display range what of the result it clips; nothing where that is little."""
        if (words or _RANGE) == self._range_label.text():
            return
        self._range_label.setText(words or _RANGE)
        roles = QPalette.ColorRole
        self._range_label.setForegroundRole(roles.BrightText if words else roles.WindowText)
        self._fit_width()

    def _more_menu(self) -> QMenu:
        menu = QMenu()
        self._modes, self._channels = QActionGroup(menu), QActionGroup(menu)
        for mode in ViewMode:
            if mode not in _BUTTONS:
                self._add_choice(menu, self._modes, mode.value.capitalize(), _LOOKS[mode][1], mode.name)
        self._modes.setExclusionPolicy(QActionGroup.ExclusionPolicy.ExclusiveOptional)
        menu.addSeparator()
        for number, name in enumerate(("All channels", "Red alone", "Green alone", "Blue alone")):
            tip = "Show one channel of picture and result in grey." if number else "Show the colours."
            self._add_choice(menu, self._channels, name, tip, number - 1 if number else None)
        self._channels.actions()[0].setChecked(True)
        self._modes.triggered.connect(self._choose_mode)
        self._channels.triggered.connect(lambda action: self.channel_chosen.emit(action.data()))
        self._channels.triggered.connect(self._show_more)
        return menu

    def _choose_mode(self, action: QAction) -> None:
        # The name, since Qt gives a StrEnum back as a plain text.
        self.mode_chosen.emit(ViewMode[action.data()] if action.isChecked() else ViewMode.SPLIT)

    def _add_choice(self, menu: QMenu, group: QActionGroup, text: str, tip: str, data: object) -> None:
        action = QAction(text, menu, toolTip=tip, checkable=True)
        action.setData(data)
        menu.addAction(group.addAction(action))

    def _show_more(self) -> None:
        """Name what is chosen of the menu, so that it is seen where nothing else tells it."""
        chosen = [one for one in (*self._modes.actions(), *self._channels.actions()[1:]) if one.isChecked()]
        text = chosen[0].text().removesuffix(" alone") if chosen else ""
        self.more.setText(text)
        self.more.setToolTip(f"Shown: {text}. {_MORE_TIP}" if text else _MORE_TIP)
        self._fit_width()

    def _show_settings(self) -> None:
        box, workspace = self.range_box, self._workspace
        box.setCurrentIndex(box.findData(workspace.range_mode))
        box.setEnabled(workspace.can_leave_range)
        why_not = _CLIPPED if workspace.is_filtering else _SAME_TYPE
        box.setToolTip(_RANGES if box.isEnabled() else why_not)


def _show(parts: Iterable[QWidget], shown: bool) -> None:
    for part in parts:
        part.setVisible(shown)


def _show_texts(buttons: Iterable[QAbstractButton], shown: bool) -> None:
    """Write the text of each button beside its icon, if it has one, or leave it out."""
    for button in buttons:
        styles, text = Qt.ToolButtonStyle, button.text() if shown else ""
        wide = GRID + button.fontMetrics().horizontalAdvance(text) if text else 0
        button.setFixedWidth(ICON_BUTTON_SIDE + wide)
        if isinstance(button, QToolButton):
            button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if text else styles.ToolButtonIconOnly)


_POINT_HINT = "Point at the picture to read pixel values."
# As wide as a figure.
_BLANK = "\N{FIGURE SPACE}"
_PLACE = ("row", "col")


class Readout(ElidedLabel):
    """Row, column and the values of original and result, each at its own place, so that nothing jumps."""

    def __init__(self) -> None:
        super().__init__()
        self._values: Numbers | None = None
        self.result_name = "result"  # what the result is called from the next pixel on
        self.hint = ""  # what is shown from now on while the cursor is elsewhere; empty for the usual hint
        # What is shown ("row", "original", ...): how many numbers, and figures of each.
        self._places: dict[str, tuple[int, int]] = {}
        self.words = ""  # the line as it can be read: words and numbers from left to right
        self.setFont(number_font())
        follow_letters(self, lambda: self.setFixedHeight(self.fontMetrics().height() + 2))
        self.setAccessibleName("Values under the cursor")
        self.set_layout_for(None)

    def set_layout_for(self, values: Numbers | None) -> None:
        """Make room for the numbers of a picture."""
        self._values = values
        if values is not None:
            rows, columns, channels = values.shape
            figures = {np.dtype(np.uint8): 3, np.dtype(np.uint16): 5}.get(values.dtype, 8)
            self._places = {"row": (1, len(str(rows - 1))), "col": (1, len(str(columns - 1)))}
            self._places["original"] = channels, figures
            if values.alpha is not None:
                self._places["alpha"] = 1, figures
            self._places["result"] = channels, 8 if figures == 8 else figures + 3
        self.show_pixel(None)

    def show_pixel(self, pixel: tuple[int, int] | None) -> None:
        """Show the numbers of a pixel (row, column), or the hint while the cursor is elsewhere."""
        if pixel is None or self._values is None:
            self.words = (self.hint or _POINT_HINT) if self._values is not None else ""
            self.setText(self.words)
        else:
            parts = [self._part(key, pixel) for key in self._places]
            self.words = " ".join(" ".join(part).replace(_BLANK, "") for part in parts)
            lines = ["  ".join(" ".join(part) for part in parts), self.words]
            # In a pane too narrow for all, row and column are left out.
            lines.append(" ".join(self.words.split()[2 * len(_PLACE) :]))
            width_of = self.fontMetrics().horizontalAdvance
            self.setText(next((line for line in lines if width_of(line) <= self.width()), lines[-1]))
        self.setAccessibleDescription(self.words)

    def _part(self, key: str, pixel: tuple[int, int]) -> list[str]:
        """Return a name and its numbers, each in the room that it always has."""
        assert self._values is not None
        count, figures = self._places[key]
        if key in _PLACE:
            return [key, str(pixel[_PLACE.index(key)]).ljust(figures, _BLANK)]
        name = self.result_name if key == "result" else key
        numbers = self._values.texts(key, *pixel) or ("–",) * count
        return [name, *(one.rjust(figures, _BLANK) for one in numbers)]


class ReadoutStrip(QWidget):
    """Holds the line without a layout: the whole window would be laid out anew, 2 to 7 ms a mouse move."""

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        readout.setParent(self)
        self._readout = readout
        self.setFixedHeight(readout.height() + 2 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._readout.setGeometry(self.rect().adjusted(GRID, GRID, -GRID, -GRID))
