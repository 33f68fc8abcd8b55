"""MatrixProduct: everything about a product of two matrices but their numbers."""

import re
from collections.abc import Hashable
from typing import ClassVar

from engine.device_info import SIMULATOR_SIDE
from engine.errors import BadValue
from engine.geometry.layout import FLOAT_BYTES
from engine.message import Message
from engine.results.measurement import Measurement
from engine.results.work import Work

MAX_SIDE = 1 << 20


class MatrixProduct(Message, frozen=True):
    """The shapes of P = M N: M is rows x inner, N is inner x columns, P is rows x columns; all float32.

    Raises BadValue for a size below 1 or beyond 1,048,576.
    """

    task: ClassVar[str] = "product"
    columns_module: ClassVar[str] = "engine.tasks.product.columns"
    checked_unit: ClassVar[str] = "element"

    rows: int
    inner: int
    columns: int

    def __post_init__(self) -> None:
        if not all(1 <= side <= MAX_SIDE for side in (self.rows, self.inner, self.columns)):
            raise BadValue(
                f"matrices of {self.rows} × {self.inner} and {self.inner} × {self.columns}",
                f"each side must be from 1 to {MAX_SIDE:,}",
                "Choose sizes within these.",
            )

    @classmethod
    def parse(cls, text: str) -> "MatrixProduct":
        """Read "512", which is square, or "17x33x5"; a `BadValue` says why a text is not a size."""
        match = re.fullmatch(r"\s*(\d{1,9})(?:\s*[xX×]\s*(\d{1,9})\s*[xX×]\s*(\d{1,9}))?\s*", text)
        if not match:
            raise BadValue(
                f"size '{text}'",
                "it is neither one whole number nor rows × inner × columns",
                "Write it as 512 or as 17x33x5 (M is 17 × 33, N is 33 × 5).",
            )
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
    *,
    global_loads: int,
    multiply_adds: int | None = None,
    shared_loads: int = 0,
    shared_stores: int = 0,
) -> Work:
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
