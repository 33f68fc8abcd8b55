"""MatrixProduct: everything about a product of two matrices but their numbers; tiles, variants, requests.

Tiles, T x T, are legal values within the limits of device and grid, with the nearest legal one; window and
command line apply the same rules before they ask for anything. No Numba in here.

The lecture on memories and performance (COSC 407, "CUDA Memories and Performance Revisited", slides "CGMA",
"Problem!" and "Computing CGMA when Tiling is used"): a kernel that does CGMA operations per float from global
memory is limited to CGMA times the rate at which memory delivers floats. Caches are left out, so a real
device may do better.
"""

import math
import re
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from engine.device_info import SIMULATOR_SIDE
from engine.errors import BadValue
from engine.geometry import block as blocks
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, SharedBytes
from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.results.columns import Fact
from engine.results.measurement import Measurement
from engine.results.metrics import ComparedRun, Metric, Number
from engine.results.problem import Work
from engine.results.text_forms import MISSING, percent_text, rate_text
from engine.run.variant import Registered, VariantOf, named

MAX_SIDE = 1 << 20
SMALLEST_TILE, LARGEST_TILE = 2, 32
# The lecture's example: 16 x 16 = 256 threads.
DEFAULT_TILE = 16

# Characters of a refused tile that its refusal shows.
_LONGEST_SHOWN = 40
_RANGE = f"a whole number from {SMALLEST_TILE} to {LARGEST_TILE}"
DEFAULT_BLOCK = Block(DEFAULT_TILE, DEFAULT_TILE)
LECTURE_DEVICE = "G80"
LECTURE_BANDWIDTH_GB_S = 86.4
# The slide prints 347.6 for a tile of 16, a misprint: 86.4 / 4 x 16 = 345.6.
PRINTED_GFLOPS_TILE_16 = 347.6
BYTES_PER_ACCESS = 4


class MatrixProduct(Message, frozen=True):
    """The shapes of P = M N: M is rows x inner, N is inner x columns, P is rows x columns; all float32.

    Raises BadValue for a size below 1 or beyond 1,048,576.
    """

    task: ClassVar[str] = "product"
    columns_module: ClassVar[str] = "engine.tasks.product.problem"
    checked_unit: ClassVar[str] = "element"

    rows: int
    inner: int
    columns: int

    def __post_init__(self) -> None:
        if not all(1 <= side <= MAX_SIDE for side in (self.rows, self.inner, self.columns)):
            what = f"matrices of {self.rows} × {self.inner} and {self.inner} × {self.columns}"
            raise BadValue(what, f"each side must be from 1 to {MAX_SIDE:,}", "Choose sizes within these.")

    @classmethod
    def parse(cls, text: str) -> "MatrixProduct":
        """Read "512", which is square, or "17x33x5"; a `BadValue` says why a text is not a size."""
        match = re.fullmatch(r"\s*(\d{1,9})(?:\s*[xX×]\s*(\d{1,9})\s*[xX×]\s*(\d{1,9}))?\s*", text)
        if not match:
            what, why = f"size '{text}'", "it is neither one whole number nor rows × inner × columns"
            raise BadValue(what, why, "Write it as 512 or as 17x33x5 (M is 17 × 33, N is 33 × 5).")
        rows, inner, columns = match.groups(default=match[1])
        return cls(int(rows), int(inner), int(columns))

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the definition: one for each element of P and each inner index."""
        return self.rows * self.inner * self.columns

    @property
    def flops(self) -> int:
        """Floating-point operations of the definition: two for each multiply-add."""
        return 2 * self.multiply_adds

    @property
    def values(self) -> int:
        """Elements of C."""
        return self.rows * self.columns

    @property
    def copied_bytes(self) -> int:
        """Bytes of P, the only copy that is waited for."""
        return self.values * FLOAT_BYTES

    @property
    def simulator_limit(self) -> str:
        """What the simulator takes at most, in words, where this is more; else empty."""
        is_larger = self.rows * self.inner * self.columns > SIMULATOR_SIDE**3
        return f"{SIMULATOR_SIDE} × {SIMULATOR_SIDE}" if is_larger else ""

    @property
    def subject(self) -> str:
        """The matrices in words."""
        return f"matrices of {self.size_text}"

    @property
    def comparable(self) -> Hashable:
        """What two runs must share so that their times can be compared."""
        return self

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {"rows": self.rows, "inner": self.inner, "columns": self.columns}

    @property
    def bytes(self) -> int:
        """Bytes of the three matrices: the least that must move."""
        return (self.rows * self.inner + self.inner * self.columns + self.values) * FLOAT_BYTES

    @property
    def size_text(self) -> str:
        """Rows x inner x columns."""
        return f"{self.rows} × {self.inner} × {self.columns}"


def product_work(
    product: MatrixProduct,
    *, global_loads: int, multiply_adds: int | None = None, shared_loads: int = 0, shared_stores: int = 0,
) -> Work:  # fmt: skip
    """Return the work of one product; each element of P is stored once.

    `global_loads` counts elements of M and N that threads load from global memory, `multiply_adds` includes
    those with zeros that fill a tile; None: those of the definition.
    """
    return Work(
        flops=product.flops if multiply_adds is None else 2 * multiply_adds,
        global_loads=global_loads,
        global_stores=product.values,
        global_load_bytes=global_loads * FLOAT_BYTES,
        global_store_bytes=product.values * FLOAT_BYTES,
        minimum_bytes=product.bytes,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
    )


ProductResult = Measurement[MatrixProduct]


def tile_of(result: ProductResult) -> int | None:
    """Return the side of the tile, which is a run's square block; None where it has none."""
    return result.block.x if result.block else None


def as_tile(value: object) -> int:
    """Return a tile's side from a whole number or from text.

    Raises BadValue where it is not a whole number from 2 to 32; the remedy names the nearest legal one.
    """
    number, shown = math.nan, str(value)
    is_text = isinstance(value, str) and not re.fullmatch(r"[+-]?\d{1,18}(\.\d*)?", value.strip())
    if not is_text and not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)  # type: ignore[arg-type]
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    is_whole = math.isfinite(number) and number == math.floor(number)
    if not is_whole or not SMALLEST_TILE <= number <= LARGEST_TILE:
        nearest = DEFAULT_TILE if math.isnan(number) else round(min(max(number, SMALLEST_TILE), LARGEST_TILE))
        reason = f"a tile's side is {_RANGE}" if is_whole else f"its side is not {_RANGE}"
        raise BadValue(f"tile {shown}", reason, f"The nearest legal tile is {nearest}.")
    return int(number)


def refuse_tile(
    product: MatrixProduct, block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0
) -> Refusal | None:
    """Return why a tile is illegal for a product on a device, with the nearest legal one, or None.

    `shared_bytes` gives the static shared memory that the variant uses with a block, bytes.
    """
    refusal = _refusal(product, block.x, limits, shared_bytes)
    if refusal is None:
        return None
    sides = range(SMALLEST_TILE, LARGEST_TILE + 1)
    legal = [side for side in sides if not _refusal(product, side, limits, shared_bytes)]
    nearest = min(legal, key=lambda side: abs(side - block.x), default=None)
    return refusal.nearest(None if nearest is None else Block(nearest, nearest))


def _refusal(product: MatrixProduct, tile: int, limits: Limits, shared_bytes: SharedBytes) -> Refusal | None:
    if not SMALLEST_TILE <= tile <= LARGEST_TILE:
        return Refusal("tile-out-of-range", f"A tile of {tile} is not {_RANGE}")
    block = Block(tile, tile)
    if (refusal := blocks.why_illegal(block, limits, shared_bytes)) is not None:
        return refusal
    down = blocks.blocks_along(product.rows, tile)
    return blocks.grid_too_high(product.rows, "rows", down, block) if down > blocks.MAX_GRID_Y else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulVariant(VariantOf[MatrixProduct, None]):
    """One way to compute P = M N; the tile is the square block, `Prepared.launch` takes the pair (M, N)."""

    task: ClassVar[str] = MatrixProduct.task

    # The most roundings that a product of two elements goes through on its way into P: the rounding bound
    # counts with it.
    roundings: Callable[[MatrixProduct, Block], int]
    default_block: Block = DEFAULT_BLOCK

    @property
    def facts(self) -> dict[str, object]:
        """The tile, which is its block."""
        side = self.default_block.x if self.uses_block else None
        tile: dict[str, object] = {"uses_tile": self.uses_block, "default_tile": side}
        return {"uses_block": False, "default_block": None} | tile


MATMUL_VARIANTS = Registered[MatmulVariant](cuda=("matmul:NAIVE", "matmul:TILED"), cpu=("matmul:NUMPY",))
"""The variants that multiply matrices."""


def matmul_variant(key: str) -> MatmulVariant:
    """Return the way to multiply of that key; an `UnknownName` names the nearest one and all of them."""
    return named(key, MATMUL_VARIANTS, (), "no way to multiply matrices is called that", alike=0.5)


class ProductGrid(Message, Request, frozen=True):
    """Ask for the memory accesses of every matrix kernel, for each tile; and whether it can run."""

    handler: ClassVar[str] = "engine.tasks.product.answers:describe"
    reply: ClassVar[object] = tuple[ProductResult, ...]
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    product: MatrixProduct
    tiles: tuple[int, ...]
    device: str = "auto"


class ProductRequest(Message, frozen=True):
    """Run: multiply random matrices with one variant.

    Without `tile` the variant's default is taken.
    """

    answers: ClassVar[str] = "engine.tasks.product.answers"
    reply: ClassVar[object] = ProductResult
    product: MatrixProduct
    variant: str
    tile: int | None = None
    device: str = "auto"
    seed: int = 0


def bandwidth_limited_gflops(cgma: float, bandwidth_gb_s: float) -> float:
    """Return the most that a bandwidth in GB/s allows, GFLOPS: bandwidth / 4 bytes x CGMA.

    Examples
    --------
    >>> round(bandwidth_limited_gflops(16.0, LECTURE_BANDWIDTH_GB_S), 1)
    345.6
    """
    return bandwidth_gb_s / BYTES_PER_ACCESS * cgma


Run = ComparedRun[MatrixProduct]


def variant_name(result: Measurement[MatrixProduct]) -> str:
    """Return the key; NumPy's product by its title, which says that it is a BLAS."""
    return result.title if result.block is None else result.variant


def _gflops(run: Run) -> Number:
    kernel_ms = run.result.kernel_ms
    return run.result.problem.flops / kernel_ms / 1e6 if kernel_ms else None


def _cgma(run: Run) -> Number:
    return run.result.problem.flops / run.result.work.global_loads if run.result.work else None


def _limit(run: Run, bandwidth_gb_s: float | None) -> Number:
    cgma = _cgma(run)
    return None if cgma is None or bandwidth_gb_s is None else bandwidth_limited_gflops(cgma, bandwidth_gb_s)


def _limit_here(run: Run) -> Number:
    return _limit(run, run.result.environment.bandwidth_gb_s)


def _share_of_limit(run: Run) -> Number:
    reached, limit = _gflops(run), _limit_here(run)
    return None if reached is None or limit is None else reached / limit


# fmt: off
_METRICS: tuple[Metric[MatrixProduct], ...] = (
    Metric("gflops", "GFLOPS", "GFLOPS",
           "10⁹ operations per second: 2 × rows × inner × columns over the median kernel time.",
           _gflops, rate_text, more_is_better=True),
    Metric("cgma_flop_per_load", "CGMA", "",
           "Compute to global memory access: operations of the product per load from global memory, counted "
           "from the kernel's source; zeros that fill a tile do not count. Unknown for a BLAS.",
           _cgma, rate_text, more_is_better=True),
    Metric("lecture_limit_gflops", f"GFLOPS at {LECTURE_BANDWIDTH_GB_S} GB/s", "GFLOPS",
           f"GFLOPS that the lecture's {LECTURE_DEVICE} allows: {LECTURE_BANDWIDTH_GB_S} GB/s ÷ 4 bytes × "
           f"CGMA. The lecture prints {PRINTED_GFLOPS_TILE_16} for a tile of 16, a misprint for 345.6.",
           lambda run: _limit(run, LECTURE_BANDWIDTH_GB_S), rate_text),
    Metric("bandwidth_limit_gflops", "GFLOPS limit here", "GFLOPS",
           "GFLOPS that this device's theoretical bandwidth allows: bandwidth ÷ 4 bytes × CGMA; caches are "
           "left out.",
           _limit_here, rate_text),
    Metric("share_of_limit", "reached", "",
           "Measured GFLOPS over the limit here. Over 100 % where caches serve what is counted as loads.",
           _share_of_limit, percent_text, more_is_better=True),
)
_FACTS: tuple[Fact[MatrixProduct], ...] = (
    Fact("product", "Rows × inner × columns",
         "A is rows × inner, B is inner × columns; float32. Sorted by the number of multiply-adds.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.multiply_adds,
         caption="{}", of_problem=True),
    Fact("variant", "Variant",
         "How it was computed. numpy (BLAS) is NumPy's own product on the CPU, for comparison.",
         lambda run: variant_name(run.result)),
    Fact("tile", "Tile",
         "Side of the square block of threads, and of matmul-tiled also of the tiles in shared memory.",
         lambda run: str(tile_of(run.result) or MISSING), lambda run: tile_of(run.result)),
)
# fmt: on
METRICS, FACTS = {MatrixProduct.task: _METRICS}, {MatrixProduct.task: _FACTS}
