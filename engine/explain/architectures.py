"""The architectures that code is shown for, as a person writes them: sm_86."""

import re
from typing import NamedTuple

from engine.errors import BadValue


class Architecture(NamedTuple):
    """A compute capability; it need not be that of a device that is here."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"sm_{self.major}{self.minor}"

    @property
    def capability(self) -> tuple[int, int]:
        """Both numbers alone."""
        return self.major, self.minor

    @classmethod
    def named(cls, text: str) -> "Architecture":
        """Return the architecture that a text says: sm_86, compute_86, 86 or 8.6."""
        match = re.fullmatch(r"(?:(?:sm|compute)_)?(\d{1,2})\.?(\d)[a-z]?", text.strip().lower())
        found = cls(int(match[1]), int(match[2])) if match else None
        if found not in ARCHITECTURES:
            known = ", ".join(map(str, ARCHITECTURES))
            why = "it is none of the architectures that kernels are compiled for here"
            raise BadValue(f"--arch {text}", why, f"Choose one of {known}.")
        return found


ARCHITECTURES = tuple(
    Architecture(*capability)
    for capability in ((7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0), (12, 1))
)
"""From the oldest one that the compiler knows to the newest."""
DEFAULT = Architecture(9, 0)
"""That of the GPU whose figures the documents show."""
