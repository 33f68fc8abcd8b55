"""The cells between two cells: what a quick stroke of the brush passes. No widgets in here."""

Cell = tuple[int, int]


def cells_between(start: Cell, end: Cell) -> list[Cell]:
    """Return the cells on the straight line from one cell to another, both included.

    J. Bresenham, "Algorithm for computer control of a digital plotter", IBM Systems Journal 4, 1965, in the
    form that rounds: one cell for each step along the longer side.
    """
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (
            round(start[0] + (end[0] - start[0]) * at / steps),
            round(start[1] + (end[1] - start[1]) * at / steps),
        )
        for at in range(steps + 1)
    ]
