"""`sum_rows`: accumulates input rows into the totals of the results that they take part in.

A strip of the picture streams down input rows. Each row takes part in `rows` results at once: mask row 0 of
the newest, the last mask row of the oldest. Their partial sums are formed in registers in one pass along the
mask's columns, so that each vector of samples that is loaded serves every mask row, and multiply-adds take
their weights straight from memory. Then the partial sums are added to the totals, each of which moves on to
its next mask row: no input row is read again.

The loops over mask columns and input rows have bounds known only at run time: one compilation serves every
mask. The number of mask rows decides on the registers, so there is code for each up to MOST_ROWS; larger
masks are taken in parts. For a mask that is a column times a row, the sum along the row is the same for all
mask rows but for the column's weight: it is formed once.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

from llvmlite import ir

from engine.compiled.late_names import types
from engine.variants.cpu import register_tiles as tuned
from engine.variants.cpu.register_tiles import MOST_ROWS, PARTIAL_SUMS, VECTOR
from engine.variants.emit.cpu_vectors import Vectors, cpu_function, store_results
from engine.variants.emit.value import ArrayArgument, Value

Values = dict[Hashable, Value]


def _emit_sums(vectors: Vectors, a: dict[str, Value], rows: int, whole_numbers: bool) -> None:
    """Emit all strips of the width for a number of mask rows; `a` are the arguments of `sum_rows`."""
    is_product = "row_factor" in a
    bias = vectors.splat(a["offset"])
    completes, past_cache = vectors.flag(a["completes"]), vectors.flag(a["past_cache"])
    fits = vectors.flag(a["fits"])

    def all_strips(columns: int = 0) -> None:
        """Emit all strips, for so many mask columns, or for any number."""
        most = tuned.PRODUCT_VECTORS if is_product else tuned.STRIP_VECTORS
        vectors.strips(a["width"], most.get(rows, 1), partial(strip, columns))

    def strip(columns: int, column: Value, across: int) -> None:
        """Emit a strip that streams down the input rows with its totals in registers."""
        cells = [(row, vector) for row in range(rows) for vector in range(across)]

        # Each row's address from that of the one before: products would be kept in registers, and spilled.
        waiting = [a["totals"] + column]
        for _ in range(rows - 1):
            waiting.append(waiting[-1] + a["totals_pitch"])

        def input_row(values: Values) -> tuple[Values, Value]:
            added = (
                added_product(across, values, columns) if is_product else added_rows(across, values, columns)
            )
            following: Values = {
                "source": values["source"] + a["source_pitch"],
                "entering": values["entering"] + a["entering_pitch"],
                "leaving": values["leaving"] + a["leaving_pitch"],
                "out": values["out"] + a["out_pitch"],
                "left": values["left"] - 1,
            }
            for row, vector in cells:
                following[row, vector] = added[row - 1, vector] if row else entering(values, vector)
            return following, following["left"] > 0

        start: Values = {key: a[key] + column for key in ("source", "entering", "leaving", "out")}
        start["left"] = a["input_rows"]
        for row, vector in cells:
            start[row, vector] = vectors.load(waiting[row], vector * VECTOR)
        left = vectors.do_while(start, input_row)
        for row, vector in cells:
            if row:
                vectors.store(left[row, vector], waiting[row], vector * VECTOR)

    def entering(values: Values, vector: int) -> Value:
        """Return the totals of the next input row's newest result: 0, or what it got of mask rows before."""
        if is_product or PARTIAL_SUMS:
            return vectors.zero
        return vectors.load(values["entering"], vector * VECTOR)

    def store(totals: list[Value], out: Value) -> None:
        # Else the totals began with the offset.
        is_left = is_product or PARTIAL_SUMS
        results = [total + bias for total in totals] if is_left else totals
        store_results(vectors, results, out, past_cache=past_cache, fits=fits)

    def added_rows(across: int, values: Values, columns: int) -> Values:
        """Add the input row at values["source"] to the totals, and store those of the last mask row."""
        cells = [(row, vector) for row in range(rows) for vector in range(across)]
        start: Values = {cell: vectors.zero if PARTIAL_SUMS else values[cell] for cell in cells}
        added = sums_of_rows(across, values["source"], start, columns)
        if PARTIAL_SUMS:
            added = {cell: values[cell] + added[cell] for cell in cells}
        oldest = [added[rows - 1, vector] for vector in range(across)]

        def keep() -> None:
            for vector, total in enumerate(oldest):
                vectors.store(total, values["leaving"], vector * VECTOR)

        vectors.when(completes, lambda: store(oldest, values["out"]), keep)
        return added

    def sums_of_rows(across: int, source: Value, sums: Values, columns: int) -> Values:
        """Emit the loop along the mask's columns; return the sums for each mask row and vector."""

        def mask_column(values: Values) -> tuple[Values, Value]:
            following: Values = {
                "source": values["source"] + a["step"],
                "weights": values["weights"] + a["weights_pitch"],
                "left": values["left"] - 1,
            }

            # The compiler keeps this order. What there is more of is loaded one by one, where it is used: 3
            # rows of 4 vectors would need one register more than the 16 of AVX if all samples came first.
            def sample(v: int) -> Value:
                return vectors.load(values["source"], v * VECTOR)

            def weight(row: int) -> Value:
                return vectors.splat((values["weights"] + row).load())

            if across > rows and not PARTIAL_SUMS:
                weights = [weight(row) for row in range(rows)]
                for v in range(across):
                    one = sample(v)
                    for row in range(rows):
                        following[row, v] = vectors.fma(one, weights[row], values[row, v])
            else:
                samples = [sample(v) for v in range(across)]
                for row in range(rows):
                    one = weight(row)
                    for v in range(across):
                        following[row, v] = vectors.fma(samples[v], one, values[row, v])
            return following, following["left"] > 0

        start: Values = {"source": source, "weights": a["weights"], "left": a["mask_columns"]}
        start |= sums
        if not columns:
            made: Values = vectors.do_while(start, mask_column)
            return made
        for _ in range(columns):
            start, _ = mask_column(start)
            start = kept_sums(start, sums)
        return start

    def kept_sums(values: Values, cells: Iterable[Hashable]) -> Values:
        """Return the same values; sums of these cells are not computed later than here."""
        kept = vectors.kept([values[cell] for cell in cells])
        return values | dict(zip(cells, kept, strict=True))

    def added_product(across: int, values: Values, columns: int) -> Values:
        """Do as `added_rows` does, with a mask that is a column times a row."""
        sums = sums_along(across, values["source"], columns)
        added: Values = {}
        # The results first: else the compiler loads all weights before it stores them, and registers run out.
        for row in reversed(range(rows)):
            weight = vectors.splat((a["weights"] + row).load())
            for v in range(across):
                added[row, v] = vectors.fma(sums[v], weight, values[row, v])
            if row == rows - 1:
                store([added[row, v] for v in range(across)], values["out"])
        return added

    def sums_along(across: int, source: Value, columns: int) -> Values:
        """Return the sums along the row factor; integer samples under equal weights are added first."""
        last = (a["mask_columns"] - 1) * a["step"]
        values: Values = dict.fromkeys(range(across), vectors.zero)
        values |= {"source": source, "weight": a["row_factor"], "behind": source + last}
        left = a["mask_columns"]

        def two(at: int, addresses: Values) -> Value:
            return vectors.load_sum(addresses["source"], addresses["behind"], at)

        def one(at: int, addresses: Values) -> Value:
            return vectors.load(addresses["source"], at)

        if columns:
            # Two of them are a pair.
            return tap(across, kept_sums(tap(across, values, two), range(across)), one)
        if whole_numbers:
            values = taps(across, values, a["pairs"], two)
            left = left - (a["pairs"] + a["pairs"])
        return taps(across, values, left, one)

    def tap(across: int, values: Values, samples: Callable[[int, Values], Value]) -> Values:
        """Emit a tap, a weight times `samples` of each vector."""
        weight = vectors.splat(values["weight"].load())
        added = {v: vectors.fma(samples(v * VECTOR, values), weight, values[v]) for v in range(across)}
        return added | {
            "source": values["source"] + a["step"],
            "behind": values["behind"] + (0 - a["step"]),
            "weight": values["weight"] + 1,
        }

    def taps(across: int, start: Values, count: Value, samples: Callable[[int, Values], Value]) -> Values:
        """Emit a loop of `count` taps; return the last values."""

        def counted(values: Values) -> Values:
            return tap(across, values, samples) | {"left": values["left"] - 1}

        made: Values = vectors.while_loop(start | {"left": count}, lambda values: values["left"] > 0, counted)
        return made

    columns = tuned.UNROLLED_COLUMNS.get(rows, 0)
    is_so = a["mask_columns"] == columns
    if is_product:
        columns = columns if whole_numbers else 0
        is_so = vectors.all_of(is_so, a["pairs"] == 1)
    if columns:
        vectors.when(is_so, lambda: all_strips(columns), all_strips)
    else:
        all_strips()


@cpu_function("void")
def rows_as_floats(code, source, sample, pitch, rows, floats, floats_pitch, count):
    """Copy `count` samples of each of some rows as float32; `sample` is a flat array of the samples' type."""
    if sample.kind.dtype == types.float32:
        return
    start = {"source": code.at_address(source, sample), "target": code.pointer(floats), "left": rows}

    def row(values):
        samples, target = values["source"], values["target"]
        code.copy_as_floats(samples, target, count)
        left = values["left"] - 1
        return {"source": samples + pitch, "target": target + floats_pitch, "left": left}, left > 0

    code.do_while(start, row)


@cpu_function("void")
def sum_rows(code, source_rows, source_sample, floats, sums, between, mask, row_factor, results, out_sample):
    """Add input rows to the totals of results. Tuples have what belongs together, in this order.

    source_rows
        Address of the first input cell (mask column 0 of the first result), samples from row to row, rows
        that are added one after another. The flat arrays source_sample and out_sample have the types of the
        samples there. `floats` is where the input was made float32, which it then is whatever source_sample
        says; else None.
    sums
        Rows of float32 sums, the first one of the first mask row taken, elements from row to row. Those of
        row m have all mask rows below m, and row 0 is always the offset (zero with a row factor, and where
        `PARTIAL_SUMS`).
    between
        Address and elements from row to row of sums that meet the first mask row taken with the second input
        row and later ones; then of those that the last one taken is added to, if it is not the mask's last.
    mask
        Weights, flat float32, column after column; the first one taken; mask rows. Of a symmetric row factor
        the samples from one end that are added to those from the other first, which takes half the
        multiply-adds; 0 for float32 samples, which might overflow. Mask rows taken, at most MOST_ROWS, of a
        column times a row always all, one of `product_rows`. Columns; interleaved channels.
    row_factor
        The row of a mask that is a column times a row, or None; then the weights are the column.
    results
        Address of the first one, samples from row to row, results per row (whole vectors are read and
        written, so up to VECTOR - 1 more), what is added to each, whether none can lie beyond the integers of
        32 bits; whether the mask's last row is taken, as with a row factor: then there are results; whether
        these are stored past the cache, where they begin at whole vectors.
    """
    source, source_pitch, input_rows = source_rows
    totals, totals_at, totals_pitch = sums
    entering, entering_pitch, leaving, leaving_pitch = between
    weights, weights_at, weights_pitch, pairs, rows, mask_columns, step = mask
    out, out_pitch, width, offset, fits, completes, past_cache = results
    is_product, are_floats = isinstance(row_factor, ArrayArgument), isinstance(floats, ArrayArgument)
    passed = {
        "source": code.at_address(source, totals if are_floats else source_sample),
        "source_pitch": source_pitch,
        "input_rows": input_rows, "totals": code.pointer(totals) + totals_at, "totals_pitch": totals_pitch,
        "entering": code.at_address(entering, totals), "entering_pitch": entering_pitch,
        "leaving": code.at_address(leaving, totals), "leaving_pitch": leaving_pitch,
        "weights": code.pointer(weights) + weights_at, "weights_pitch": weights_pitch, "pairs": pairs,
        "mask_columns": mask_columns, "step": step, "width": width, "offset": offset, "fits": fits,
        "out": code.at_address(out, out_sample), "out_pitch": out_pitch, "completes": completes,
        "past_cache": past_cache,
    }  # fmt: skip
    whole_numbers = source_sample.kind.dtype != types.float32
    # Few rows at a time are taken from integers that are not made float32 first.
    most = min(MOST_ROWS, tuned.CONVERTS_FROM_ROWS - 1) if whole_numbers and not are_floats else MOST_ROWS
    counts: Sequence[int] = range(1, most + 1)
    if is_product:
        passed["row_factor"] = code.pointer(row_factor)
        counts = tuned.product_rows(whole_numbers, out_sample.kind.dtype != types.float32)
    # The calling function too: its loops over bands and rows are not worth a copy for each case.
    code.builder.function.attributes.add("optsize")

    def sums_of(count: int) -> None:
        """Call a function of its own that is optimised for size.

        Else the compiler writes each loop twice, with and without its branches, and takes three times as
        long.
        """
        module, kinds = code.builder.module, [value.llvm.type for value in passed.values()]
        name = module.get_unique_name(f"sums_of_{count}_rows")
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        vectors = Vectors(code.context, ir.IRBuilder(function.append_basic_block()))
        own = dict(zip(passed, map(vectors.value, function.args), strict=True))
        _emit_sums(vectors, own, count, whole_numbers)
        vectors.builder.ret_void()
        code.builder.call(function, [value.llvm for value in passed.values()])

    code.switch(rows, counts, sums_of)
