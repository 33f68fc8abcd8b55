"""The cases that every way to multiply must get right, and the one check of a way on a case.

The same comparison serves NumPy, the CUDA variants in the simulator, and those on a real device.
"""

from dataclasses import dataclass

import numpy as np

from engine.device.devices import backend
from engine.geometry.block import Block
from engine.tasks.product import oracle
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.task import as_matrix
from engine.verify.verification import Region


@dataclass(frozen=True)
class Case:
    """One product; the numbers follow from the sizes."""

    rows: int
    inner: int
    columns: int
    tile: int = 4
    # "even" (random, both signs), "whole" (integers), "strange" (NaN and infinity among them) or "tiny"
    # (products below the smallest normal float32).
    numbers: str = "even"
    layout: str = "C"  # of the caller's arrays: "C", "Fortran", "every second" or "float64"

    def __str__(self):
        return f"{self.rows}x{self.inner}x{self.columns} tile {self.tile} {self.numbers} {self.layout}"

    @property
    def product(self):
        """The problem."""
        return MatrixProduct(self.rows, self.inner, self.columns)

    @property
    def block(self):
        """The tile as a block."""
        return Block(self.tile, self.tile)

    def matrices(self):
        """Return A and B as the caller has them."""
        random = np.random.default_rng([self.rows, self.inner, self.columns])
        return self._matrix(random, self.rows, self.inner), self._matrix(random, self.inner, self.columns)

    def _matrix(self, random, rows, columns):
        numbers = random.uniform(-1, 1, (rows, columns)).astype(np.float32)
        if self.numbers == "whole":
            numbers = random.integers(-50, 51, (rows, columns)).astype(np.float32)
        if self.numbers == "tiny":
            numbers *= np.float32(1e-21)
        if self.numbers == "strange":
            numbers[0, -1], numbers[-1, 0] = np.nan, np.inf
        if self.layout == "Fortran":
            return np.asfortranarray(numbers)
        if self.layout == "every second":
            spread = np.full((2 * rows, 2 * columns), np.nan, np.float32)
            spread[::2, ::2] = numbers
            return spread[::2, ::2]
        return numbers.astype(np.float64) if self.layout == "float64" else numbers


CASES = (
    Case(1, 1, 1), Case(1, 1, 1, 16), Case(1, 9, 1), Case(7, 1, 5), Case(1, 5, 9), Case(9, 5, 1),
    *(Case(side, side, side) for side in (3, 4, 5)),
    Case(8, 3, 4), Case(8, 12, 4, numbers="whole"), Case(5, 7, 11, 2), Case(5, 7, 11, 3, "whole"),
    Case(11, 5, 7, 4, "strange"), Case(5, 7, 6, 4, "tiny"), Case(17, 33, 5, 16), Case(33, 17, 3, 32, "whole"),
    *(Case(5, 7, 6, layout=layout) for layout in ("Fortran", "every second", "float64")),
)  # fmt: skip


def check(variant, case, device):
    """Multiply in one way and compare every element with the oracle; name the first one that is off."""
    a, b = (as_matrix(name, values) for name, values in zip("AB", case.matrices(), strict=True))
    machine = backend(device)
    machine.activate()
    prepared = variant.prepare(case.product, None, case.block)
    buffers = machine.allocate_arrays((a, b), (len(a), b.shape[1]))
    machine.upload((a, b), buffers)
    machine.fill_result(buffers)
    machine.run(prepared, buffers)
    compare(variant, case, machine.download(buffers), a, b)


def compare(variant, case, result, a, b):
    """Compare a product with plain loops in float64, apart from `verify` itself."""
    roundings = variant.roundings(case.product, case.block)
    assert result.dtype == np.float32
    assert result.shape == (a.shape[0], b.shape[1])
    whole = Region(0, a.shape[0], 0, b.shape[1])
    with np.errstate(invalid="ignore"):
        wanted = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))
    bound = oracle.rounding_bound(oracle.magnitudes(a, b, whole), roundings, a.shape[1])
    with np.errstate(invalid="ignore"):
        fine = np.abs(result - wanted) <= (0.0 if case.numbers == "whole" else bound)
        same = (result == wanted.astype(np.float32)) | (np.isnan(result) & np.isnan(wanted))
    is_wrong = ~(fine | same)
    assert not is_wrong.any(), (np.argwhere(is_wrong), result[is_wrong], wanted[is_wrong], bound[is_wrong])
