"""The shape of a block's work where its tile of an 8-bit picture stays bytes. Pure integers."""

from dataclasses import dataclass

WORD = 4
"""Samples of a word: what a thread reads of shared memory at least."""

PIECE = 16
"""Samples that are copied at once; a tile's rows are whole pieces, and begin on one in the picture."""


@dataclass(frozen=True, slots=True)
class ByteTileShape:
    """The shape of a block's work; everything is known when the kernel is compiled."""

    mask_rows: int
    mask_columns: int
    channels: int
    left: int  # Samples left of the anchor: its column x channels.
    vectors: int  # Neighbouring words of results in a row of one thread.
    rows: int  # Rows of results of a thread.
    warps: int  # Warps of a block, one above the other.

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def across(self) -> int:
        """Samples of results in a row of one thread."""
        return WORD * self.vectors

    @property
    def out_samples(self) -> int:
        """Samples of results in a row of the block."""
        return 32 * self.across

    @property
    def out_rows(self) -> int:
        """Rows of results of the block."""
        return self.rows * self.warps

    @property
    def before(self) -> int:
        """Samples of the input tile before the output tile: those left of the anchor, in whole pieces."""
        return -(-self.left // PIECE) * PIECE

    @property
    def right(self) -> int:
        """Samples of the mask right of the anchor."""
        return (self.mask_columns - 1) * self.channels - self.left

    @property
    def shift(self) -> int:
        """Samples from the first one of a thread's window to the one under the mask's first column."""
        return -self.left % WORD

    @property
    def words(self) -> int:
        """Words of a thread's window."""
        return -(-(self.shift + self.left + self.across + self.right) // WORD)

    @property
    def window(self) -> int:
        """Samples that a thread reads of an input row for its results in one row."""
        return WORD * self.words

    @property
    def first_word(self) -> int:
        """Where the window of a row's first thread begins in a row of the tile, words."""
        return (self.before - self.left - self.shift) // WORD

    @property
    def loads(self) -> tuple[tuple[int, int], ...]:
        """The loads of a window, (first word, words): as wide as they are aligned for every thread."""
        widest = self.vectors & -self.vectors
        loads, word = [], 0
        while word < self.words:
            size = min(4, widest)
            while (self.first_word + word) % size or word + size > self.words:
                size //= 2
            loads.append((word, size))
            word += size
        return tuple(loads)

    @property
    def tile_samples(self) -> int:
        """Samples, and bytes, in a row of the input tile."""
        return -(-WORD * (self.first_word + 31 * self.vectors + self.words) // PIECE) * PIECE

    @property
    def tile_rows(self) -> int:
        """Rows of the input tile."""
        return self.out_rows + self.mask_rows - 1

    @property
    def shared_bytes(self) -> int:
        """The input tile."""
        return self.tile_rows * self.tile_samples

    @property
    def weight_pitch(self) -> int:
        """Weights from one mask row to the next in constant memory: in whole vectors."""
        return -(-self.mask_columns // WORD) * WORD

    @property
    def weights(self) -> int:
        """Weights in constant memory, with what fills their rows up."""
        return self.mask_rows * self.weight_pitch
