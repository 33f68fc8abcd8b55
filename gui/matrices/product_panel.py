"""What is multiplied: the sizes of M and N, the tiles, the device."""

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.device_info import SIMULATOR_SIDE
from engine.errors import EngineError
from engine.image.form import bytes_text
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import LARGEST_TILE, SMALLEST_TILE, as_tile
from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.matrices.matmul_state import LARGEST_SIDE, MatmulState
from gui.style.metrics import GRID, number_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.list_field import ListField
from gui.widgets.number_box import NumberBox, doubled
from gui.widgets.panel_parts import Refusal, column, form, quiet_label, scrolled

_EVERY = tuple(range(SMALLEST_TILE, LARGEST_TILE + 1))
_SETS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Doubling: 2, 4, 8, 16, 32", (2, 4, 8, 16, 32)),
    ("Whole warps: 8, 16, 24, 32", (8, 16, 24, 32)),
    ("The lecture's example: 16", (16,)),
    ("Every fourth: 4, 8, 12 … 32", tuple(range(4, LARGEST_TILE + 1, 4))),
    (f"Every tile: {SMALLEST_TILE} to {LARGEST_TILE}", _EVERY),
)


class TilesField(ListField):
    """Edits `MatmulSettings.tiles`."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__("tiles", _SETS, _read, lambda tiles: ", ".join(map(str, tiles)))
        self.field.setAccessibleName("Tiles, sides with commas")
        self.field.setToolTip(
            f"Sides of the square block of threads, {SMALLEST_TILE} to {LARGEST_TILE}, with commas: each is "
            "a row of the table and a point of the plot. For matmul-tiled also the tiles in shared memory."
        )
        self.chosen.connect(lambda tiles: matmul.change(tiles=tiles))
        matmul.settings_changed.connect(lambda settings: self.show_items(settings.tiles))
        matmul.settling.connect(self._settle)
        self.show_items(matmul.settings.tiles)

    def _settle(self, refusals: list[str]) -> None:
        self.take()
        if self.is_refused:
            refusals.append(self.refusal.text())


def _read(text: str) -> tuple[tuple[int, ...], str]:
    words = [word for word in text.replace(";", ",").split(",") if word.strip()]
    if not words:
        raise EngineError(f"Write at least one tile, {SMALLEST_TILE} to {LARGEST_TILE}.")
    return tuple(sorted({as_tile(word.strip()) for word in words})), ""


class ProductPanel(QWidget):
    """Edits `MatmulSettings`."""

    def __init__(self, matmul: MatmulState, engine_state: EngineState) -> None:
        super().__init__()
        self._matmul = matmul
        self.rows = _side_box("Rows", "Rows of M and of the product P.")
        self.inner = _side_box("Inner size", "Columns of M and rows of N: they must be equal.")
        self.columns = _side_box("Columns", "Columns of N and of the product P.")
        self._sides = self.rows, self.inner, self.columns
        self.square = QCheckBox("Square: all three alike")
        self.refusal = Refusal()
        self.facts = quiet_label(wraps=True)
        self.tiles = TilesField(matmul)
        self.device = DeviceBox(matmul, engine_state, f"Matrices up to {SIMULATOR_SIDE} × {SIMULATOR_SIDE}")
        self.device_note = ElidedLabel(most=2, small=True)
        self._build()
        for box in self._sides:
            box.valueChanged.connect(self._take)
            box.refused.connect(self.refusal.say)
        self.square.toggled.connect(lambda on: matmul.change(square=on))
        matmul.settling.connect(self._settle)
        matmul.settings_changed.connect(self._show)
        matmul.running_changed.connect(self._show)
        engine_state.ready_changed.connect(self._show)
        self._show()

    def _build(self) -> None:
        self.square.setToolTip("The lecture's matrices are square: inner size and columns follow the rows.")
        self.facts.setFont(number_font())
        fields = form(GRID)
        fields.addRow("Rows", self.rows)
        fields.addRow("Inner", self.inner)
        fields.addRow("Columns", self.columns)
        fields.addRow("", self.square)
        fields.addRow(self.refusal)
        fields.addRow(self.facts)
        fields.addRow("Tiles", self.tiles)
        fields.addRow("Device", self.device)
        fields.addRow(self.device_note)
        content = QWidget()
        content.setLayout(column(fields, 1, margins=(GRID, GRID, GRID, GRID)))
        # A low window scrolls the panel instead of growing.
        self.setLayout(column(scrolled(content)))

    def _settle(self, refusals: list[str]) -> None:
        self.refusal.say("")
        for box in self._sides:
            box.interpretText()
        if self.refusal.text():
            refusals.append(self.refusal.text())

    def _take(self) -> None:
        self.refusal.say("")
        self._matmul.change(product=MatrixProduct(*(box.value() for box in self._sides)))

    def _show(self) -> None:
        settings, is_idle = self._matmul.settings, not self._matmul.running
        product = settings.product
        sides = product.rows, product.inner, product.columns
        for box, side in zip(self._sides, sides, strict=True):
            box.show_value(side)
            box.setEnabled(is_idle and (box is self.rows or not settings.square))
        with QSignalBlocker(self.square):
            self.square.setChecked(settings.square)
        for control in (self.square, self.tiles, self.device):
            control.setEnabled(is_idle)
        self.facts.setText(_facts(product))
        self.device_note.setText(self.device.note)
        self.device_note.setVisible(bool(self.device.note))


def _side_box(name: str, teaches: str) -> NumberBox:
    wanted = f"a whole number from 1 to {LARGEST_SIDE}"
    box = NumberBox(f"{name} of the matrices", 1, LARGEST_SIDE, wanted, follows=doubled)
    box.setToolTip(
        f"{teaches} 1 to {LARGEST_SIDE}; it need not be a multiple of the tile. "
        "The arrows double and halve it."
    )
    return box


def _facts(product: MatrixProduct) -> str:
    factors = f"M {product.rows} × {product.inner} · N {product.inner} × {product.columns}"
    return f"{factors}\n{product.flops:,} operations · {bytes_text(product.bytes)}"
