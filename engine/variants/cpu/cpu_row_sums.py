"""Input rows added to the results that wait for them, for a number of mask rows: what `sum_rows` calls.

Every mask row has a partial sum and a total in registers, while a strip of one to four vectors walks down the input rows.
"""

from typing import Any

from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import HAS_BROADCAST, VECTOR, Vectors, number
from engine.variants.ir.value import Value

# A partial sum and a total for each mask row, a vector of samples: 31 of the 32 registers of AVX-512. Other machines have
# 16; there the totals wait in memory while a mask's columns are walked.
MOST_ROWS = 15 if HAS_BROADCAST else 6
# Vectors of a strip. With AVX-512 one is enough where the multiply-adds of a sample outnumber its loads and conversion (5 x 5:
# 50 G multiply-adds/s a core with one, 38 to 49 with two or three; the peak is 58). With AVX each weight costs a load of its
# own, and eight multiply-adds have to be under way at once: 39 G with two vectors, 27 with one.
STRIP_VECTORS = {1: 4, 2: 2, 3: 4} if HAS_BROADCAST else {1: 4, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2}


Values = dict[Any, Value]


class RowSums:
    """Emits the sums for a number of mask rows; `a` are the arguments of `sum_rows`."""

    strip_vectors = STRIP_VECTORS

    def __init__(self, vectors: Vectors, a: dict[str, Value]) -> None:
        self.vectors, self.a = vectors, a
        self.bias = vectors.splat(a["offset"])
        self.completes, self.past_cache = vectors.flag(a["completes"]), vectors.flag(a["past_cache"])

    def emit(self, rows: int) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(
            self.a["width"],
            self.strip_vectors.get(rows, 1),
            lambda column, across: self._strip(rows, column, across),
        )

    def _strip(self, rows: int, column: Value, across: int) -> None:
        """Emit a strip that streams down the input rows; its totals stay in registers."""
        vectors, a = self.vectors, self.a
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        # Each row's place from that of the row before: products of their own would be kept in registers, then spilled.
        waiting = [a["totals"] + column]
        for _ in range(rows):
            waiting.append(waiting[-1] + a["totals_pitch"])

        def input_row(values: Values) -> tuple[Values, Value]:
            added = self._added(rows, across, values, waiting[rows])
            following: Values = {
                "source": values["source"] + a["source_pitch"],
                "out": values["out"] + a["out_pitch"],
                "left": values["left"] - 1,
            }
            for row, vector in cells:
                following[row, vector] = added[row - 1, vector] if row else vectors.zero
            return following, following["left"] > 0

        start: Values = {"source": a["source"] + column, "out": a["out"] + column, "left": a["input_rows"]}
        for row, vector in cells:
            start[row, vector] = vectors.load(waiting[row], vector * VECTOR)
        left = vectors.do_while(start, input_row)
        for row, vector in cells:
            if row:
                vectors.store(left[row, vector], waiting[row], vector * VECTOR)

    def _added(self, rows: int, across: int, values: Values, waiting: Value) -> Values:
        """Add the input row at values["source"] to each total in `values`, and store those of the last mask row."""
        cells = [(row, vector) for row in range(rows) for vector in range(across)]
        sums = self._partial_sums(rows, across, values["source"])
        added = {cell: values[cell] + sums[cell] for cell in cells}
        oldest = [added[rows - 1, vector] for vector in range(across)]

        def keep() -> None:
            for vector, total in enumerate(oldest):
                self.vectors.store(total, waiting, vector * VECTOR)

        self.vectors.when(self.completes, lambda: self._store_results(oldest, values["out"]), keep)
        return added

    def _partial_sums(self, rows: int, across: int, source: Value) -> Values:
        """Emit the loop along the mask's columns; return a partial sum for each mask row and vector."""
        vectors, a = self.vectors, self.a
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        def mask_column(values: Values) -> tuple[Values, Value]:
            samples = [vectors.load(values["source"], v * VECTOR) for v in range(across)]
            weights = [vectors.splat((values["weights"] + row).load()) for row in range(rows)]
            following: Values = {
                "source": values["source"] + a["step"],
                "weights": values["weights"] + a["weights_pitch"],
                "left": values["left"] - 1,
            }
            for row, vector in cells:
                following[row, vector] = vectors.fma(samples[vector], weights[row], values[row, vector])
            return following, following["left"] > 0

        start: Values = {"source": source, "weights": a["weights"], "left": a["mask_columns"]}
        return vectors.do_while(start | dict.fromkeys(cells, vectors.zero), mask_column)

    def _store_results(self, totals: list[Value], out: Value) -> None:
        results = [total + self.bias for total in totals]
        store_results(self.vectors, results, out, self.vectors.value(number(0)), self.past_cache)
