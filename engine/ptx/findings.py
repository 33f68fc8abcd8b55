"""What is wrong with a kernel, each fault once: its kind, its lines, who did it, and a sentence."""

from dataclasses import dataclass

from engine.ptx.module import SourceLine

Index3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a kernel.

    Parameters
    ----------
    kind : str
        "race", "outside", "unwritten", "barrier", "misaligned" or "async" (docs/interpreter.md); of the judge
        also "wrong" and "refused".
    lines : tuple of SourceLine
        The line at fault; of a race those of both accesses, the earlier first.
    message : str
        A sentence without the lines.
    block, thread : tuple of int
        (x, y, z) of the first thread that was seen.
    array : str
        The array, as the kernel or its caller names it; empty where there is none.
    """

    kind: str
    lines: tuple[SourceLine, ...]
    message: str
    block: Index3 = (0, 0, 0)
    thread: Index3 = (0, 0, 0)
    array: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its lines within the kernel's own file, where they are known."""
        return tuple(sorted({one.own.line for one in self.lines if one.line}))

    @property
    def line(self) -> int:
        """The number of the line at fault within the kernel's own file, 0 where no line is known."""
        return self.lines[-1].own.line if self.lines else 0

    def __str__(self) -> str:
        if not self.numbers:
            return self.message
        return f"line{'s' * (len(self.numbers) > 1)} {' and '.join(map(str, self.numbers))}: {self.message}"
