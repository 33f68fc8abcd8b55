"""What an operation finds: a picture, numbers, counts, a place."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that an operation finds, for people and for JSON."""

    key: str
    title: str
    value: float
    text: str  # with its unit
    explanation: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A rectangle in the picture, pixels."""

    row: int
    column: int
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person gets: the picture (of the source's type), numbers, counts of a histogram, a mark."""

    picture: np.ndarray | None = None
    quantities: tuple[Quantity, ...] = ()
    counts: np.ndarray | None = None  # (channels, bins)
    mark: Mark | None = None
