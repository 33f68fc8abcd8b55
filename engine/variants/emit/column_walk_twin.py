"""A step of `box` down the columns in plain Python: what `cuda_column_walk.py` emits, element by element."""

from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

from engine.variants.emit.box_strip import LANES, BoxStrip
from engine.variants.emit.cuda_quantise import quantised_twin


def column_walk_twin(strip: BoxStrip, itemsize: int) -> Any:
    """Return the twin of `walk` for a strip's shape and results of so many bytes."""
    across, apart, channels = strip.out_samples, strip.tile.tile_samples, strip.channels

    def along_row(tile: Any, at: int, back_at: int, sample: int, weight: Any) -> Any:
        own = sample + strip.shift
        if not strip.segment:
            total = tile[at + own] * weight
            for n in range(1, strip.mask_columns):
                total = total + tile[at + own + n * channels] * weight
            return total
        total = tile[back_at + own]
        parts = strip.parts(sample)
        pixel, channel = divmod(own, channels)
        for number in range(pixel // strip.segment + 1, pixel // strip.segment + parts - 1):
            last = (number + 1) * strip.segment - 1
            total = total + tile[at + last * channels + channel]
        if parts > 1:
            total = total + tile[at + own + (strip.mask_columns - 1) * channels]
        return total

    def column(
        tile: Any, at: int, back_at: int, slot: int, previous: int, total: int, weight: Any, sample: int
    ) -> list[Any]:
        entering = [
            along_row(tile, at + j * apart, back_at + j * strip.back_pitch, sample, weight)
            for j in range(strip.step_rows)
        ]
        if not strip.slots:
            return entering
        ring, totals = strip.ring_at + sample, strip.totals_at + sample
        kept = [tile[ring + slot + j * across] for j in range(strip.step_rows)]
        leaving = list(accumulate(reversed(kept)))[::-1]
        common = [tile[totals + k * across] for k in range(strip.totals)]
        entered = list(accumulate(entering))
        results = [
            (left + reduce(add, common) if common else left) + right
            for left, right in zip(leaving, entered, strict=True)
        ]
        for j, value in enumerate(entering):
            step, row = divmod(strip.rest + j, strip.step_rows)
            tile[ring + (slot if step or not strip.rest else previous) + row * across] = value
        if strip.totals and not strip.rest:
            tile[totals + total] = entered[-1]
        elif strip.rest:
            if strip.whole_steps > 1:
                tile[totals + total] = tile[totals + total] + entered[-strip.rest - 1]
            following = (total + across) % (strip.totals * across)
            tile[totals + following] = reduce(add, entering[-strip.rest :])
        return results

    def twin(
        tile: Any, at: int, back_at: int, slot: int, previous: int, total: int, weight: Any, lane: int,
        row: int, rows: int, out: Any, first_row: int, first_sample: int, samples: int, offset: Any,
    ) -> None:  # fmt: skip
        for sample in range(lane, across, LANES):
            results = column(tile, at, back_at, slot, previous, total, weight, sample)
            x = first_sample + sample
            for j, result in enumerate(results):
                if 0 <= row + j < rows and x < samples:
                    value = quantised_twin(result + offset, itemsize)
                    out[first_row + row + j, x // channels, x % channels] = value

    return twin
