"""`sum_rows`: input rows added to the results that wait for them, emitted as LLVM IR.

A strip of the picture walks down input rows. Each row takes part in `rows` results at once: mask row 0 of the newest,
the last mask row of the oldest. All their partial sums are formed in registers in one walk along the mask's columns, so
that a vector of samples that was loaded serves every mask row, and a multiply-add takes its weight straight from memory.
Then the partial sums are added to the waiting totals, each of which moves on to its next mask row: no result is ever
held up for its other rows, and no input row is read again.

The loops over mask columns and input rows are loops with bounds known only at run time: one compilation serves every
mask. The number of mask rows is not, because it says how many registers there are; there is code for each up to
MOST_ROWS, and larger masks are taken in parts.
"""

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
    rows : int64
        Mask rows taken, at most MOST_ROWS.
    mask_columns : int64
    step : int64
        Samples from one mask column to the next: the number of interleaved channels.
    width : int64
        Results of a row. Whole vectors are read and written, so up to a vector less one more.
    offset : float32
        Added to every result.
    completes : int64
        Whether the last mask row is among those taken: then `out` gets results, else the totals.
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
        "offset": types.float32,
        "out_sample": out_sample,
    }
    order = (
        "source", "source_sample", "source_pitch", "input_rows", "totals", "totals_at", "totals_pitch", "weights",
        "weights_at", "weights_pitch", "rows", "mask_columns", "step", "width", "offset", "out", "out_sample",
        "out_pitch", "completes", "past_cache",
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
        # The calling function too: its loops over bands and rows are not worth a copy for each case.
        builder.function.attributes.add("optsize")
        done = builder.append_basic_block("rows_summed")
        choice = builder.switch(a["rows"], done)
        for count in range(1, MOST_ROWS + 1):
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
    _RowSums(Vectors(builder), dict(zip(passed, function.args, strict=True))).emit(rows)
    builder.ret_void()
    return function


class _RowSums:
    """Emits the sums for one number of mask rows after another; `a` are the arguments of `sum_rows`."""

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
            _VECTORS.get(rows, 1),
            lambda column, across: self._strip(rows, column, across),
        )

    def _strip(self, rows: int, column: ir.Value, across: int) -> None:
        """Emit the walk of a strip down the input rows; its totals stay in registers."""
        builder, vectors, a = self.builder, self.vectors, self.a
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        def waiting(row: int, vector: int) -> ir.Value:
            return builder.add(builder.mul(number(row), a["totals_pitch"]), self._at(column, vector))

        def input_row(values):
            sums = self._partial_sums(rows, across, values["source"])
            added = {cell: builder.fadd(values[cell], sums[cell]) for cell in cells}
            oldest = [added[rows - 1, vector] for vector in range(across)]
            with builder.if_else(self.completes) as (complete, incomplete):
                with complete:
                    self._store_results([builder.fadd(total, self.bias) for total in oldest], values["out"])
                with incomplete:
                    for vector, total in enumerate(oldest):
                        vectors.store(total, a["totals"], waiting(rows, vector))
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
        start |= {cell: vectors.load(a["totals"], waiting(*cell)) for cell in cells}
        left = vectors.repeat(start, input_row)
        for row, vector in cells:
            if row:
                vectors.store(left[row, vector], a["totals"], waiting(row, vector))

    def _partial_sums(self, rows: int, across: int, source: ir.Value) -> dict[tuple[int, int], ir.Value]:
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
                "weights": builder.gep(values["weights"], [a["weights_pitch"]]),
                "left": builder.sub(values["left"], number(1)),
            }
            for row, vector in cells:
                following[row, vector] = vectors.multiply_add(
                    samples[vector], weights[row], values[row, vector]
                )
            return following, builder.icmp_signed(">", following["left"], number(0))

        start: dict[Any, ir.Value] = {"source": source, "weights": a["weights"], "left": a["mask_columns"]}
        return vectors.repeat(start | dict.fromkeys(cells, vectors.zero), mask_column)

    def _store_results(self, results: list[ir.Value], out: ir.Value) -> None:
        samples = [self.vectors.as_samples(result, out.type.pointee) for result in results]
        with self.builder.if_else(self.past_cache) as (past, into):
            for branch, past_cache in ((past, True), (into, False)):
                with branch:
                    for vector, values in enumerate(samples):
                        self.vectors.store_samples(values, out, self._at(number(0), vector), past_cache)

    def _at(self, column: ir.Value, vector: int) -> ir.Value:
        lanes = self.vectors.floats.count
        return self.builder.add(column, number(vector * lanes))
