"""The state of the page Matrices: the product that was chosen, and a row per variant and tile."""

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO, SIMULATOR
from engine.results.columns import KERNEL
from engine.results.compare import compared
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.results import ProductResult, tile_of
from gui.widgets.runs_model import RunsModel

# Three matrices of this side take 0.8 GB, and NumPy's float64 verifies a part of them within seconds.
LARGEST_SIDE = 8192
# The largest that the simulator takes is 64; these are done within seconds.
SMALL_SIDE, SMALL_TILES = 16, (2, 4, 8)
_FIRST_PRODUCT = MatrixProduct(1024, 1024, 1024)
_FIRST_COLUMNS = ("variant", "tile", KERNEL)

Cell = tuple[str, int | None]
"""The key of a variant, and its tile."""


@dataclass(frozen=True, slots=True)
class MatmulSettings:
    """The product, the tiles and the device; where it is `square`, all sides follow the rows."""

    product: MatrixProduct = _FIRST_PRODUCT
    square: bool = True
    tiles: tuple[int, ...] = (4, 8, 16, 32)
    device: str = AUTO


class MatmulState(QObject):
    """Settings, and a row for each variant with each tile."""

    settings_changed = Signal(object)  # the new MatmulSettings
    # `rows`, `running` or `loaded` changed.
    rows_changed = Signal()
    running_changed = Signal()
    loaded_changed = Signal()
    count_wanted = Signal()  # the page is shown: its rows are to be counted
    # Editors are to take what was typed but not entered; one that cannot appends why to this list.
    settling = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.running = False
        self.loaded: Cell | None = None
        self.last: ProductResult | None = None
        self._settings = MatmulSettings()
        self._counted: tuple[ProductResult, ...] = ()
        self._measured: dict[Cell, ProductResult] = {}

    @property
    def settings(self) -> MatmulSettings:
        return self._settings

    @property
    def rows(self) -> tuple[ProductResult, ...]:
        """The result of each cell: measured where it has run, else counted."""
        return tuple(self._measured.get((row.variant, tile_of(row)), row) for row in self._counted)

    @property
    def has_runs(self) -> bool:
        """Whether a cell has been run."""
        return bool(self._measured)

    @property
    def runnable(self) -> tuple[ProductResult, ...]:
        """The counted rows of the cells that can run here."""
        return tuple(row for row in self._counted if not row.failure)

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `state.change(tiles=(8, 16))`."""
        settings = replace(self._settings, **fields)  # type: ignore[arg-type]
        if settings.square:
            side = settings.product.rows
            settings = replace(settings, product=MatrixProduct(side, side, side))
        if settings == self._settings:
            return
        before, self._settings = self._settings, settings
        self._mark(None)
        if (settings.product, settings.device) != (before.product, before.device):
            # Counted anew in a moment; what was measured is about another product or device.
            self._counted, self._measured = (), {}
            self.rows_changed.emit()
        self.settings_changed.emit(settings)

    def load(self, variant: str, tile: int) -> None:
        """Choose the tile of a paper's kernel alone, and mark that kernel until something else is chosen."""
        self.change(tiles=(tile,))
        self._mark((variant, tile))

    def settle(self) -> bool:
        """Enter what was typed, before a run. False where it was refused."""
        refusals: list[str] = []
        self.settling.emit(refusals)
        return not refusals

    def try_small(self) -> None:
        """Choose a product that the simulator does within seconds."""
        small = MatrixProduct(SMALL_SIDE, SMALL_SIDE, SMALL_SIDE)
        self.change(product=small, tiles=SMALL_TILES, device=SIMULATOR)

    def set_counted(self, rows: tuple[ProductResult, ...]) -> None:
        """Store the counts of every cell."""
        if rows != self._counted:
            self._counted = rows
            self.rows_changed.emit()

    def set_running(self, running: bool) -> None:
        """Say whether its cells are being run: the settings stay as they are meanwhile."""
        if running != self.running:
            self.running = running
            self.running_changed.emit()

    def add(self, result: ProductResult) -> None:
        """Store the result of a cell; the table shows it if its product is still chosen."""
        self.last = result
        if result.problem == self._settings.product:
            self._measured[result.variant, tile_of(result)] = result
            self.rows_changed.emit()

    def forget_runs(self) -> None:
        """Forget what was measured; what is counted stays."""
        self._measured, self.last = {}, None
        self.rows_changed.emit()

    def _mark(self, loaded: Cell | None) -> None:
        if loaded != self.loaded:
            self.loaded = loaded
            self.loaded_changed.emit()


class MatmulModel(RunsModel):
    """The rows as a table, in teaching order."""

    def __init__(self, state: MatmulState, parent: QObject | None = None) -> None:
        super().__init__([MatrixProduct], "numpy", _FIRST_COLUMNS, parent)
        self._state = state
        state.rows_changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        before, self._results = self._results, list(self._state.rows)
        cells, now = ([(row.variant, tile_of(row)) for row in rows] for rows in (before, self._results))
        if cells == now:
            # The selection and the position of the scroll bar stay.
            self._compare()
            return
        self.beginResetModel()
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()
