"""A listing of instructions, PTX or SASS: what each line is, and which line of the source it comes from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from engine.explain.code.instruction_classes import InstructionClass


class Form(StrEnum):
    """What a listing is written in."""

    PTX = "ptx"
    SASS = "sass"


# The folder of the engine: `engine`, or what it is called where it is installed.
_FOLDER = __name__.rpartition(".explain.")[0].rpartition(".")[2]


class SourceLine(NamedTuple):
    """A line of a file, which is named from the root of the program on."""

    path: str
    line: int


def short_path(path: str) -> str:
    """Return the path of a file of the engine, with slashes, from the folder that holds its own on.

    The kept code of another copy of the same sources names files elsewhere.
    """
    path = path.replace("\\", "/")
    at = path.rfind(f"/{_FOLDER}/")
    return path[at + 1 :] if at >= 0 else path


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line: an instruction with its class, a label, or a declaration, which have none.

    `label` is the name that the line gives the next instruction; `target` that of where an instruction
    branches to.
    """

    text: str
    kind: InstructionClass | None = None
    opcode: str = ""
    label: str = ""
    target: str = ""
    source: SourceLine | None = None
    is_64_bit: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The code of one kernel for an architecture."""

    form: Form
    kernel: str
    architecture: str
    lines: tuple[CodeLine, ...]

    @property
    def instructions(self) -> tuple[CodeLine, ...]:
        """The lines that are instructions."""
        return tuple(line for line in self.lines if line.kind is not None)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(line.text for line in self.lines)

    def of_source(self, source: SourceLine) -> tuple[int, ...]:
        """Return the numbers, from 0, of the lines that come from a line of the source."""
        return tuple(at for at, line in enumerate(self.lines) if line.source == source)

    def sources(self) -> dict[SourceLine, tuple[int, ...]]:
        """Return the lines of the source, each with the numbers of the lines that come from it."""
        found: dict[SourceLine, list[int]] = {}
        for at, line in enumerate(self.lines):
            if line.source is not None:
                found.setdefault(line.source, []).append(at)
        return {source: tuple(numbers) for source, numbers in sorted(found.items())}
