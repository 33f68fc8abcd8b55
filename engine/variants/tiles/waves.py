"""How high strips are, so that the last blocks on a large GPU end at about the same time. Pure integers."""

from engine.work.filtering.problem import Problem

MULTIPROCESSORS = 132
"""As a large GPU has (H200)."""

MULTIPROCESSOR_SHARED_BYTES, RESERVED_BYTES = 228 * 1024, 1024
"""Shared memory of a multiprocessor, and what CUDA reserves of it per block (CUDA C++ Programming Guide)."""

MOST_WAVES = 8


def resident_blocks(shared_bytes: int) -> int:
    """Return how many blocks with so much shared memory are resident on a multiprocessor at once."""
    return MULTIPROCESSOR_SHARED_BYTES // (shared_bytes + RESERVED_BYTES)


def rows_of_strips(problem: Problem, across: int, resident: int, *, step: int, least: int = 1) -> int:
    """Return the rows of results per strip of a picture.

    Low strips read the rows above and below them, which the mask reaches over, many times; few high ones
    leave multiprocessors idle at the end. A block's time is taken as proportional to its input rows, and the
    whole as so many waves of blocks: the last one counts half even where it is not full, and `late` is for
    blocks that take longer, those at an edge above all. The numbers are fitted to 475 random problems (H200;
    docs/experiments/strips.md).

    Parameters
    ----------
    problem : Problem
        The picture and the mask's shape.
    across : int
        Blocks side by side.
    resident : int
        Blocks that are resident on a multiprocessor at once.
    step : int
        The result is a multiple of it.
    least : int
        The fewest rows.
    """
    height, halo = problem.height, problem.mask_shape[0] - 1
    # float32 of one channel is copied in the same way at an edge and inside.
    late = 0.5 if problem.channels == 1 and problem.itemsize == 4 else 1.5
    wave = MULTIPROCESSORS * resident
    fewest = -(-across // wave)
    best_rows, best_time = height, float("inf")
    for waves in range(fewest, fewest + MOST_WAVES):
        rows = max(-(-height // (waves * wave // across)), least)
        rows = -(-rows // step) * step
        blocks = across * -(-height // rows)
        time = (rows + halo) * (-(-blocks // wave) + blocks / wave + late)
        if time < best_time:
            best_rows, best_time = rows, time
    return best_rows
