"""The compiled part of `engine.variants.cpu.streamed_bands`.

Of a large mask, parts of its rows are taken one after another for the same few hundred columns. What some
input rows add up to in one part lies in rows of its own, `between`, for the next part: they never leave the
first cache.
"""

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, row_of, share
from engine.variants.cpu.edges_code import copy_edge, source_row
from engine.variants.cpu.register_tiles import MOST_ROWS, PART_SAMPLES, PARTIAL_SUMS, ROWS_AT_ONCE
from engine.variants.cpu.row_sums import rows_as_floats, sum_rows
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, larger, smaller


# Addresses instead of arrays for the picture and the result: whether they may be written to is part of an
# array's type, and each type costs a compilation. What can be computed before comes computed: each line here
# costs 10 ms of it.
def stream_bands(
    picture, out, extent, weights, row_factor, mask, beyond, how, task, edge_buffers, all_floats, buffers
):
    """Take one band after another, until none is left, on as many threads as take part.

    A band has its first and past-the-last row, and its first and past-the-last part; a part its first and
    past-the-last result of a row, the column of its totals, and the element of its edge buffer, or -1 for a
    part of the middle. With a `row_factor` the weights are the column of a mask that is a column times this
    row, and `pairs` as `sum_rows` has it. So many samples as `step` are taken at once, across. Of the buffers
    each worker has a row. `all_floats` is None where samples are not made float32 first.
    """
    entry_point()
    height, samples, channels = extent
    pairs, mask_rows, mask_columns = mask
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    fits, past_cache, step, bands, parts = how
    edges, edge_pitch, ghost_row, edges_results, edge_results_pitch = edge_buffers
    floats_pitch, all_between, all_totals, totals_pitch = buffers
    worker = share(task)
    edge, edge_results = row_of(edges, worker), row_of(edges_results, worker)
    between, totals = row_of(all_between, worker), row_of(all_totals, worker)
    if all_floats is not None:
        floats = row_of(all_floats, worker)
    size, out_size = edge.itemsize, edge_results.itemsize
    # In parts each row of totals would be read where another part had left one for the next input row.
    takes_rows = mask_rows <= MOST_ROWS or not PARTIAL_SUMS
    while True:
        band = count_one(task, TAKEN)
        if band >= bands.shape[0]:
            break
        top, bottom = bands[band, 0], bands[band, 1]
        # The row of results that the input row completes; negative: none yet.
        result = 1 - mask_rows
        while result < bottom - top:
            # The mask rows under which this input row meets results of the band. With a row factor all are
            # taken: it costs little, and without code for each number of rows that a band begins and ends
            # with, two thirds are left.
            past, lowest, left = mask_rows, 0, bottom - top - result
            if row_factor is None:
                if result < 0:
                    past = result + mask_rows
                lowest = larger(0, mask_rows - left)
                left -= mask_rows - 1
            row = top - anchor_row + result + mask_rows - 1
            source = source_row(row, height, outside_rows, anchor_row)
            rows = 1
            if lowest == 0 and result >= 0 and source == row and takes_rows:
                rows = smaller(smaller(ROWS_AT_ONCE, height - row), left)
            for part in range(bands[band, 2], bands[band, 3]):
                first, last, buffer = parts[part, 0], parts[part, 1], parts[part, 3]
                row_address = picture + source * samples * size
                if source < 0:
                    address, pitch = address_of(ghost_row, 0), 0
                elif buffer < 0:
                    address, pitch = row_address + (first - before) * size, samples
                else:
                    for r in range(rows):
                        copy_edge(
                            row_address + r * samples * size, samples, first - before, last + after,
                            outside_samples, before, ghost_row, edge, buffer + r * edge_pitch,
                        )  # fmt: skip
                    address, pitch = address_of(edge, buffer), edge_pitch
                results = out + ((top + result) * samples + first) * out_size
                target, target_pitch = results, samples
                if buffer >= 0:
                    target, target_pitch = address_of(edge_results, 0), edge_results_pitch
                elif result < 0:
                    # A result of the band before; where its own totals do not matter.
                    target = address_of(totals, mask_rows * totals_pitch)
                for at in range(0, last - first, step):
                    width, column = smaller(step, last - first - at), parts[part, 2] + at
                    source_address, source_pitch = address + at * size, pitch
                    if all_floats is not None:
                        count = before + width + after
                        rows_as_floats(source_address, edge, pitch, rows, floats, floats_pitch, count)
                        source_address, source_pitch = address_of(floats, 0), floats_pitch
                    begin, entering, entering_pitch, other = lowest, address_of(totals, column), 0, 0
                    while begin < past:
                        end = past
                        if row_factor is None:
                            # In equal parts.
                            takes = (past - begin + MOST_ROWS - 1) // MOST_ROWS
                            end = begin + (past - begin + takes - 1) // takes
                        leaving = address_of(totals, past * totals_pitch + column)
                        if end < past:
                            leaving = address_of(between, other)
                        sum_rows(
                            (source_address, source_pitch, rows), edge, all_floats,
                            (totals, begin * totals_pitch + column, totals_pitch),
                            (entering, entering_pitch, leaving, PART_SAMPLES),
                            (weights, begin, mask_rows, pairs, end - begin, mask_columns, channels),
                            row_factor,
                            (target + at * out_size, target_pitch, width, offset, fits, end == mask_rows,
                             past_cache and buffer < 0 and result >= 0),
                            edge_results,
                        )  # fmt: skip
                        if begin > lowest:
                            # The last of them meet the next input row.
                            copy_samples(
                                address_of(totals, begin * totals_pitch + column),
                                entering + (rows - 1) * PART_SAMPLES * totals.itemsize, width, totals,
                            )  # fmt: skip
                        begin, entering, entering_pitch = end, leaving, PART_SAMPLES
                        other = ROWS_AT_ONCE * PART_SAMPLES - other
                if buffer >= 0 and result >= 0:
                    for r in range(rows):
                        source_address = address_of(edge_results, r * edge_results_pitch)
                        copy_samples(
                            results + r * samples * out_size, source_address, last - first, edge_results
                        )
            result += rows
    finish(task, worker)
