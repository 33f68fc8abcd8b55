"""The stages: a table of all of them with their runs, and the batch and device of the next ones."""

from PySide6.QtGui import QResizeEvent

from engine.tasks.network.problem import MAX_BATCH, SIMULATOR_BATCH
from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.network.network_state import NetworkState
from gui.runs.panel import RunsPanel
from gui.style.metrics import GRID, HALF_GRID, at_present_letters, digits_width, follow_letters
from gui.style.theme import theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.legend import Legend
from gui.widgets.number_box import NumberBox
from gui.widgets.panel_parts import column, label_for, row

_EMPTY = "The stages are listed here once the engine is ready."
_BATCH_TEACHES = (
    "How many drawings go through the network together: the held-out digits, repeated. The arrows go from 1 "
    "to 10,000 in powers of ten; what the memory cannot hold is refused."
)
_BUSY = "Stage, batch and device stay as they are during a run; Esc cancels it."
_SHOWN = {
    "kernel_p20_ms": False,
    "kernel_p80_ms": False,
    "end_to_end_median_ms": False,
    "error_bound": False,
    "max_error": False,
    "drawings_per_s": False,
    "network_gflops": False,
    # The name of a stage says it.
    "device": False,
    "speed_up": True,
}
_TYPICAL = {"variant": "■  network-implicit-gemm", "proof": "No NVIDIA driver"}
# With less height, letters of the usual size, there is no legend.
_LOW = 21 * GRID
# The arrows go through these.
_BATCH_DIGITS = 5
_BATCHES = (1, 10, 100, 1000, 10_000)


class StagesPanel(RunsPanel):
    """Edits `NetworkSettings`: the selected row is the stage that Run runs."""

    def __init__(self, network: NetworkState, engine_state: EngineState) -> None:
        super().__init__(network, _EMPTY, name="Stages of the network", shown=_SHOWN, typical=_TYPICAL)
        self._network = network
        wanted = f"a whole number from 1 to {MAX_BATCH:,}"
        self.batch = NumberBox("Batch", 1, MAX_BATCH, wanted, follows=_next_batch)
        self.device = DeviceBox(network, engine_state, f"Batches up to {SIMULATOR_BATCH}")
        self.note = ElidedLabel(small=True)
        self.legend = Legend("Colours of the layers")
        self._refusal = ""
        self._build()
        self.batch.valueChanged.connect(lambda: network.change(batch=self.batch.value()))
        self.batch.refused.connect(self._refuse)
        network.settling.connect(self._settle)
        for signal in (
            network.facts_changed,
            network.settings_changed,
            network.rows_changed,
            network.running_changed,
        ):
            signal.connect(self._show)
        theme_notifier().changed.connect(self._show_legend)
        self._show()

    def _build(self) -> None:
        # Its widest number is rare, and in the narrowest window the stages need the room.
        follow_letters(self.batch, lambda: self.batch.setMaximumWidth(digits_width(_BATCH_DIGITS) + 5 * GRID))
        self.device.setMinimumContentsLength(5)
        choices = row(
            label_for("Batc&h", self.batch), self.batch, label_for("De&vice", self.device), (self.device, 1),
            1, spacing=HALF_GRID,
        )  # fmt: skip
        line = row((self.note, 1), self.more, spacing=HALF_GRID)
        margins = (GRID, HALF_GRID, GRID, GRID)
        parts = choices, line, (self.stack, 1), self.legend
        self.setLayout(column(*parts, spacing=HALF_GRID, margins=margins))

    def _settle(self, refusals: list[str]) -> None:
        self._refuse("")
        self.batch.interpretText()
        if self._refusal:
            refusals.append(self._refusal)

    def _refuse(self, why: str) -> None:
        self._refusal = why
        self._show()

    def _show(self) -> None:
        network = self._network
        settings, is_idle = network.settings, not network.running
        busy = "" if is_idle else _BUSY
        self.batch.show_value(settings.batch)
        for control in (self.batch, self.device):
            control.setEnabled(is_idle)
        self.note.setText(self._refusal or busy or self.device.note or network.refusals)
        self.batch.setToolTip(f"{_BATCH_TEACHES} {busy}".strip())
        self._show_legend()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_legend()

    def _show_legend(self) -> None:
        entries = self._network.legend()
        self.legend.show_entries(entries)
        # In a low panel the rows need the room; their tooltips name the layers too.
        self.legend.setVisible(bool(entries) and self.height() >= at_present_letters(_LOW))


def _next_batch(batch: int, up: bool) -> int:
    if up:
        return next((one for one in _BATCHES if one > batch), batch)
    return next((one for one in reversed(_BATCHES) if one < batch), batch)
