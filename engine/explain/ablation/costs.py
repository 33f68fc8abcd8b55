"""What can be taken out of a kernel, one at a time, and what stands in its place. No Numba in here."""

from enum import StrEnum
from typing import Any


class Cost(StrEnum):
    """A cost of a kernel: its name in files, in words, what its absence leaves, and why there may be none."""

    _value_: str
    words: str
    instead: str
    absent: str

    def __new__(cls, name: str, *texts: Any) -> "Cost":
        """Return the member of that name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.instead, member.absent = texts
        return member

    BORDER_TEST = (
        "border-test",
        "border test",
        "Indices are taken as they are, also outside the picture: there lies memory of the program's own.",
        "It has no border test.",
    )
    PICTURE_LOADS = (
        "picture-loads",
        "picture loads",
        "Each address is formed as before, and its two halves, combined by one exclusive or, are the value.",
        "It loads no picture by itself.",
    )
    WEIGHT_LOADS = (
        "weight-loads",
        "weight loads",
        "One number, an argument of the kernel, stands for every weight; nor are their addresses formed.",
        "It loads no weights by itself.",
    )
    STORES = (
        "stores",
        "stores",
        "A result is stored only if it is one that no picture gives, which the compiler cannot know.",
        "It stores no results by itself.",
    )
    BARRIER = (
        "barrier",
        "barrier",
        "No thread waits for another. The compiler keeps the order of loads and stores all the same.",
        "It has no barrier.",
    )
