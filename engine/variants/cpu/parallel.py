"""`cpu-parallel`: all cores, register tiles, vectors of the machine's own width.

Idea
    The picture is cut into tiles. A task copies its input tile (with its halo, borders applied, samples made
    float32) into a buffer that stays in the core's own cache, then forms the results in register tiles that walk
    the whole mask before anything is stored.
Who loads what
    Each input cell is read from memory once a tile (plus the halo); the mask's reuse comes from the cache.
What it saves
    Against `cpu-serial`: the border's rule leaves the inner loop, eight to sixteen samples are computed at once,
    and all cores work. Interleaved channels need nothing special: a mask column is `channels` samples further on.
Limit
    One load a multiply-add: a machine that can load two vectors a cycle reaches its multiply-add rate.

Sums are formed as in `cpu-serial` (a partial sum a mask row), but each multiply-add rounds once (fused).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
from numba import njit

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.device.cpu import cores
from engine.device.index_rules import cpu_code, source_index
from engine.mask.mask import Mask
from engine.metrics.traffic import tile_cells_inside
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Launch, Variant
from engine.variants.emit.cpu_tile import COLUMNS, ROWS, register_tile
from engine.work import Work, filter_work

# Input tiles of 48 rows by 256 samples (plus the halo of a 5 x 5 mask) take 54 KB: they stay in a core's L2 cache.
TILE_ROWS = 48
TILE_SAMPLES = 256

Band = tuple[int, int, int, int]
"""First and past-the-last row, first and past-the-last sample."""


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the tiles are tasks of CPU threads."""
    return ()


def _cells_loaded(length: int, side: int, halo: int, before: int, ghost_cells: bool) -> int:
    """Return the cells along one axis that all tiles load: their own and the halo, ghost cells not counted."""
    if ghost_cells:
        return tile_cells_inside(length, side, halo + 1, before, ghost_cells=True)
    return length + -(-length // side) * halo


def work(problem: Problem, block: Block) -> Work:
    """Return the work by tiles: input once a tile with its halo; cells and weights from the core's cache after that."""
    (rows, columns), channels, ghosts = problem.mask_shape, problem.channels, problem.border.has_ghost_cells
    loaded_rows = _cells_loaded(problem.height, TILE_ROWS, rows - 1, problem.anchor[0], ghosts)
    loaded_samples = _cells_loaded(
        problem.width * channels, TILE_SAMPLES, (columns - 1) * channels, problem.anchor[1] * channels, ghosts
    )
    return filter_work(problem, picture_loads=loaded_rows * loaded_samples)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return None: every problem can be done."""
    return None


@njit(nogil=True, inline="always")
def tile_pitch(mask_columns: int, channels: int) -> int:
    """Return the samples from one row of the tile to the next: register tiles may reach past the last result."""
    return TILE_SAMPLES + (mask_columns - 1) * channels + COLUMNS


@njit(nogil=True, inline="always")
def _load_tile(image, channels, top, left, rows, samples, border, ghost_value, tile, pitch):
    """Copy rows x samples input cells from (top, left) on into the tile; left counts interleaved samples."""
    height, row_samples = image.shape
    width = row_samples // channels
    inside_first = min(max(0, -left), samples)
    inside_last = max(inside_first, min(samples, row_samples - left))
    for row in range(rows):
        source_row = source_index(top + row, height, border)
        at = row * pitch
        if source_row < 0:
            for sample in range(samples):
                tile[at + sample] = ghost_value
            continue
        # Slices let the compiler see that no index is negative; only then does it use vectors.
        source = image[source_row, left + inside_first : left + inside_last]
        target = tile[at + inside_first : at + inside_last]
        for sample in range(inside_last - inside_first):
            target[sample] = np.float32(source[sample])
        for part in range(2):
            first = 0 if part == 0 else inside_last
            last = inside_first if part == 0 else samples
            for sample in range(first, last):
                column = (left + sample) // channels
                channel = left + sample - column * channels
                source_column = source_index(column, width, border)
                value = ghost_value
                if source_column >= 0:
                    value = np.float32(image[source_row, source_column * channels + channel])
                tile[at + sample] = value


# Flat arrays and buffers come as arguments: making them in here cost 0.4 of 1.8 s of compilation.
@njit(nogil=True, cache=True)
def correlate_band(
    image,
    channels,
    weights,
    mask_rows,
    mask_columns,
    anchor_row,
    anchor_column,
    border,
    ghost_value,
    offset,
    out,
    band_top,
    band_bottom,
    band_left,
    band_right,
    tile,
    spill,
):
    """Compute the results of rows band_top .. band_bottom - 1, samples band_left .. band_right - 1, tile by tile.

    `image` is H x (W x channels), `weights` and `out` are flat; `tile` and `spill` are buffers of this thread.
    """
    samples = image.shape[1]
    halo = (mask_columns - 1) * channels
    pitch = tile_pitch(mask_columns, channels)
    for top in range(band_top, band_bottom, TILE_ROWS):
        rows = min(TILE_ROWS, band_bottom - top)
        for left in range(band_left, band_right, TILE_SAMPLES):
            columns = min(TILE_SAMPLES, band_right - left)
            _load_tile(
                image,
                channels,
                top - anchor_row,
                left - anchor_column * channels,
                rows + mask_rows - 1,
                columns + halo,
                border,
                ghost_value,
                tile,
                pitch,
            )
            for row in range(0, rows, ROWS):
                for column in range(0, columns, COLUMNS):
                    at = row * pitch + column
                    out_at = (top + row) * samples + left + column
                    whole = row + ROWS <= rows and column + COLUMNS <= columns
                    target, target_at, target_pitch = (out, out_at, samples) if whole else (spill, 0, COLUMNS)
                    register_tile(
                        tile,
                        at,
                        pitch,
                        weights,
                        mask_rows,
                        mask_columns,
                        channels,
                        offset,
                        target,
                        target_at,
                        target_pitch,
                    )
                    if not whole:
                        for r in range(min(ROWS, rows - row)):
                            for c in range(min(COLUMNS, columns - column)):
                                out[out_at + r * samples + c] = spill[r * COLUMNS + c]


def bands(height: int, samples: int, workers: int) -> tuple[Band, ...]:
    """Cut a picture of height x samples into at most four bands a worker, of whole tiles.

    Four are enough that a core that is held up costs little. Small pictures get fewer, of eight tiles or more where
    that leaves no worker idle: starting a band costs about 30 us, in turn (16 cores, 512 x 512 RGB, 5 x 5: 0.8 ms with
    11 bands, 2.6 ms with 66). Bands go across the whole picture unless it is too low for that.
    """
    tiles_down, tiles_across = -(-height // TILE_ROWS), -(-samples // TILE_SAMPLES)
    wanted = min(4 * workers, max(workers, tiles_down * tiles_across // 8))
    down = min(wanted, tiles_down)
    across = min(-(-wanted // down), tiles_across) if 2 * down < wanted else 1
    band_rows = TILE_ROWS * -(-tiles_down // down)
    band_samples = TILE_SAMPLES * -(-tiles_across // across)
    return tuple(
        (top, min(top + band_rows, height), left, min(left + band_samples, samples))
        for top in range(0, height, band_rows)
        for left in range(0, samples, band_samples)
    )


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="cpu-parallel")


class Parallel:
    """The tiles, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        rows, columns = problem.mask_shape
        self._problem = problem
        self._mask = (
            problem.channels,
            mask.weights32.reshape(-1),
            rows,
            columns,
            *problem.anchor,
            cpu_code(problem.border),
            np.float32(problem.ghost_value),
            np.float32(mask.offset),
        )
        self._tile_size = (TILE_ROWS + rows - 1 + ROWS) * tile_pitch.py_func(columns, problem.channels)
        self._bands = bands(problem.height, problem.width * problem.channels, cores())

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done."""
        flat_image = image.reshape(self._problem.height, -1)
        flat_out = out.reshape(-1)
        if len(self._bands) == 1:
            self._filter_band(flat_image, flat_out, self._bands[0])
            return
        for _ in _threads().map(lambda band: self._filter_band(flat_image, flat_out, band), self._bands):
            pass

    def _filter_band(self, image: np.ndarray, out: np.ndarray, band: Band) -> None:
        tile = np.zeros(self._tile_size, np.float32)
        spill = np.empty(ROWS * COLUMNS, np.float32)
        correlate_band(image, *self._mask, out, *band, tile, spill)


def prepare(problem: Problem, mask: Mask, block: Block) -> Parallel:
    """Return the tiles for one problem and mask, compiled."""
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    Parallel(replace(problem, height=1, width=1), mask).launch(tiny, np.empty(tiny.shape, np.float32))
    return Parallel(problem, mask)


VARIANT = Variant(
    key="cpu-parallel",
    title="CPU, all cores",
    device=DeviceKind.CPU,
    idea="Tiles that fit a core's cache, sums kept in vector registers, every core at work.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
)
