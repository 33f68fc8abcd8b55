"""`sum_rows`: input rows added to the results that wait for them, emitted as LLVM IR.

A strip of the picture walks down input rows. Each row takes part in `rows` results at once: mask row 0 of the newest,
the last mask row of the oldest. All their partial sums are formed in registers in one walk along the mask's columns, so
that a vector of samples that was loaded serves every mask row, and a multiply-add takes its weight straight from memory.
Then the partial sums are added to the waiting totals, each of which moves on to its next mask row: no result is ever
held up for its other rows, and no input row is read again.

The loops over mask columns and input rows are loops with bounds known only at run time: one compilation serves every
mask. The number of mask rows is not, because it says how many registers there are; there is code for each up to
MOST_ROWS, and larger masks are taken in parts.

Of a mask that is a column times a row, the sum along the row is the same for all mask rows but for the column's weight:
it is formed once, and added to each total with one multiply-add. Then there are only totals to keep in registers, and
strips are wider.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.variants.emit.cpu_vectors import (
    HAS_BROADCAST,
    Vectors,
    data_of,
    number,
    pointer_at,
    sample_type,
)

# A partial sum and a total for each mask row, a vector of samples: 31 of the 32 registers of AVX-512. Other machines have
# 16; there the totals wait in memory while a mask's columns are walked.
MOST_ROWS = 15 if HAS_BROADCAST else 6
# Vectors of a strip. With AVX-512 one is enough where the multiply-adds of a sample outnumber its loads and conversion (5 x 5:
# 50 G multiply-adds/s a core with one, 38 to 49 with two or three; the peak is 58). With AVX each weight costs a load of its
# own, and eight multiply-adds have to be under way at once: 39 G with two vectors, 27 with one.
_VECTORS = {1: 4, 2: 2, 3: 4} if HAS_BROADCAST else {1: 4, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2}

# The same for a column times a row, and the numbers of mask rows that there is code for. Each sample is loaded for one
# multiply-add alone, and each weight for the vectors of the strip: as many of these as there are registers for.
_PRODUCT_VECTORS = (
    {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 7: 3, 9: 2, 11: 2, 13: 2}
    if HAS_BROADCAST
    else {1: 4, 2: 4, 3: 3, 4: 2, 5: 2}
)
# Integer samples would be converted once for each mask column: from 5 x 5 on that costs what is saved by not keeping sums.
_MOST_PRODUCT_ROWS_OF_INTEGERS = 3


def product_rows(whole_numbers: bool) -> tuple[int, ...]:
    """Return for how many rows of a mask that is a column times a row there is code, by the samples' type."""
    return tuple(
        rows for rows in _PRODUCT_VECTORS if not whole_numbers or rows <= _MOST_PRODUCT_ROWS_OF_INTEGERS
    )


@intrinsic
def sum_rows(
    typingctx,
    source,
    source_sample,
    source_pitch,
    input_rows,
    totals,
    totals_at,
    totals_pitch,
    weights,
    weights_at,
    weights_pitch,
    row_factor,
    rows,
    mask_columns,
    step,
    width,
    offset,
    out,
    out_sample,
    out_pitch,
    completes,
    past_cache,
):
    """Add input rows to waiting results.

    Parameters
    ----------
    source, out : int64
        Address of the first input cell (mask column 0 of the first result) and of the first result.
    source_sample, out_sample : flat arrays
        Only their types matter: those of the samples there.
    source_pitch, out_pitch : int64
        Samples from one row to the next.
    input_rows : int64
        How many rows are added, one after another; more than one only where all mask rows are taken.
    totals : flat float32 array
        Rows of sums: row m holds those that wait for mask row m. Row 0 is zero always.
    totals_at, totals_pitch : int64
        Element of the first sum of the first mask row taken; elements from one row to the next.
    weights : flat float32 array
        Column after column.
    weights_at, weights_pitch : int64
        Element of the first weight taken; elements from one column to the next (the mask's rows).
    row_factor : flat float32 array or None
        The row of a mask that is a column times a row; then `weights` is the column.
    rows : int64
        Mask rows taken, at most MOST_ROWS; of a column times a row always all, one of `product_rows`.
    mask_columns : int64
    step : int64
        Samples from one mask column to the next: the number of interleaved channels.
    width : int64
        Results of a row. Whole vectors are read and written, so up to a vector less one more.
    offset : float32
        Added to every result.
    completes : int64
        Whether the last mask row is among those taken: then `out` gets results, else the totals. With a row factor it is.
    past_cache : int64
        Whether results are stored past the cache; then they begin at whole vectors.
    """
    integers = dict.fromkeys(
        ("source", "source_pitch", "input_rows", "totals_at", "totals_pitch", "weights_at", "weights_pitch", "rows",
         "mask_columns", "step", "width", "out", "out_pitch", "completes", "past_cache"), types.int64
    )  # fmt: skip
    given = {
        "source_sample": source_sample,
        "totals": totals,
        "weights": weights,
        "row_factor": row_factor,
        "offset": types.float32,
        "out_sample": out_sample,
    }
    order = (
        "source", "source_sample", "source_pitch", "input_rows", "totals", "totals_at", "totals_pitch", "weights",
        "weights_at", "weights_pitch", "row_factor", "rows", "mask_columns", "step", "width", "offset", "out",
        "out_sample", "out_pitch", "completes", "past_cache",
    )  # fmt: skip
    kinds = integers | given
    signature = types.void(*(kinds[name] for name in order))

    def codegen(context, builder, signature, arguments):
        a = dict(zip(order, arguments, strict=True))
        a["source"] = pointer_at(builder, a["source"], sample_type(source_sample.dtype))
        a["out"] = pointer_at(builder, a["out"], sample_type(out_sample.dtype))
        for name in ("totals", "weights"):
            data = data_of(context, builder, given[name], a[name])
            a[name] = builder.gep(data, [a[f"{name}_at"]])
        passed = {name: a[name] for name in _PASSED}
        counts: Sequence[int] = range(1, MOST_ROWS + 1)
        if row_factor != types.none:
            passed["row_factor"] = data_of(context, builder, row_factor, a["row_factor"])
            counts = product_rows(source_sample.dtype != types.float32)
        # The calling function too: its loops over bands and rows are not worth a copy for each case.
        builder.function.attributes.add("optsize")
        done = builder.append_basic_block("rows_summed")
        choice = builder.switch(a["rows"], done)
        for count in counts:
            block = builder.append_basic_block(f"mask_rows_{count}")
            choice.add_case(number(count), block)
            builder.position_at_end(block)
            builder.call(_sums_of(builder.module, count, passed), list(passed.values()))
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, codegen


_PASSED = (
    "source", "source_pitch", "input_rows", "totals", "totals_pitch", "weights", "weights_pitch", "mask_columns",
    "step", "width", "offset", "out", "out_pitch", "completes", "past_cache",
)  # fmt: skip


def _sums_of(module: ir.Module, rows: int, passed: dict[str, ir.Value]) -> ir.Function:
    """Return the function for a number of mask rows.

    A function of its own that is optimised for size: else the compiler writes each loop twice, with and without the
    branches in it, and takes three times as long.
    """
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in passed.values()])
    function = ir.Function(module, kind, module.get_unique_name(f"sums_of_{rows}_rows"))
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optsize")
    builder = ir.IRBuilder(function.append_basic_block())
    emitted = _ProductSums if "row_factor" in passed else _RowSums
    emitted(Vectors(builder), dict(zip(passed, function.args, strict=True))).emit(rows)
    builder.ret_void()
    return function


class _RowSums:
    """Emits the sums for a number of mask rows; `a` are the arguments of `sum_rows`."""

    strip_vectors = _VECTORS

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
        samples = [self.vectors.as_samples(result, out.type.pointee) for result in results]
        with self.builder.if_else(self.past_cache) as (past, into):
            for branch, past_cache in ((past, True), (into, False)):
                with branch:
                    for vector, values in enumerate(samples):
                        self.vectors.store_samples(values, out, self._at(number(0), vector), past_cache)

    def _at(self, column: ir.Value, vector: int) -> ir.Value:
        lanes = self.vectors.floats.count
        return self.builder.add(column, number(vector * lanes))


class _ProductSums(_RowSums):
    """The same for a mask that is a column times a row."""

    strip_vectors = _PRODUCT_VECTORS

    def _added(
        self, rows: int, across: int, values: dict[Any, ir.Value], waiting: ir.Value
    ) -> dict[Any, ir.Value]:
        builder, vectors = self.builder, self.vectors
        sums = self._partial_sums(1, across, values["source"], self.a["row_factor"], number(1))
        added = {}
        # The results first: else the compiler loads all weights before it stores them, and has no registers for the totals.
        for row in reversed(range(rows)):
            weight = vectors.splat(builder.load(builder.gep(self.a["weights"], [number(row)])))
            for v in range(across):
                added[row, v] = vectors.multiply_add(sums[0, v], weight, values[row, v])
            if row == rows - 1:
                self._store_results([added[row, v] for v in range(across)], values["out"])
        return added
