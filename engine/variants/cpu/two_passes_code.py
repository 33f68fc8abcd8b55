"""The compiled part of `engine.variants.cpu.two_passes`."""

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, row_of, share
from engine.variants.cpu.edges_code import copy_edge, source_row
from engine.variants.cpu.factor_sums import as_floats, sum_along, sum_down
from engine.variants.cpu.register_tiles import DOWN_SAMPLES, FETCHES_RESULTS, RESULTS_AT_ONCE, VECTOR
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, fetch_ahead, smaller

# Rows between the one that is read and the one that is prefetched: 8-bit RGB takes a fifth less time with it.
ROWS_AHEAD = 2


def two_passes_of_bands(picture, out, extent, factors, beyond, fits, block, bands, task, buffers):
    """Take one band after another, until none is left, on as many threads as take part.

    Of the buffers each worker has a row.
    """
    entry_point()
    height, samples, channels = extent
    column_factor, row_factor, mirrored = factors
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    block_rows, tile_samples, pitch = block
    edges, all_floats, ghost_row, all_last_results, all_sums = buffers
    worker = share(task)
    edge, floats = row_of(edges, worker), row_of(all_floats, worker)
    last_results, sums = row_of(all_last_results, worker), row_of(all_sums, worker)
    size, out_size = edge.itemsize, last_results.itemsize
    mask_rows, mask_columns = column_factor.size, row_factor.size
    while True:
        band = count_one(task, TAKEN)
        if band >= bands.shape[0]:
            break
        band_top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = smaller(samples, first + tile_samples)
        whole = (last - first) // VECTOR * VECTOR
        inside = first >= before and last + after + 2 * VECTOR <= samples
        for top in range(band_top, bottom, block_rows):
            rows = smaller(block_rows, bottom - top)
            kept = 0
            if top > band_top:
                kept = mask_rows - 1
                copy_samples(address_of(sums, 0), address_of(sums, block_rows * pitch), kept * pitch, sums)
            for number in range(kept, rows + mask_rows - 1):
                source = source_row(top - anchor_row + number, height, outside_rows, anchor_row)
                row_address = picture + source * samples * size
                address = row_address + (first - before) * size
                fetch_ahead(address + ROWS_AHEAD * samples * size, last - first + before + after, edge)
                if FETCHES_RESULTS and number - kept < rows:
                    result = out + ((top + number - kept) * samples + first) * out_size
                    fetch_ahead(result, last - first, last_results)
                if source < 0:
                    address = address_of(ghost_row, 0)
                elif not inside:
                    copy_edge(
                        row_address, samples, first - before, last + after, outside_samples, before,
                        ghost_row, edge, 0,
                    )  # fmt: skip
                    address = address_of(edge, 0)
                address = as_floats(address, edge, floats, last - first + before + after)
                width, at = last - first, number * pitch
                sum_along(address, edge, row_factor, mask_columns, mirrored, channels, width, sums, at)
            begin = 0
            while begin < last - first:
                # What is left beside whole vectors goes through a buffer: it would be written past the row.
                is_whole = begin < whole
                width = smaller(DOWN_SAMPLES, whole - begin) if is_whole else last - first - whole
                row = 0
                while row < rows:
                    results = RESULTS_AT_ONCE if rows - row >= RESULTS_AT_ONCE <= mask_rows else 1
                    at = out + ((top + row) * samples + first + begin) * out_size
                    target, target_pitch = at, samples
                    if not is_whole:
                        target, target_pitch = address_of(last_results, 0), VECTOR
                    sum_down(
                        sums, row * pitch + begin, pitch, column_factor, mask_rows, width, offset, fits,
                        results, target, last_results, target_pitch,
                    )  # fmt: skip
                    if not is_whole:
                        for r in range(results):
                            there = at + r * samples * out_size
                            copy_samples(there, address_of(last_results, r * VECTOR), width, last_results)
                    row += results
                begin += width
    finish(task, worker)
