"""Input rows added to the results that wait for them, for a number of mask rows: what `sum_rows` calls.

Every mask row has a partial sum and a total in registers, while a strip of one to four vectors walks down the input rows.
"""

from typing import Any

from llvmlite import ir

from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import HAS_BROADCAST, Vectors, number

# A partial sum and a total for each mask row, a vector of samples: 31 of the 32 registers of AVX-512. Other machines have
# 16; there the totals wait in memory while a mask's columns are walked.
MOST_ROWS = 15 if HAS_BROADCAST else 6
# Vectors of a strip. With AVX-512 one is enough where the multiply-adds of a sample outnumber its loads and conversion (5 x 5:
# 50 G multiply-adds/s a core with one, 38 to 49 with two or three; the peak is 58). With AVX each weight costs a load of its
# own, and eight multiply-adds have to be under way at once: 39 G with two vectors, 27 with one.
STRIP_VECTORS = {1: 4, 2: 2, 3: 4} if HAS_BROADCAST else {1: 4, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2}


class RowSums:
    """Emits the sums for a number of mask rows; `a` are the arguments of `sum_rows`."""

    strip_vectors = STRIP_VECTORS

    def __init__(self, vectors: Vectors, a: dict[str, ir.Value]) -> None:
        self.vectors = vectors
        self.builder = vectors.builder
        self.a = a
        self.bias = vectors.splat(a["offset"])
        self.completes = self.builder.trunc(a["completes"], ir.IntType(1))
        self.past_cache = self.builder.trunc(a["past_cache"], ir.IntType(1))

    def emit(self, rows: int) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(
            self.a["width"],
            self.strip_vectors.get(rows, 1),
            lambda column, across: self._strip(rows, column, across),
        )

    def _strip(self, rows: int, column: ir.Value, across: int) -> None:
        """Emit the walk of a strip down the input rows; its totals stay in registers."""
        builder, vectors, a = self.builder, self.vectors, self.a
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        # Each row's place from that of the row before: products of their own would be kept in registers, then spilled.
        waiting = [builder.gep(a["totals"], [column])]
        for _ in range(rows):
            waiting.append(builder.gep(waiting[-1], [a["totals_pitch"]]))

        def input_row(values):
            added = self._added(rows, across, values, waiting[rows])
            following: dict[Any, ir.Value] = {
                "source": builder.gep(values["source"], [a["source_pitch"]]),
                "out": builder.gep(values["out"], [a["out_pitch"]]),
                "left": builder.sub(values["left"], number(1)),
            }
            for row, vector in cells:
                following[row, vector] = added[row - 1, vector] if row else vectors.zero
            return following, builder.icmp_signed(">", following["left"], number(0))

        start: dict[Any, ir.Value] = {
            "source": builder.gep(a["source"], [column]),
            "out": builder.gep(a["out"], [column]),
            "left": a["input_rows"],
        }
        for row, vector in cells:
            start[row, vector] = vectors.load(waiting[row], self._at(number(0), vector))
        left = vectors.repeat(start, input_row)
        for row, vector in cells:
            if row:
                vectors.store(left[row, vector], waiting[row], self._at(number(0), vector))

    def _added(
        self, rows: int, across: int, values: dict[Any, ir.Value], waiting: ir.Value
    ) -> dict[Any, ir.Value]:
        """Add the input row at values["source"] to each total in `values`, and store those of the last mask row."""
        cells = [(row, vector) for row in range(rows) for vector in range(across)]
        sums = self._partial_sums(rows, across, values["source"], self.a["weights"], self.a["weights_pitch"])
        added = {cell: self.builder.fadd(values[cell], sums[cell]) for cell in cells}
        oldest = [added[rows - 1, vector] for vector in range(across)]
        with self.builder.if_else(self.completes) as (complete, incomplete):
            with complete:
                self._store_results(oldest, values["out"])
            with incomplete:
                for vector, total in enumerate(oldest):
                    self.vectors.store(total, waiting, self._at(number(0), vector))
        return added

    def _partial_sums(
        self, rows: int, across: int, source: ir.Value, weights_at: ir.Value, pitch: ir.Value
    ) -> dict[Any, ir.Value]:
        """Emit the walk along the mask's columns; return a partial sum for each mask row and vector."""
        builder, vectors, a = self.builder, self.vectors, self.a
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        def mask_column(values):
            samples = [vectors.load(values["source"], self._at(number(0), v)) for v in range(across)]
            weights = [
                vectors.splat(builder.load(builder.gep(values["weights"], [number(row)])))
                for row in range(rows)
            ]
            following: dict[Any, ir.Value] = {
                "source": builder.gep(values["source"], [a["step"]]),
                "weights": builder.gep(values["weights"], [pitch]),
                "left": builder.sub(values["left"], number(1)),
            }
            for row, vector in cells:
                following[row, vector] = vectors.multiply_add(
                    samples[vector], weights[row], values[row, vector]
                )
            return following, builder.icmp_signed(">", following["left"], number(0))

        start: dict[Any, ir.Value] = {"source": source, "weights": weights_at, "left": a["mask_columns"]}
        return vectors.repeat(start | dict.fromkeys(cells, vectors.zero), mask_column)

    def _store_results(self, totals: list[ir.Value], out: ir.Value) -> None:
        results = [self.builder.fadd(total, self.bias) for total in totals]
        store_results(self.vectors, results, out, number(0), self.past_cache)

    def _at(self, column: ir.Value, vector: int) -> ir.Value:
        lanes = self.vectors.floats.count
        return self.builder.add(column, number(vector * lanes))
