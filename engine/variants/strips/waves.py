"""How high strips are, so that the blocks of a large device end at about the same time. Pure integers."""

from engine.tasks.filtering.problem import Problem

MULTIPROCESSORS = 132
"""Of a large device."""

SHARED_BYTES_OF_ALL, RESERVED_BYTES = 228 * 1024, 1024
"""Shared memory of a multiprocessor, and what it keeps of it for each block (CUDA C++ Programming Guide)."""

MOST_WAVES = 8


def blocks_at_once(shared_bytes: int) -> int:
    """Return how many blocks of so much shared memory a multiprocessor has at once."""
    return SHARED_BYTES_OF_ALL // (shared_bytes + RESERVED_BYTES)


def rows_of_strips(
    problem: Problem, across: int, of_one: int, *, step: int, beyond: int = 0, least: int = 1
) -> int:
    """Return the rows of results per strip of a picture.

    Many low strips read again and again the rows above and below them, which the mask reaches over; few high
    ones leave multiprocessors idle at the end. A block takes as long as it has rows, and all blocks as long
    as their waves: a wave that is not full counts half as a whole one, and some blocks end late, those at an
    edge above all. The numbers are fitted to 475 random problems (H200; docs/experiments/strips.md).

    Parameters
    ----------
    problem : Problem
        The picture and the mask's shape.
    across : int
        Blocks side by side.
    of_one : int
        Blocks that a multiprocessor has at once.
    step, beyond : int
        The rows are a multiple of `step`, less `beyond`.
    least : int
        The fewest rows.
    """
    height, again = problem.height, problem.mask_shape[0] - 1
    # Float32 of one channel is copied alike at an edge and inside.
    late = 0.5 if problem.channels == 1 and problem.itemsize == 4 else 1.5
    at_once = MULTIPROCESSORS * of_one
    fewest = -(-across // at_once)
    best_rows, best_time = height, float("inf")
    for number in range(fewest, fewest + MOST_WAVES):
        rows = max(-(-height // (number * at_once // across)), least)
        rows = -(-(rows + beyond) // step) * step - beyond
        blocks = across * -(-height // rows)
        time = (rows + again) * (-(-blocks // at_once) + blocks / at_once + late)
        if time < best_time:
            best_rows, best_time = rows, time
    return best_rows
