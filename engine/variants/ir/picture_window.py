"""The part of the picture that a tile shows: where it lies, and whether all of it is the picture's."""

from collections.abc import Callable

from engine.geometry.border import ghost
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.value import ArrayArgument, Value

Rule = Callable[[int, int], int]


class PictureWindow:
    """What every loader has to know of the picture.

    Parameters
    ----------
    code : CudaCode
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    image : array
        The picture, H x W x C.
    samples : int
        Samples of one of its rows; further ones are padding.
    top, left : int
        The row and the sample that the tile begins with, before or in the picture.
    """

    def __init__(
        self, code: CudaCode, rule: Rule, image: ArrayArgument, samples: Value, top: Value, left: Value
    ) -> None:
        self._code, self.rule, self._data = code, rule, code.pointer(image)
        # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the
        # instructions.
        self.height, row_pixels, channels = (code.narrow(side) for side in code.shape(image))
        self.pitch = row_pixels * channels
        self.samples, self.top, self.left = (code.narrow(value) for value in (samples, top, left))
        # By all other rules a cell outside is one of the picture's.
        self.has_ghosts = rule is ghost

    def is_aligned(self, samples: int) -> Value:
        """Return whether rows begin on whole vectors of so many samples; packed rows begin anywhere."""
        return (self.pitch & (samples - 1)) == 0

    def is_inside(self, rows: int, samples: int) -> Value:
        """Return whether so many rows and samples from the tile's first ones on are all the picture's."""
        right, bottom = self.left + samples, self.top + rows
        # Negative if any of them is.
        return (self.left | (self.samples - right)) | (self.top | (self.height - bottom)) >= 0

    def row_of(self, row: Value) -> Value:
        """Return the row that row number `row` of the tile comes from; -1 for ghost cells."""
        return self._code.by_rule(self.rule, self.top + row, self.height)

    def sample_of(self, sample: Value, channels: int, before: int) -> Value:
        """Return the sample of its row that one of the tile comes from; -1 for a ghost cell.

        No tile has more than `before` pixels before the picture, so that what is divided is not negative.
        """
        pixel, channel = divmod(sample + before * channels, channels)
        column = self._code.by_rule(self.rule, pixel - before, self.samples // channels)
        return self._code.select(column < 0, -1, column * channels + channel)

    def row(self, row: Value) -> Value:
        """Return the pointer to a row; that of a row which is none must not be used."""
        return self._data + self._code.wide(row) * self._code.wide(self.pitch)

    def at(self, row: Value, sample: Value) -> Value:
        """Return the pointer to a sample of the picture; its row is one of the picture's."""
        code = self._code
        return self._data + (code.unsigned(row) * code.unsigned(self.pitch) + code.wide(sample))
