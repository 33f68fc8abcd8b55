"""Rows of two pairs of results of a lane, half a strip apart, stored as far as they are the strip's."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR

PAIR = 2


def pair_storer(rows: int, apart: int) -> Any:
    """Return the function that writes two pairs of float32, `apart` samples from each other, in some rows.

    `store(out, row, first, end, sample, samples, results)`: `row` and `sample` are those of the first result,
    `sample` is even; nothing is written before row `first`, from row `end` on, or from sample `samples` on.
    """
    places = [0, 1, apart, apart + 1]

    def store(code, out, row, first, end, sample, samples, results):
        data = code.pointer(out)
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        pointers = [data + (code.wide(row) * pitch + code.wide(sample))]
        row, first, end, sample, samples = (
            code.narrow(value) for value in (row, first, end, sample, samples)
        )
        for _ in range(rows - 1):
            pointers.append(pointers[-1] + pitch)
        above, below = row - first, end - (row + rows)
        right = samples - (sample + (places[-1] + 1))
        # Negative if anything lies outside, or pairs are not aligned to both of them.
        signs = above | below | (right | code.odd_sign(pitch))

        def whole_rows() -> None:
            for i, pointer in enumerate(pointers):
                for k in range(0, VECTOR, PAIR):
                    (pointer + places[k]).store(results[VECTOR * i + k : VECTOR * i + k + PAIR])

        def one_by_one() -> None:
            for i, pointer in enumerate(pointers):
                number = row + i
                for _ in code.where(code.all_of(number >= first, number < end)):
                    for k, place in enumerate(places):
                        for _ in code.where(sample + place < samples):
                            (pointer + place).store(results[VECTOR * i + k])

        code.when(signs >= 0, whole_rows, one_by_one)

    return device_function(types.void, store)
