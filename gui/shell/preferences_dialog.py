"""The preferences as a dialog: what is changed shows at once and is kept."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QTabWidget, QWidget

from gui.page.actions import Actions
from gui.shell.keys import KeysTable
from gui.shell.preferences import LETTERS, PreferencesController
from gui.style.metrics import GRID
from gui.widgets.number_box import NumberBox
from gui.widgets.panel_parts import close_box, column, form, quiet_label

_MARGINS = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
# Every widget is laid out anew: not for each digit that is typed.
_LETTERS_AFTER_MS = 60


class PreferencesDialog(QDialog):
    """Two tabs: how the window looks, and the keys of its commands. Esc closes; nothing waits for an OK."""

    def __init__(self, controller: PreferencesController, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.theme = QComboBox()
        self.theme.setAccessibleName("Theme")
        self.theme.setToolTip("Light, dark, or as the desktop is.")
        self._themes = controller.themes.actions()
        for action in self._themes:
            self.theme.addItem(action.iconText(), action.data())
        self.theme.activated.connect(lambda at: self._themes[at].trigger())
        controller.themes.triggered.connect(self._show_theme)
        self.letters = NumberBox("Letter size", *LETTERS, f"a whole number from {LETTERS[0]} to {LETTERS[1]}")
        self.letters.setSuffix(" %")
        self.letters.setSingleStep(10)
        self.letters.setToolTip(f"Size of all letters, {LETTERS[0]} to {LETTERS[1]} % of the desktop's.")
        self.letters.setValue(controller.preferences.letters)
        self._letters_timer = QTimer(self, singleShot=True, interval=_LETTERS_AFTER_MS)
        self._letters_timer.timeout.connect(lambda: controller.choose_letters(self.letters.value()))
        self.letters.valueChanged.connect(self._letters_timer.start)
        self.refusal = quiet_label(wraps=True)
        self.letters.refused.connect(self.refusal.setText)
        self.recorded = _check(actions["show_recorded"], "Show recorded figures of a &GPU")
        look = QWidget()
        fields = form(GRID)
        fields.addRow("&Theme", self.theme)
        fields.addRow("&Letter size", self.letters)
        fields.addRow("", self.recorded)
        look.setLayout(column(fields, self.refusal, 1, margins=_MARGINS))
        self.keys = KeysTable(actions)
        self.keys.changed.connect(controller.choose_keys)
        keys = QWidget()
        keys.setLayout(column(self.keys, margins=_MARGINS))
        self.tabs = QTabWidget()
        self.tabs.addTab(look, "&Appearance")
        self.tabs.addTab(keys, "&Keys")
        self.setLayout(column((self.tabs, 1), close_box(self), spacing=2 * GRID, margins=_MARGINS))
        self._show_theme()
        self.resize(80 * GRID, 66 * GRID)

    def _show_theme(self) -> None:
        self.theme.setCurrentIndex([action.isChecked() for action in self._themes].index(True))


def _check(action: QAction, text: str) -> QCheckBox:
    """Return a box that follows an action, and the other way."""
    box = QCheckBox(text)
    box.setToolTip(action.toolTip())
    box.setChecked(action.isChecked())
    box.toggled.connect(action.setChecked)
    action.toggled.connect(box.setChecked)
    return box
