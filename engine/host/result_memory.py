"""Memory for the result of a picture as a whole, and what is shown of it.

Called on: the main thread of the host process.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.anti_aliasing import ANTI_ALIAS_BYTES, PAGE_BYTES, placed_result
from engine.host import shared
from engine.host.display_levels import full_scale, value_range
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.host.shared_array import Computed, SharedArray
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.host.tiles import TiledScreen
from engine.image.scratch import Scratch

# Of a large result, this much becomes levels for the screen at once, and is given back: enough for all cores.
_BAND_BYTES = 32 << 20


class ResultMemory(SharedSegment):
    """Where a kernel writes a result, and the levels for the screen that are made of it.

    With `keeps` the values stay, in shared memory, which is written without a copy. Else they are given back
    while the levels grow.
    """

    def __init__(self, picture: PictureHandle, *, keeps: bool) -> None:
        super().__init__()
        self._picture, self._keeps = picture, keeps

    def allocate(self, samples: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Return the memory for the result of samples of a shape (H, W, C)."""
        shape = samples.shape
        if not self._keeps:
            # What was kept for the next preview would come on top of the whole result.
            shared.trim_spares()
            self._levels = self.create(*screen_arrays(*shape[:2]))
            size = math.prod(shape) * np.dtype(dtype).itemsize + PAGE_BYTES
            self._scratch = Scratch((size,), np.uint8, huge_pages=True)
            self.array: NDArray[Any] = placed_result(self._scratch.array, samples, shape, dtype)
            return self.array
        # Segments begin with a page, the picture's too (`engine.device.anti_aliasing`).
        _, self._values, *levels = self.create(
            ((ANTI_ALIAS_BYTES,), "uint8"), (shape, dtype), *screen_arrays(*shape[:2])
        )
        self._levels, self.array = tuple(levels), shared.attach(self._values)
        return self.array

    def shown(
        self, range_mode: str, computed: Computed
    ) -> tuple[SharedArray | Computed, ScreenLevels | TiledScreen]:
        """Return the values, which are `computed` where they are not kept, and the levels for the screen."""
        picture = self._picture
        if self._keeps:
            white = full_scale(np.dtype(picture.dtype))
            return self._values, self.rendered(self._values, self._levels, white, range_mode, picture.alpha)
        ends = value_range(self.array) if range_mode == "rescale" else None
        return computed, self.rendered_in_bands(picture, self._levels, self._given_back(), range_mode, ends)

    def _given_back(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the result in bands, each of which is given back to the system when the next one is wanted.

        The levels for the screen grow in the meantime.
        """
        values = self.array
        step = max(2, _BAND_BYTES // values[0].nbytes // 2 * 2)
        for top in range(0, len(values), step):
            rows = slice(top, min(top + step, len(values)))
            yield rows, values[rows]
            self._scratch.give_back(values[rows])
