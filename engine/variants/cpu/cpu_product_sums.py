"""The same as `cpu_row_sums` for a mask that is a column times a row, whose row sums are the same for all mask rows.

The sum along the row is formed once, and added to each total with one multiply-add: only totals stay in registers.
"""

from collections.abc import Callable

from engine.variants.cpu.cpu_row_sums import RowSums, Values
from engine.variants.ir.cpu_vectors import HAS_BROADCAST, VECTOR
from engine.variants.ir.value import F32, Value

# The same for a column times a row, and the numbers of mask rows that there is code for. Each sample is loaded for one
# multiply-add alone, and each weight for the vectors of the strip: as many of these as there are registers for.
_PRODUCT_VECTORS = (
    {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 7: 3, 9: 2, 11: 2, 13: 2}
    if HAS_BROADCAST
    else {1: 4, 2: 4, 3: 3, 4: 2, 5: 2}
)
# Integer samples are converted once for each mask column, or pair of them: from 9 rows on that costs what is saved by not
# keeping sums (cycles a vector of results: 7 x 7 24 instead of 26 in two passes, 9 x 9 32 instead of 29).
_MOST_PRODUCT_ROWS_OF_INTEGERS = 7


def product_rows(whole_numbers: bool) -> tuple[int, ...]:
    """Return for how many rows of a mask that is a column times a row there is code, by the samples' type."""
    return tuple(
        rows for rows in _PRODUCT_VECTORS if not whole_numbers or rows <= _MOST_PRODUCT_ROWS_OF_INTEGERS
    )


class ProductSums(RowSums):
    """The same for a mask that is a column times a row."""

    strip_vectors = _PRODUCT_VECTORS

    def _added(self, rows: int, across: int, values: Values, waiting: Value) -> Values:
        vectors = self.vectors
        sums = self._sums_along(across, values["source"])
        added = {}
        # The results first: else the compiler loads all weights before it stores them, and has no registers for the totals.
        for row in reversed(range(rows)):
            weight = vectors.splat((self.a["weights"] + row).load())
            for v in range(across):
                added[row, v] = vectors.fma(sums[v], weight, values[row, v])
            if row == rows - 1:
                self._store_results([added[row, v] for v in range(across)], values["out"])
        return added

    def _sums_along(self, across: int, source: Value) -> Values:
        """Return the sums along the row factor; samples of whole numbers under equal weights are added first."""
        vectors, a = self.vectors, self.a
        last = (a["mask_columns"] - 1) * a["step"]
        values: Values = dict.fromkeys(range(across), vectors.zero)
        values |= {"source": source, "weight": a["row_factor"], "behind": source + last}
        taps = a["mask_columns"]
        if source.llvm.type.pointee != F32:
            values = self._taps(
                values,
                a["pairs"],
                lambda at, places: vectors.load_sum(places["source"], places["behind"], at),
            )
            taps = taps - (a["pairs"] + a["pairs"])
        return self._taps(values, taps, lambda at, places: vectors.load(places["source"], at))

    def _taps(self, start: Values, count: Value, samples: Callable[[int, Values], Value]) -> Values:
        """Emit so many taps, each one weight times `samples` of each vector; return the values as the last one leaves them."""
        vectors, step = self.vectors, self.a["step"]
        across = len(start) - 3

        def tap(values: Values) -> Values:
            weight = vectors.splat(values["weight"].load())
            added = {v: vectors.fma(samples(v * VECTOR, values), weight, values[v]) for v in range(across)}
            return added | {
                "source": values["source"] + step,
                "behind": values["behind"] + (0 - step),
                "weight": values["weight"] + 1,
                "left": values["left"] - 1,
            }

        values = vectors.while_loop(start | {"left": count}, lambda values: values["left"] > 0, tap)
        return {key: value for key, value in values.items() if key != "left"}
