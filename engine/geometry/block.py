"""Blocks of threads, and the limits of a device on them. No Numba in here."""

import re
from dataclasses import dataclass

from engine.errors import BadValue

# Characters; no device allows such numbers, and Python refuses to read thousands of digits.
_LONGEST_SIDE = 9


@dataclass(frozen=True, slots=True)
class Block:
    """Threads of a CUDA block: x across (columns), y down (rows)."""

    x: int
    y: int

    @property
    def threads(self) -> int:
        """Threads in the block."""
        return self.x * self.y

    def __str__(self) -> str:
        return f"{self.x} × {self.y}"

    @classmethod
    def parse(cls, text: str) -> "Block":
        """Read a block such as "16x16" or "32 x 8"; whether a device allows it is not checked here.

        Raises BadValue for another text, and for numbers of more than nine digits.
        """
        match = re.fullmatch(r"\s*(-?\d+)\s*[xX×*,]\s*(-?\d+)\s*", text)
        if not match:
            why = "it is not two whole numbers with an x between them"
            raise BadValue(f"block '{text}'", why, "Write it as 16x16.")
        if max(map(len, match.groups())) > _LONGEST_SIDE:
            why = f"it is too large; CUDA allows at most {Limits().max_threads:,} threads per block"
            raise BadValue(f"block '{text}'", why, "Write it as 16x16.")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a device on a block: threads in all and along each side, bytes of static shared memory.

    `compute_capability` is (8, 0) for 8.0; None for the CPU and the simulator.
    """

    max_threads: int = 1024
    max_block_x: int = 1024
    max_block_y: int = 1024
    shared_bytes: int = 48 * 1024
    compute_capability: tuple[int, int] | None = None
