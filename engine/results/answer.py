"""What an operation finds: a picture, numbers, counts, a place."""

import numpy as np
from msgspec import Struct


class Quantity(Struct, frozen=True):
    """A number that an operation finds, for people and for JSON."""

    key: str
    title: str
    value: float
    text: str  # with its unit
    explanation: str


class Mark(Struct, frozen=True):
    """A rectangle in the picture, pixels."""

    row: int
    column: int
    height: int
    width: int


class Answer(Struct, frozen=True):
    """What a person gets: the picture (of the source's type), numbers, counts of a histogram, a mark."""

    picture: np.ndarray | None = None
    quantities: tuple[Quantity, ...] = ()
    counts: np.ndarray | None = None  # (channels, bins)
    mark: Mark | None = None
