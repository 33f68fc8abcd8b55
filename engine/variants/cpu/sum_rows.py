"""`sum_rows`: accumulates input rows into the totals of the results that they take part in.

A strip of the picture streams down input rows. Each row takes part in `rows` results at once: mask row 0 of
the newest, the last mask row of the oldest. Their partial sums are formed in registers in one pass along the
mask's columns, so that each vector of samples that is loaded serves every mask row, and multiply-adds take
their weights straight from memory. Then the partial sums are added to the totals, each of which moves on to
its next mask row: no input row is read again.

The loops over mask columns and input rows have bounds known only at run time: one compilation serves every
mask. The number of mask rows decides on the registers, so there is code for each up to MOST_ROWS; larger
masks are taken in parts. For a mask that is a column times a row, the sum along the row is the same for all
mask rows but for the column's weight: it is formed once (`ProductSums`).
"""

import inspect
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.variants.cpu.row_sums import MOST_ROWS, ProductSums, RowSums, product_rows
from engine.variants.ir.cpu_vectors import Vectors, sample_type
from engine.variants.ir.value import Value


@intrinsic
def sum_rows(
    typingctx, source, source_sample, source_pitch, input_rows, totals, totals_at, totals_pitch, weights,
    weights_at, weights_pitch, row_factor, pairs, rows, mask_columns, step, width, offset, out, out_sample,
    out_pitch, completes, past_cache,
):  # fmt: skip
    """Add input rows to the totals of results.

    Parameters
    ----------
    source, out : int64
        Address of the first input cell (mask column 0 of the first result) and of the first result.
    source_sample, out_sample : flat arrays
        Of the types of the samples there; nothing else about them is used.
    source_pitch, out_pitch : int64
        Samples from one row to the next.
    input_rows : int64
        Rows that are added, one after another; more than one only where all mask rows are taken.
    totals : flat float32 array
        Rows of sums; those of row m have all mask rows below m. Row 0 is always zero.
    totals_at, totals_pitch : int64
        Element of the first sum of the first mask row taken; elements from one row to the next.
    weights : flat float32 array
        Column after column.
    weights_at, weights_pitch : int64
        Element of the first weight taken; elements from one column to the next (the mask's rows).
    row_factor : flat float32 array or None
        The row of a mask that is a column times a row; then `weights` is the column.
    pairs : int64
        Of a symmetric row factor the samples from one end that are added to those from the other first, which
        takes half the multiply-adds; 0 for float32 samples, which might overflow.
    rows : int64
        Mask rows taken, at most MOST_ROWS; of a column times a row always all, one of `product_rows`.
    mask_columns : int64
    step : int64
        Samples from one mask column to the next: the number of interleaved channels.
    width : int64
        Results per row. Whole vectors are read and written, so up to VECTOR - 1 more.
    offset : float32
        Added to every result.
    completes : int64
        Whether the last mask row is taken: then `out` gets results, else totals. With a row factor it is.
    past_cache : int64
        Whether results are stored past the cache; then they begin at whole vectors.
    """
    given = {"source_sample": source_sample, "totals": totals, "weights": weights, "row_factor": row_factor,
             "offset": types.float32, "out_sample": out_sample}  # fmt: skip
    names = list(inspect.signature(sum_rows._defn).parameters)[1:]
    signature = types.void(*(given.get(name, types.int64) for name in names))

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        a = dict(zip(names, vectors.arguments(signature, arguments), strict=True))
        a["source"] = vectors.at_address(a["source"], sample_type(source_sample.dtype))
        a["out"] = vectors.at_address(a["out"], sample_type(out_sample.dtype))
        for name in ("totals", "weights"):
            a[name] = vectors.pointer(a[name]) + a[f"{name}_at"]
        passed = {name: a[name] for name in names if name not in _NOT_PASSED}
        counts: Sequence[int] = range(1, MOST_ROWS + 1)
        if row_factor != types.none:
            passed["row_factor"] = vectors.pointer(a["row_factor"])
            counts = product_rows(source_sample.dtype != types.float32)
        # The calling function too: its loops over bands and rows are not worth a copy for each case.
        builder.function.attributes.add("optsize")

        def sums_of(count: int) -> None:
            function = _sums_of(context, builder.module, count, passed)
            builder.call(function, [value.llvm for value in passed.values()])

        vectors.switch(a["rows"], counts, sums_of)
        return context.get_dummy_value()

    return signature, codegen


# Arguments of `sum_rows` that the code for a number of mask rows does not get as they are.
_NOT_PASSED = ("source_sample", "totals_at", "weights_at", "row_factor", "rows", "out_sample")


def _sums_of(context: Any, module: ir.Module, rows: int, passed: dict[str, Value]) -> ir.Function:
    """Return the function for a number of mask rows.

    It is a function of its own and optimised for size: else the compiler writes each loop twice, with and
    without its branches, and takes three times as long.
    """
    kind = ir.FunctionType(ir.VoidType(), [value.llvm.type for value in passed.values()])
    function = ir.Function(module, kind, module.get_unique_name(f"sums_of_{rows}_rows"))
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optsize")
    builder = ir.IRBuilder(function.append_basic_block())
    emitted = ProductSums if "row_factor" in passed else RowSums
    vectors = Vectors(context, builder)
    emitted(vectors, dict(zip(passed, map(vectors.value, function.args), strict=True))).emit(rows)
    builder.ret_void()
    return function
