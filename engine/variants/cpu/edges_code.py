"""The compiled part of `engine.variants.cpu.edges`: rows beyond the picture, and copies of its edges."""

from numba import njit

from engine.variants.emit.cpu_vectors import address_of, copy_samples, larger, smaller


@njit(nogil=True, inline="always")
def source_row(row, height, outside_rows, anchor_row):
    """Return the picture's row that the border puts at `row`, or -1 for a row of ghost cells."""
    if row < 0:
        return outside_rows[row + anchor_row]
    return row if row < height else outside_rows[row - height + anchor_row]


@njit(nogil=True, inline="always")
def source_sample(sample, samples, outside_samples, before):
    """Return the sample of a row that the border puts at `sample`, or -1 for a ghost cell."""
    if sample < 0:
        return outside_samples[sample + before]
    return sample if sample < samples else outside_samples[sample - samples + before]


@njit(nogil=True, inline="always")
def copy_edge(row_address, samples, first, last, outside_samples, before, ghost_row, edge, at):
    """Copy samples first .. last - 1 of a row, with those beside the picture, into the buffer `edge`."""
    size = edge.itemsize
    inside = larger(first, 0)
    count = smaller(last, samples) - inside
    copy_samples(address_of(edge, at + inside - first), row_address + inside * size, count, edge)
    left = larger(-first, 0)
    for number in range(left + larger(last - samples, 0)):
        # Those left of the picture come first, in the table too.
        sample = first + number if number < left else samples + number - left
        source = outside_samples[before + (sample if number < left else sample - samples)]
        address = address_of(ghost_row, 0) if source < 0 else row_address + source * size
        copy_samples(address_of(edge, at + sample - first), address, 1, edge)
