"""The shape of a block's work where digits of weights are summed on tensor cores. Pure integers.

One multiplication (`mma.m16n8k32`) has 16 rows, 8 columns and 32 products per sum. Here a row is a position
in the picture: 8 lanes along a row of it, each with two fours of pixels of one channel. A column is one of 2
neighbouring results in 4 rows, one below the other. The 32 products are two halves: each 4 pixels of 4 rows,
the same ones counted from every position. So all samples that a multiplication takes from a lane are its own,
and two of them with each piece of the mask make 4 rows of results of all 16 fours.

A lane (g, t) = (lane / 4, lane modulo 4) holds samples of rows t, t + 4, ... of the tile, and gets results of
row t.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from engine.variants.tiles.byte_tile_shape import aligned_loads

PIXELS = 4
"""Neighbouring pixels of one channel in a word, and rows of results that four lanes share."""

POSITIONS = 4
"""Fours of pixels in a row of one lane: 16 bytes per channel, the most that it stores at once."""

PIECE = 16
WARPS = 4
"""Warps of a block, one above the other."""

HalfStep = tuple[int, int] | None
"""Half a multiplication: (fours of rows, fours of pixels); None for one of zeros."""


@dataclass(frozen=True, slots=True)
class DigitShape:
    """The shape of a block's work; everything is known when the kernel is compiled."""

    mask_rows: int
    mask_columns: int
    channels: int
    left_pixels: int  # Columns left of the anchor.

    @property
    def rounds(self) -> int:
        """Fours of rows that a warp computes one after another, which share the rows of a tile around them.

        On several channels nothing was gained (RGB 5 x 5, H200: 59.5 us with two rounds, 58.0 with one).
        """
        return 4 if self.channels == 1 else 1

    @property
    def registers(self) -> int | None:
        """Registers that a lane is granted, as measured (H200); None where the compiler decides.

        By itself it takes fewer, and loads digits only when they are multiplied. On one channel more blocks
        make up for that up to 9 x 9. Masks longer than 11 cells need more than these.
        """
        limits = {9: None, 11: 128} if self.channels == 1 else {5: 96, 9: 128, 11: 168}
        longest = max(self.mask_rows, self.mask_columns)
        return next((registers for side, registers in limits.items() if longest <= side), None)

    @property
    def is_staged(self) -> bool:
        """Whether results go through shared memory: a lane has more per row than it stores at once."""
        return self.channels > 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * WARPS

    @property
    def across(self) -> int:
        """Samples of results in a row of one lane."""
        return PIXELS * POSITIONS * self.channels

    @property
    def out_samples(self) -> int:
        """Samples of results in a row of a warp and of the block."""
        return 8 * self.across

    @property
    def warp_rows(self) -> int:
        """Rows of results of a warp."""
        return PIXELS * self.rounds

    @property
    def out_rows(self) -> int:
        """Rows of results of the block."""
        return WARPS * self.warp_rows

    @property
    def left(self) -> int:
        """Samples left of the anchor."""
        return self.left_pixels * self.channels

    @property
    def right_pixels(self) -> int:
        """Columns right of the anchor."""
        return self.mask_columns - 1 - self.left_pixels

    @property
    def right(self) -> int:
        """Samples right of the anchor."""
        return self.right_pixels * self.channels

    @property
    def before(self) -> int:
        """Samples of the tile before the first result: those left of the anchor, in whole pieces."""
        return -(-self.left // PIECE) * PIECE

    @property
    def tile_rows(self) -> int:
        """Rows of the tile that a result needs."""
        return self.out_rows + self.mask_rows - 1

    @property
    def tile_samples(self) -> int:
        """Samples, and bytes, in a row of the tile: an odd multiple of 32.

        Then 16 bytes of each of the 8 lanes that are served at once, 2 in each of 4 rows, lie in different
        banks.
        """
        thirty_twos = -(-(self.before + self.out_samples + self.right) // 32)
        return 32 * (thirty_twos | 1)

    @property
    def fours_of_rows(self) -> int:
        """Fours of rows that lie under one four of rows of results."""
        return -(-(self.mask_rows + 3) // PIXELS)

    @property
    def tile_bytes(self) -> int:
        """The tile, and rows after it that are only multiplied by zeros."""
        return (self.out_rows + PIXELS * (self.fours_of_rows - 1)) * self.tile_samples

    @property
    def stage_pitch(self) -> int:
        """Bytes from a row of a warp's staged results to the next.

        Of 0 to 7 pieces more than the results the fewest that spread 16 bytes of each of the 8 lanes that are
        served at once, 2 in each of 4 rows, over the most banks.
        """
        eight = [(row, lane) for row in range(4) for lane in range(2)]

        def banks(pitch: int) -> int:
            return len({(row * pitch + lane * self.across) // PIECE % 8 for row, lane in eight})

        return max((self.out_samples + PIECE * more for more in range(8)), key=banks)

    @property
    def stage_bytes(self) -> int:
        """Bytes of results that a warp stages at once."""
        return PIXELS * self.stage_pitch if self.is_staged else 0

    @property
    def shared_bytes(self) -> int:
        """The tile, then the stages of all warps."""
        return self.tile_bytes + WARPS * self.stage_bytes

    @property
    def pixel_groups(self) -> range:
        """All fours of pixels under a lane's results in a row, counted from the first one of its own."""
        return range(-self.left_pixels // PIXELS, POSITIONS + (PIXELS - 1 + self.right_pixels) // PIXELS)

    def half_steps(self, pair: int) -> list[HalfStep]:
        """Return the halves of the multiplications for results 2 pair and 2 pair + 1 of each four, in pairs.

        Where possible both halves of a multiplication are fours of rows of one column: then others use the
        same words.
        """
        first, last = 2 * pair - self.left_pixels, 2 * pair + 1 + self.right_pixels
        groups = range(first // PIXELS, last // PIXELS + 1)
        paired = self.fours_of_rows // 2 * 2
        found: list[HalfStep] = [
            (rows + below, group) for group in groups for rows in range(0, paired, 2) for below in (0, 1)
        ]
        found += [(paired, group) for group in groups if self.fours_of_rows % 2]
        return [*found, None] if len(found) % 2 else found

    @property
    def digit_vectors(self) -> int:
        """Loads of 4 words of one digit of the weights that a lane multiplies with."""
        return -(-sum(len(self.half_steps(pair)) for pair in (0, 1)) // 4)

    def sources(self, group: int, channel: int) -> list[tuple[int, int] | None]:
        """Return the (word, byte) of the 4 samples of a four of pixels, counted from the lane's first result.

        None for samples that no result needs.
        """
        needed = range(-self.left_pixels, PIXELS * POSITIONS + self.right_pixels)
        return [
            divmod(self.channels * pixel + channel, 4) if pixel in needed else None
            for pixel in range(PIXELS * group, PIXELS * (group + 1))
        ]

    def _needed_words(self, channels: Iterable[int]) -> set[int]:
        """Return the words of a row of the tile in which channels have samples that a lane needs."""
        sources = (self.sources(group, channel) for group in self.pixel_groups for channel in channels)
        return {place[0] for places in sources for place in places if place}

    @property
    def words(self) -> range:
        """The words of a row of the tile that a lane reads, counted from its first result."""
        words = self._needed_words(range(self.channels))
        return range(min(words), max(words) + 1)

    @property
    def loads(self) -> tuple[tuple[int, int], ...]:
        """The loads of those words, (first word, words): as wide as every lane's alignment allows."""
        words = self.words
        return tuple(aligned_loads(words[0], words[-1] + 1, math.gcd(self.across // 4, 4)))

    def loads_of(self, channel: int) -> tuple[tuple[int, int], ...]:
        """Return those of the loads in which a channel has samples that are needed."""
        words = self._needed_words([channel])
        return tuple(load for load in self.loads if words & set(range(load[0], sum(load))))

    @property
    def loaded_words(self) -> int:
        """Words of the tile that a lane loads for its results in one row, channel by channel."""
        loads = [self.loads_of(channel) for channel in range(self.channels)]
        return self.fours_of_rows * sum(count for of_channel in loads for _, count in of_channel)
