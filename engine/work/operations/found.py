"""What an operation finds beside a picture: numbers and a mark. Imported by every window, so it is small."""

from dataclasses import dataclass


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
