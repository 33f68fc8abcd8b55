"""The compiled part of `cpu-box`."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, row_of, share
from engine.variants.cpu.edges_code import copy_edge, source_row
from engine.variants.cpu.register_tiles import VECTOR
from engine.variants.cpu.window_sums import add_line, add_neighbours, take_row
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, smaller


def box_sums_of_bands(picture, out, extent, mask, beyond, tile_samples, bands, task, buffers):
    """Take one band after another, until none is left, on as many threads as take part.

    Of the buffers each worker has a row; one of `lines` has a line of `pitch` values for each mask row, the
    ring, and MORE_LINES more; they are 0 at first.
    """
    entry_point()
    height, samples, channels = extent
    mask_rows, mask_columns, weight = mask
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    edges, ghost_row, all_lines, pitch = buffers
    worker = share(task)
    edge, lines = row_of(edges, worker), row_of(all_lines, worker)
    size, value_size = edge.itemsize, lines.itemsize
    front, window = (mask_rows + 1) * pitch, (mask_rows + 2) * pitch
    spare, results = (mask_rows + 3) * pitch, (mask_rows + 4) * pitch
    while True:
        band = count_one(task, TAKEN)
        if band >= bands.shape[0]:
            break
        top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = smaller(samples, first + tile_samples)
        count = last - first
        length = count + before + after
        inside = first >= before and last + after + VECTOR <= samples
        ring_line = 0
        for number in range(bottom - top + mask_rows - 1):
            source = source_row(top - anchor_row + number, height, outside_rows, anchor_row)
            row_address = picture + source * samples * size
            address = row_address + (first - before) * size
            if source < 0:
                address = address_of(ghost_row, 0)
            elif not inside:
                copy_edge(
                    row_address, samples, first - before, last + after, outside_samples, before, ghost_row,
                    edge, 0,
                )  # fmt: skip
                address = address_of(edge, 0)
            # Lines 0 .. ring_line of the ring are rows of this segment; the later ones are sums of rows, each
            # from there to the last one of the segment before.
            here, ends = ring_line * pitch, (ring_line + 1) * pitch
            take_row(address, edge, weight, length, lines, here, front, ends, window, ring_line == 0)
            if number >= mask_rows - 1:
                at = out + ((top + number - mask_rows + 1) * samples + first) * value_size
                target = at if count % VECTOR == 0 else address_of(lines, results)
                line, other, covered, step, left = window, spare, 0, channels, mask_columns
                while left > 0:
                    # The digits of the width to the base 4 say of how many sums of 1, 4, 16, ... neighbours a
                    # window is.
                    terms = left % 4
                    if terms > 0 or step == channels:
                        add_neighbours(
                            lines, line + covered, step, terms, target, offset, step == channels, count
                        )
                    covered += terms * step
                    left //= 4
                    length -= 3 * step
                    if left > 0:
                        add_neighbours(
                            lines, line, step, 4, address_of(lines, other), np.float32(0.0), True, length
                        )
                    line, other = other, line
                    step *= 4
                length = count + before + after
                if target != at:
                    copy_samples(at, target, count, lines)
            ring_line += 1
            if ring_line == mask_rows:
                ring_line = 0
                for row in range(mask_rows - 2, 0, -1):
                    add_line(lines, (row + 1) * pitch, row * pitch, length)
    finish(task, worker)
