"""Combinations of what may go wrong together: each two values of different axes meet, not each three."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest

Row = dict[str, Any]


def pairwise(
    axes: Mapping[str, Sequence[Any]], is_possible: Callable[[Row], bool] = lambda row: True
) -> list[Row]:
    """Return rows of one value of each axis, so that each two possible values occur in one of them.

    Every row begins with the first two values that have not met; each further axis gives the value that
    meets the most others for the first time. Whatever the row is not possible with is tried otherwise.
    """
    missing = {
        ((one, a), (other, b)): None
        for one, other in combinations(axes, 2)
        for a in range(len(axes[one]))
        for b in range(len(axes[other]))
    }
    order = {name: number for number, name in enumerate(axes)}

    def new(chosen: dict[str, int], name: str, value: int) -> int:
        pairs = (
            sorted(((one, a), (name, value)), key=lambda end: order[end[0]]) for one, a in chosen.items()
        )
        return sum(tuple(pair) in missing for pair in pairs)

    def rows_with(first: tuple[tuple[str, int], ...]) -> Iterator[dict[str, int]]:
        for turn in range(12):
            chosen = dict(first)
            for name, values in axes.items():
                if name not in chosen:
                    best = sorted(range(len(values)), key=lambda value: -new(chosen, name, value))
                    # At first the best of all; then others, so that one that is possible is found.
                    chosen[name] = best[turn * (order[name] + 1) % len(best) if turn else 0]
            yield chosen

    found = []
    while missing:
        first = next(iter(missing))
        for chosen in rows_with(first):
            row = {name: values[chosen[name]] for name, values in axes.items()}
            if is_possible(row):
                found.append(row)
                for pair in combinations(((name, chosen[name]) for name in axes), 2):
                    missing.pop(pair, None)
                break
        else:
            del missing[first]
    return found


def by_pairs(**axes: Sequence[Any]) -> pytest.MarkDecorator:
    """Return `parametrize` for a test with an argument for each axis: each two values meet."""
    rows = [tuple(row.values()) for row in pairwise(axes)]
    # The text of a variant has addresses in it, which are others in each process of a run.
    return pytest.mark.parametrize(tuple(axes), rows, ids=lambda value: getattr(value, "key", str(value)))
