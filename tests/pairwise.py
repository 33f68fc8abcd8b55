"""Combinations of what may go wrong together: each two values of different axes meet, not each three."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

import pytest

Row = dict[str, Any]


def pairwise(
    axes: Mapping[str, Sequence[Any]],
    is_possible: Callable[[Row], bool] = lambda row: True,
    few_rows_of: str | None = None,
) -> list[Row]:
    """Return rows of one value of each axis, so that each two possible values occur in one of them.

    Every row begins with the first two values that have not met; each further axis gives the value that
    meets the most others for the first time. Whatever the row is not possible with is tried otherwise.
    A value of the axis `few_rows_of` comes before all others to those that it has not met: where a kernel
    is compiled for each of its rows, it has no more of them than the longest axis has values.
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
        met = [tuple(pair) for pair in pairs if tuple(pair) in missing]
        return sum(len(axes) if few_rows_of in (one, other) else 1 for (one, _), (other, _) in met)

    def ranked(chosen: dict[str, int], name: str) -> list[int]:
        values = [*range(len(axes[name]))]
        if few_rows_of in chosen:
            # Of equally good ones another comes first for each of its values, in each process the same.
            Random(f"{name} {chosen[few_rows_of]}").shuffle(values)
        return sorted(values, key=lambda value: -new(chosen, name, value))

    def rows_with(first: tuple[tuple[str, int], ...]) -> Iterator[dict[str, int]]:
        # At first the best of all; then another value of one axis; then others of all.
        others = [(name, place) for place in range(1, 7) for name in axes if place < len(axes[name])]
        for axis, place in [("", 0), *others]:
            chosen = dict(first)
            for name in axes:
                if name not in chosen:
                    chosen[name] = ranked(chosen, name)[place if name == axis else 0]
            yield chosen
        for turn in range(1, 12):
            chosen = dict(first)
            for name in axes:
                if name not in chosen:
                    best = ranked(chosen, name)
                    chosen[name] = best[turn * (order[name] + 1) % len(best)]
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
