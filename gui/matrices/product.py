"""The product of the page Matrices: its settings, what runs it, its panel, and what the lecture says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QFrame, QTextBrowser, QWidget

from engine.course.paper import Figure, Series
from engine.device_info import AUTO, SIMULATOR, SIMULATOR_SIDE
from engine.errors import EngineError
from engine.process import bytes_text
from engine.results.columns import KERNEL
from engine.results.metrics import number_of
from engine.results.text_forms import digits_text
from engine.tasks.product.problem import (
    BYTES_PER_ACCESS,
    LARGEST_TILE,
    LECTURE_BANDWIDTH_GB_S,
    LECTURE_DEVICE,
    PRINTED_GFLOPS_TILE_16,
    SMALLEST_TILE,
    MatrixProduct,
    ProductResult,
    as_tile,
    bandwidth_limited_gflops,
    tile_of,
)
from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.runs.state import RunsState
from gui.style.metrics import GRID, follow, number_font
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.typed_json import Reading, Table
from gui.widgets.fields import ListField, NumberBox, doubled
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import RefusalLabel, boxed, column, form, named, quiet_label, scrolled

# Three matrices of this side take 0.8 GB, and NumPy's float64 verifies a part of them within seconds.
LARGEST_SIDE = 8192
# The simulator does these at once.
SMALL_SIDE, SMALL_TILES = 16, (2, 4, 8)
_FIRST_PRODUCT = MatrixProduct(1024, 1024, 1024)

_Side = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_SIDE)]
_Tile = Annotated[int, msgspec.Meta(ge=SMALLEST_TILE, le=LARGEST_TILE)]
# What a session keeps beside the runs.
_PART = {
    "product": tuple[_Side, _Side, _Side],
    "square": bool,
    "tiles": Annotated[list[_Tile], msgspec.Meta(min_length=1, max_length=LARGEST_TILE)],
    "device": str,
}
_SIDES = "rows", "inner", "columns"
Cell = tuple[str, int | None]
"""The key of a variant, and its tile."""


@dataclass(frozen=True, slots=True)
class MatmulSettings:
    """The product, the tiles and the device; where it is `square`, all sides follow the rows."""

    product: MatrixProduct = _FIRST_PRODUCT
    square: bool = True
    tiles: tuple[int, ...] = (4, 8, 16, 32)
    device: str = AUTO

    def __post_init__(self) -> None:
        side = self.product.rows
        if self.square:
            object.__setattr__(self, "product", MatrixProduct(side, side, side))

    @property
    def problem(self) -> MatrixProduct:
        return self.product


class MatmulState(RunsState[MatmulSettings]):
    """Settings, and a row for each variant with each tile."""

    def __init__(self) -> None:
        super().__init__(MatmulSettings(), "numpy", ("variant", "tile", KERNEL))
        self.loaded: Cell | None = None
        self.settings_changed.connect(lambda: self._load(None))

    def load(self, variant: str, tile: int) -> None:
        """Choose the tile of a paper's kernel alone, and mark that kernel until something else is chosen."""
        self.change(tiles=(tile,))
        self._load((variant, tile))

    def try_small(self) -> None:
        """Choose a product that the simulator does at once."""
        small = MatrixProduct(SMALL_SIDE, SMALL_SIDE, SMALL_SIDE)
        self.change(product=small, tiles=SMALL_TILES, device=SIMULATOR)

    def is_marked(self, row: ProductResult) -> bool:
        return (row.variant, tile_of(row)) == self.loaded

    def own_part(self) -> Table:
        settings = self.settings
        sides = [getattr(settings.product, side) for side in _SIDES]
        parts = {"square": settings.square, "tiles": settings.tiles, "device": settings.device}
        return {"product": sides, **parts}

    def take_own_part(self, part: Table, reading: Reading) -> None:
        fields = reading.fields(part, _PART)
        if "product" in fields:
            fields["product"] = MatrixProduct(*fields["product"])
        if "tiles" in fields:
            fields["tiles"] = tuple(sorted(set(fields["tiles"])))
        self.change(**fields)

    def _load(self, loaded: Cell | None) -> None:
        if loaded != self.loaded:
            self.loaded = loaded
            self.mark()


_EVERY = tuple(range(SMALLEST_TILE, LARGEST_TILE + 1))
_SETS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Doubling: 2, 4, 8, 16, 32", (2, 4, 8, 16, 32)),
    ("Whole warps: 8, 16, 24, 32", (8, 16, 24, 32)),
    ("The lecture's example: 16", (16,)),
    ("Every fourth: 4, 8, 12 … 32", tuple(range(4, LARGEST_TILE + 1, 4))),
    (f"Every tile: {SMALLEST_TILE} to {LARGEST_TILE}", _EVERY),
)


_TILES_TIP = (
    f"Sides of the square block of threads, {SMALLEST_TILE} to {LARGEST_TILE}, with commas: each is a row of "
    "the table and a point of the plot. For matmul-tiled also the tiles in shared memory."
)


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
        self.refusal = RefusalLabel()
        self.facts = quiet_label(wraps=True)
        self.tiles = ListField("tiles", _SETS, _read, lambda tiles: ", ".join(map(str, tiles)))
        named(self.tiles.field, "Tiles, sides with commas", _TILES_TIP)
        self.tiles.chosen.connect(lambda tiles: matmul.change(tiles=tiles))
        self.device = DeviceBox(matmul, engine_state, f"Matrices up to {SIMULATOR_SIDE} × {SIMULATOR_SIDE}")
        self.device_note = ElidedLabel(most=2, small=True)
        self.square.setToolTip("The lecture's matrices are square: inner size and columns follow the rows.")
        self.facts.setFont(number_font())
        fields = form(GRID)
        for title, box in zip(("Rows", "Inner", "Columns", ""), (*self._sides, self.square), strict=True):
            fields.addRow(title, box)
        fields.addRow(self.refusal)
        fields.addRow(self.facts)
        fields.addRow("Tiles", self.tiles)
        fields.addRow("Device", self.device)
        fields.addRow(self.device_note)
        # A low window scrolls the panel instead of growing.
        self.setLayout(column(scrolled(boxed(column(fields, 1, margins=GRID)))))
        for box in self._sides:
            box.valueChanged.connect(self._take)
            box.refused.connect(self.refusal.say)
        self.square.toggled.connect(lambda on: matmul.change(square=on))
        matmul.entering.connect(self._enter)
        follow(self._show, matmul.settings_changed, matmul.running_changed, engine_state.ready_changed)

    def _enter(self, refusals: list[str]) -> None:
        self.refusal.say("")
        for box in self._sides:
            box.interpretText()
        self.tiles.take()
        refusals += filter(None, (self.refusal.text(), self.tiles.refusal.text()))

    def _take(self) -> None:
        self.refusal.say("")
        self._matmul.change(product=MatrixProduct(*(box.value() for box in self._sides)))

    def _show(self) -> None:
        settings, is_idle = self._matmul.settings, not self._matmul.running
        for box, side in zip(self._sides, _SIDES, strict=True):
            box.show_value(getattr(settings.product, side))
            box.setEnabled(is_idle and (box is self.rows or not settings.square))
        self.tiles.show_items(settings.tiles)
        with QSignalBlocker(self.square):
            self.square.setChecked(settings.square)
        for control in (self.square, self.tiles, self.device):
            control.setEnabled(is_idle)
        product = settings.product
        factors = f"M {product.rows} × {product.inner} · N {product.inner} × {product.columns}"
        self.facts.setText(f"{factors}\n{product.flops:,} operations · {bytes_text(product.bytes)}")
        self.device_note.say(self.device.note)


def _side_box(name: str, teaches: str) -> NumberBox:
    wanted = f"a whole number from 1 to {LARGEST_SIDE}"
    box = NumberBox(f"{name} of the matrices", 1, LARGEST_SIDE, wanted, follows=doubled)
    box.setToolTip(
        f"{teaches} 1 to {LARGEST_SIDE}; it need not be a multiple of the tile. "
        "The arrows double and halve it."
    )
    return box


_LECTURE_TILE = 16
_LIMIT = "bandwidth_limit_gflops"


class LecturePanel(QTextBrowser):
    """CGMA, the limit that bandwidth sets, and why a device may do better."""

    def __init__(self, matmul: MatmulState, engine_state: EngineState) -> None:
        super().__init__()
        self._matmul, self._engine_state = matmul, engine_state
        self.setFrameShape(QFrame.Shape.NoFrame)
        # The ground is that of the panel.
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName("What the lecture says")
        follow(self._show, matmul.settings_changed, engine_state.ready_changed, theme_notifier().changed)

    def _show(self) -> None:
        bandwidths, chosen = [(LECTURE_DEVICE, LECTURE_BANDWIDTH_GB_S)], self._matmul.settings.device
        # Of the device that is chosen; of the first one for Automatic.
        for device in self._engine_state.devices:
            if device.bandwidth_gb_s is not None and chosen in (AUTO, device.key):
                bandwidths.append((device.title, device.bandwidth_gb_s))
                break
        self.setHtml(_lecture_html(current_theme(), bandwidths))


def _lecture_html(theme: Theme, bandwidths: Sequence[tuple[str, float]]) -> str:
    rows = "".join(_row(name, bandwidth) for name, bandwidth in bandwidths)
    formula = f"GFLOPS ≤ bandwidth ÷ {BYTES_PER_ACCESS} bytes × CGMA"
    close = f"margin-top: {GRID}px; margin-bottom: {GRID}px;"
    return f"""
<p style="{close}"><b>CGMA</b>, compute to global memory access: operations per load from global memory.</p>
<p style="{close}"><b>matmul-naive</b> loads an element of M and one of N for a multiplication and an
addition: CGMA&nbsp;1.</p>
<p style="{close}"><b>matmul-tiled</b> shares each loaded element among the T threads of a row or column of
its T&nbsp;x&nbsp;T block: CGMA&nbsp;T.</p>
<p style="{close}">Memory feeds no more operations than</p>
<p style="{close} background:{theme.raised}"><b>&nbsp;{formula}</b></p>
<table cellspacing="0" cellpadding="3">
<tr style="color:{theme.muted}"><td></td><td align="right">&nbsp;GB/s</td><td align="right">&nbsp;naive</td>
<td align="right">&nbsp;T = {_LECTURE_TILE}</td></tr>{rows}</table>
<p style="{close}">The lecture prints {PRINTED_GFLOPS_TILE_16:g} for T = {_LECTURE_TILE}, a misprint.</p>
<p style="{close}">Caches are left out: where L1 and L2 serve most loads, a kernel reaches more. With large
tiles it is shared memory and arithmetic that limit it.</p>
<p style="{close} color:{theme.muted}">COSC 407, CUDA Memories and Performance Revisited.</p>"""


def _row(name: str, bandwidth_gb_s: float) -> str:
    cells = (
        digits_text(bandwidth_gb_s, 3 if bandwidth_gb_s < 100 else 4),
        digits_text(bandwidth_limited_gflops(1.0, bandwidth_gb_s), 3),
        digits_text(bandwidth_limited_gflops(float(_LECTURE_TILE), bandwidth_gb_s), 4),
    )
    return f"<tr><td>{name}</td>{''.join(f'<td align=right>&nbsp;&nbsp;{cell}</td>' for cell in cells)}</tr>"


def tile_figure(rows: Sequence[ProductResult]) -> Figure:
    """Return the figure of a product's rows; limits are of this device's bandwidth, else the lecture's."""
    variants = list(dict.fromkeys(row.variant for row in rows if tile_of(row) is not None))
    tiles = [float(tile) for row in rows if (tile := tile_of(row))]
    measured = [_curve(rows, variant, "gflops") for variant in variants]
    for row in rows:
        rate = number_of(row, "gflops")
        if tile_of(row) is None and rate is not None and tiles:
            measured.append(Series(row.title, (min(tiles), max(tiles)), (rate, rate), row.variant))
    known = any(number_of(row, _LIMIT) is not None for row in rows)
    limits = [_curve(rows, variant, _LIMIT if known else "lecture_limit_gflops") for variant in variants]
    title = "Tiling size effects"
    return Figure(title, "side of the tile", "GFLOPS", tuple(measured), tuple(limits), log_y=True)


def limit_words(rows: Sequence[ProductResult]) -> str:
    """Return what the dashed lines are."""
    here = next((row.environment.bandwidth_gb_s for row in rows if row.environment.bandwidth_gb_s), None)
    return f"limit at {here or LECTURE_BANDWIDTH_GB_S:,.4g} GB/s"


def _curve(rows: Sequence[ProductResult], variant: str, key: str) -> Series:
    of_variant = [row for row in rows if row.variant == variant]
    points = [(float(tile), number_of(row, key)) for row in of_variant if (tile := tile_of(row))]
    return Series(variant, tuple(x for x, _ in points), tuple(y for _, y in points), variant)
