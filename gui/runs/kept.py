"""A run that a page keeps, and the step of undo that takes runs away or brings them."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from PySide6.QtGui import QUndoCommand

from engine.results.measurement import Measurement

Run: TypeAlias = Measurement[Any]


@dataclass(slots=True)
class Kept:
    """A run, and what a person has said of it."""

    result: Run
    problem: Hashable
    """What it shares with the runs that it is shown with."""
    note: str = ""
    is_pinned: bool = False


Placed = tuple[int, Kept]
"""A run with its place among all."""


class Keeper(Protocol):
    """What keeps runs in an order."""

    def take_out(self, runs: Iterable[Kept]) -> Sequence[Placed]:
        """Forget runs; return those that were there, each with its place."""

    def put_back(self, runs: Iterable[Placed]) -> None:
        """Have runs again, each in its place."""


class ExchangeRuns(QUndoCommand):
    """Some runs go, and others come, as those of a session; undone, each that went is in its place again."""

    def __init__(self, keeper: Keeper, text: str, gone: Iterable[Kept], come: Iterable[Kept] = ()) -> None:
        super().__init__(text)
        self._keeper = keeper
        self._gone: Sequence[Placed] = tuple(enumerate(gone))
        self._come: Sequence[Placed] = tuple(enumerate(come))

    def redo(self) -> None:
        self._gone = self._keeper.take_out(run for _place, run in self._gone)
        self._keeper.put_back(self._come)

    def undo(self) -> None:
        self._come = self._keeper.take_out(run for _place, run in self._come)
        self._keeper.put_back(self._gone)
