"""The shape of a block's work in `box`: how wide its strip is, and how rows and columns are put together. Pure integers.

Along a row, pixels are cut into segments; a window is the end of one of them, whole ones, and the beginning of a last one.
Down the columns, rows are taken `step_rows` at a time. With mask_rows - 1 = whole x step_rows + rest, the windows of the
`step_rows` results of a step have in common the rows between those that leave in this step and those that enter in it:

    leaving step_rows rows | whole - 1 steps | rest rows | entering step_rows rows

Result j is what the leaving rows from j on add up to, what is in common, and the entering rows up to j.
"""

from dataclasses import dataclass
from functools import lru_cache

from engine.variants.emit.register_tile_shape import VECTOR, TileShape

LANES = 32
# Of a mask of so few columns each result adds up its cells itself: no more accesses than sums of segments take, and no
# barrier between them.
MOST_DIRECT_COLUMNS = 7
LONGEST_SEGMENT = 21
MOST_STEP_ROWS = 8
SHARED_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class BoxStrip:
    """The shape of the work of a block, which is one warp; everything is known when the kernel is compiled.

    Parameters
    ----------
    mask_rows, mask_columns, channels : int
    before : int
        Samples of an input row before the strip's first result: those left of the anchor, rounded up to whole vectors.
    shift : int
        Samples of an input row before the first one under the mask's first column.
    lane_samples : int
        Results of a row that each thread has, 32 samples apart.
    step_rows : int
        Rows that enter and leave the windows at once; at most mask_rows - 1, where there are more than one.
    steps : int
        Steps of a batch: rows that are loaded at once.
    segment : int
        Pixels of a segment of a row; 0: results add up the cells of a row themselves.
    ahead : int
        Batches that are under way while one is added up.
    """

    mask_rows: int
    mask_columns: int
    channels: int
    before: int
    shift: int
    lane_samples: int
    step_rows: int
    steps: int
    segment: int
    ahead: int

    @property
    def out_samples(self) -> int:
        """Results of a row."""
        return LANES * self.lane_samples

    @property
    def batch_rows(self) -> int:
        """Input rows that are loaded at once."""
        return self.step_rows * self.steps

    @property
    def segments(self) -> int:
        """Segments of a row in which windows begin, go on or end."""
        if not self.segment:
            return 0
        samples = self.shift + self.out_samples + (self.mask_columns - 1) * self.channels
        return -(-samples // (self.segment * self.channels))

    @property
    def first_segments(self) -> int:
        """Segments of a row in which windows begin."""
        if not self.segment:
            return 0
        return -(-(self.shift + self.out_samples) // (self.segment * self.channels))

    @property
    def tile(self) -> TileShape:
        """The rows of a batch, as they are loaded.

        Rows of whole segments are an odd number of vectors apart: so 8 threads in neighbouring rows meet in no bank.
        """
        samples = self.shift + self.out_samples + (self.mask_columns - 1) * self.channels
        samples = max(samples, self.segments * self.segment * self.channels, LANES * VECTOR)
        samples = -(-samples // VECTOR) * VECTOR
        if self.segment and samples % (2 * VECTOR) == 0:
            samples += VECTOR
        beyond = samples - LANES * VECTOR
        return TileShape(1, 1, self.channels, self.before, beyond, 1, self.batch_rows, 1, 1, 1)

    @property
    def tile_cells(self) -> int:
        """Cells of a batch."""
        return self.batch_rows * self.tile.tile_samples

    @property
    def back_pitch(self) -> int:
        """Sums of a row of segments from each cell to the segment's end."""
        if not self.segment:
            return 0
        samples = -(-self.first_segments * self.segment * self.channels // VECTOR) * VECTOR
        return samples + (VECTOR if samples % (2 * VECTOR) == 0 else 0)

    @property
    def whole_steps(self) -> int:
        """Steps whose rows the mask has, but for one row."""
        return (self.mask_rows - 1) // self.step_rows

    @property
    def rest(self) -> int:
        """Rows of the mask that are left then."""
        return (self.mask_rows - 1) % self.step_rows

    @property
    def slots(self) -> int:
        """Steps whose rows are kept until they leave."""
        return self.whole_steps + (self.rest > 0)

    @property
    def totals(self) -> int:
        """Sums of steps that are kept: of those between leaving and entering rows, and of the rest."""
        return max(0, self.whole_steps - 1) + (self.rest > 0)

    @property
    def early_rows(self) -> int:
        """Rows above the first window that the first step takes with it."""
        return self.step_rows - self.rest if self.rest else 0

    @property
    def back_at(self) -> int:
        """Where, in shared memory, the sums of segments begin, in elements."""
        return (self.ahead + 1) * self.tile_cells

    @property
    def ring_at(self) -> int:
        """Where the rows that are kept begin."""
        return self.back_at + self.batch_rows * self.back_pitch

    @property
    def totals_at(self) -> int:
        """Where the sums of steps begin."""
        return self.ring_at + self.slots * self.step_rows * self.out_samples

    @property
    def shared_cells(self) -> int:
        """All of it."""
        return self.totals_at + self.totals * self.out_samples

    @property
    def jobs(self) -> int:
        """Segments of a batch, each channel by itself."""
        return self.batch_rows * self.segments * self.channels

    def batches(self, rows: int) -> int:
        """Return the batches of a strip of so many rows of results."""
        return -(-(-(-rows // self.step_rows) + self.slots) // self.steps)

    def parts(self, sample: int) -> int:
        """Return the sums of segments that a result is put together from along its row."""
        pixel = (sample + self.shift) // self.channels
        first, last = pixel // self.segment, (pixel + self.mask_columns - 1) // self.segment
        return 1 + last - first

    @property
    def accesses(self) -> float:
        """Accesses to shared memory by the warp for a row of 32 results, the measure by which shapes are chosen."""
        return self._accesses_of_a_batch / (self.batch_rows * self.lane_samples)

    @property
    def _accesses_of_a_batch(self) -> float:
        along = self.mask_columns * self.lane_samples * self.batch_rows
        if self.segment:
            along = self.batch_rows * sum(self.parts(sample) for sample in range(self.out_samples)) // LANES
            along += self.segment * self._turns_of_the_jobs
        kept = 2 * self.batch_rows if self.slots else 0
        down = self.lane_samples * (kept + self.steps * (self.totals + (self.totals > 0) + (self.rest > 0)))
        return along + down + self.tile_cells / LANES

    @property
    def _turns_of_the_jobs(self) -> int:
        """Times that banks are read or written for one cell of each segment: once a warp, more where threads meet in one."""
        turns = 0
        row_cells, back_pitch, wide = self.tile.tile_samples, self.back_pitch, self.segment * self.channels
        for first_job in range(0, self.jobs, LANES):
            fronts, backs = [0] * LANES, [0] * LANES
            for job in range(first_job, min(first_job + LANES, self.jobs)):
                unit, row = divmod(job, self.batch_rows)
                number, channel = divmod(unit, self.channels)
                place = number * wide + channel
                fronts[(row * row_cells + place) % LANES] += 1
                backs[(row * back_pitch + place) % LANES] += number < self.first_segments
            turns += 2 * max(fronts) + max(backs)
        return turns


@lru_cache(maxsize=256)
def box_strip(mask_shape: tuple[int, int], anchor_column: int, channels: int) -> BoxStrip:
    """Return the shape of a block's work: the one with the fewest accesses to shared memory that fits into it."""
    rows, columns = mask_shape
    left = anchor_column * channels
    before = -(-left // VECTOR) * VECTOR
    most = min(MOST_STEP_ROWS, rows - 1) if rows > 1 else MOST_STEP_ROWS
    step_rows = [rows_of_step for rows_of_step in range(most, 0, -1) if rows_of_step >= min(most, 4)]
    segments = [0]
    if columns > MOST_DIRECT_COLUMNS:
        longest = min(columns, LONGEST_SEGMENT)
        # An odd number of cells apart, neighbouring segments begin in different banks.
        segments = sorted({longest, *range(MOST_DIRECT_COLUMNS, longest + 1, 2)})
    candidates = [
        BoxStrip(
            rows, columns, channels, before, before - left, lane_samples, step, max(1, 8 // step), segment, 1
        )
        for lane_samples in (4, 3, 2, 1)
        for step in step_rows
        for segment in segments
    ]
    fitting = [candidate for candidate in candidates if 4 * candidate.shared_cells <= SHARED_BYTES]
    return min(fitting or candidates[-1:], key=lambda candidate: candidate.accesses)
