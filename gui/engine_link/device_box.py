"""The choice of a device, and of the machine that computes; what cannot be used is grey and says why."""

from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QIcon, QKeyEvent, QPixmap, QStandardItem, QStandardItemModel

from engine.device_info import AUTO, SIMULATOR, DeviceInfo
from gui.engine_link.engine_state import LOST, EngineState
from gui.style.icons import icon
from gui.style.metrics import GRID, follow
from gui.widgets.panel_parts import NarrowBox

_SIMULATOR_TEACHES = (
    "The simulator interprets the instructions that a GPU would execute, checks every access to memory and "
    "finds races. Its times mean nothing and are never shown as speed."
)
_HERE = "This computer"
_ANOTHER = "Another machine…"
_SERVER_TIP = "Compute on {}, with its {}. Pictures and results stay."
_ANOTHER_TIP = "Compute on a machine that ssh reaches, such as one with a GPU."
# What an entry means beside the key of a device: the place of a machine in the list of them.
_MACHINE = Qt.ItemDataRole.UserRole + 1
OFFER = "There is no GPU here: View > Recorded GPU (Ctrl+G) shows what another machine's GPU measured."
"""What a panel without figures of a GPU says where there is none."""
_AUTO_NOTE = "A CUDA device if one works here, else the CPU."


class DeviceBox(NarrowBox):
    """Chooses the device of a page.

    `workspace` is the state of a page: `settings.device`, `change(device=...)` and the signal
    `settings_changed`. The page shows `note` while the simulator is chosen, which takes `simulated`.
    """

    def __init__(
        self, workspace: Any, engine_state: EngineState, simulated: str = "Pictures up to 2 megapixels"
    ) -> None:
        super().__init__("Device", "", 12)
        self._workspace = workspace
        self._simulator_note = f"{simulated}; no speeds."
        self._engine_state = engine_state
        self._is_stepping = False
        self._items = QStandardItemModel(self)
        self.setModel(self._items)
        self.activated.connect(self._choose)
        workspace.settings_changed.connect(self._show_choice)
        follow(self._fill, engine_state.ready_changed, engine_state.servers_changed)

    @property
    def note(self) -> str:
        """A warning about the chosen device, always visible; empty where there is none."""
        key = self._workspace.settings.device
        if key == AUTO:
            return ""
        device = self._engine_state.device(key)
        if device is None:
            return "" if not self._engine_state.devices else f"There is no device {key} here. Choose another."
        if not device.available:
            return str(device.reason)
        return self._simulator_note if key == SIMULATOR else ""

    def _choose(self, position: int) -> None:
        state, number = self._engine_state, self.itemData(position, _MACHINE)
        if number is None:
            state.chosen_device = self.itemData(position)
            self._workspace.change(device=self.itemData(position))
            return
        self._show_choice()
        machines = [None, *state.servers]
        if self._is_stepping:
            # Keys that step through a closed list must not connect.
            return
        if number == len(machines):
            state.another_wanted.emit()
        elif machines[number] != state.machine or state.status == LOST:
            state.machine_wanted.emit(machines[number])

    def _fill(self) -> None:
        with QSignalBlocker(self):
            self._items.clear()
            self._items.appendRow(_item("Automatic", AUTO, _AUTO_NOTE))
            for device in self._engine_state.devices:
                about = " (no speed)" if device.key == SIMULATOR else ""
                text = f"{device.title}{about if device.available else ' (not available)'}"
                self._items.appendRow(_item(text, device.key, self._tooltip(device), device.available))
            self._append_machines()
        self._show_choice()

    def _append_machines(self) -> None:
        state = self._engine_state
        self.insertSeparator(self._items.rowCount())
        # Names stand below one another, with the mark or without.
        blank = QPixmap(2 * GRID, 2 * GRID)
        blank.fill(Qt.GlobalColor.transparent)
        servers = ((one.title, _SERVER_TIP.format(one.title, one.python), one) for one in state.servers)
        machines = ((_HERE, "Compute here.", None), *servers, (_ANOTHER, _ANOTHER_TIP, _ANOTHER))
        for number, (title, tip, machine) in enumerate(machines):
            is_used = machine == state.machine
            item = _item(title, "", tip)
            item.setData(number, _MACHINE)
            font = item.font()
            font.setBold(is_used)
            item.setFont(font)
            item.setIcon(icon("check") if is_used else QIcon(blank))
            self._items.appendRow(item)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._is_stepping = True
        super().keyPressEvent(event)
        self._is_stepping = False

    def _show_choice(self) -> None:
        key = self._workspace.settings.device
        position = self.findData(key)
        with QSignalBlocker(self):
            if position < 0:
                # The session is from another machine, or the engine is not ready yet.
                missing = _item(key, key, f"{key} is not here.", available=False)
                self._items.insertRow(1 + len(self._engine_state.devices), missing)
                position = self.findData(key)
            self.setCurrentIndex(position)
        tooltip = self.itemData(position, Qt.ItemDataRole.ToolTipRole)
        self.setToolTip(f"Where it is computed. {tooltip}")

    def _tooltip(self, device: DeviceInfo) -> str:
        if not device.available:
            return f"{device.title} cannot be used. {device.reason}"
        if device.key == SIMULATOR:
            return f"{_SIMULATOR_TEACHES} {self._simulator_note}"
        return "\n".join([device.title, *(f"{name}: {value}" for name, value in device.facts.items())])


def _item(text: str, key: str, tooltip: str, available: bool = True) -> QStandardItem:
    item = QStandardItem(text)
    item.setData(key, Qt.ItemDataRole.UserRole)
    item.setToolTip(tooltip)
    item.setEnabled(available)
    return item
