"""The code of a kernel as data: listings of instructions with their counts, and its source with its story.

The counts are static: of instructions that are written, not of those that run. The loop over taps is the
innermost one with the most float32 multiply-adds; all that is written in it, over these, is what a tap costs.
A branch that is written in the loop counts as if it were always taken. Kernels for tensor cores have no such
number: one instruction has many taps.

The story is the text beside a kernel: its idea, who loads what, its limit. No Numba in here.
"""

import inspect
import re
import sys
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from textwrap import dedent
from typing import NamedTuple

from engine.explain.instructions import InstructionClass
from engine.run.variant import AnyVariant


class ListingForm(StrEnum):
    """What a listing is written in."""

    PTX = "ptx"
    SASS = "sass"


class SourceLine(NamedTuple):
    """A line of a file, which is named from the root of the program on."""

    path: str
    line: int


# `engine`, or what it is called where it is installed.
_ENGINE = __name__.rpartition(".explain.")[0]


def short_path(path: str) -> str:
    """Return the path of a file of the engine, with slashes, from the folder that holds its own on.

    The kept code of another copy of the same sources names files elsewhere.
    """
    path = path.replace("\\", "/")
    at = path.rfind(f"/{_ENGINE.rpartition('.')[2]}/")
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
class TapCounts:
    """What a tap costs: `first` and `last` are the lines of the loop, from 0; `taps` those of a round."""

    first: int
    last: int
    taps: int
    is_loop: bool  # otherwise the whole kernel, whose taps are written one after another
    instructions: float  # for a tap
    integer_64: float  # those of them that work on 64-bit integers or addresses, whatever their class
    per_tap: dict[InstructionClass, float]  # those of each class

    @property
    def where(self) -> str:
        """Where these taps are, in words."""
        if self.is_loop:
            lines = f"{self.first + 1} to {self.last + 1}"
            return f"in the loop of lines {lines}, a round of which has {self.taps}"
        return f"over the whole kernel, which has {self.taps} one after another"


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """The instructions of a kernel by class, in the order of the classes."""

    by_class: dict[InstructionClass, int]
    on_64_bit: int
    taps: TapCounts | None

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.by_class.values())


@dataclass(frozen=True, slots=True)
class Listing:
    """The code of one kernel for an architecture, and the passes that launch it."""

    form: ListingForm
    kernel: str
    architecture: str
    lines: tuple[CodeLine, ...]
    passes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(line.text for line in self.lines)

    @property
    def heading(self) -> str:
        """What stands above it: kernel, form, architecture, and passes that have other names."""
        passes = "" if self.passes == (self.kernel,) else f" ({', '.join(self.passes)})"
        return f"{self.kernel}: {self.form.upper()} for {self.architecture}{passes}"

    @property
    def counts(self) -> InstructionCounts:
        """Its instructions."""
        return InstructionCounts(*_by_class(self.lines), _taps(self))


def loops(listing: Listing) -> dict[int, int]:
    """Return the last line of each loop by its first: from a label to the last branch back to it."""
    labels = {line.label: at for at, line in enumerate(listing.lines) if line.label}
    ends = ((labels.get(line.target, at), at) for at, line in enumerate(listing.lines))
    return {first: last for first, last in ends if first < last}


def _taps(listing: Listing) -> TapCounts | None:
    lines, ends = listing.lines, loops(listing)
    if any(line.kind is InstructionClass.TENSOR for line in lines):
        # A product of matrices has many taps in an instruction.
        return None

    def multiply_adds(first: int, last: int) -> int:
        """Return those of float32; where there are none, the products, which are summed otherwise."""
        kinds = Counter(line.kind for line in lines[first : last + 1])
        return kinds[InstructionClass.FLOAT_FMA] or kinds[InstructionClass.FLOAT_MULTIPLY]

    inner = (
        (first, last)
        for first, last in ends.items()
        if not any(first < other and end <= last for other, end in ends.items())
    )
    first, last = max(inner, key=lambda loop: multiply_adds(*loop), default=(0, 0))
    is_loop = multiply_adds(first, last) > 0 and last > 0
    if not is_loop:
        first, last = 0, len(lines) - 1
    if not (taps := multiply_adds(first, last)):
        return None
    by_class, wide = _by_class(lines[first : last + 1])
    per_tap = {kind: count / taps for kind, count in by_class.items()}
    return TapCounts(first, last, taps, is_loop, sum(by_class.values()) / taps, wide / taps, per_tap)


def _by_class(lines: tuple[CodeLine, ...]) -> tuple[dict[InstructionClass, int], int]:
    kinds, wide = Counter(line.kind for line in lines), sum(line.is_64_bit for line in lines)
    return {kind: kinds[kind] for kind in InstructionClass if kinds[kind]}, wide


class Role(StrEnum):
    """What a function is for a kernel."""

    KERNEL = "kernel"  # or a compiled function of the CPU
    DEVICE_FUNCTION = "device function"
    EMITTER = "emitter"
    HELPER = "helper of emitters"
    HOST = "host code"


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function with the lines of its file, as they are there; a kernel's name is that of the inner one."""

    role: Role
    name: str
    path: str  # from the folder that holds the engine's own on, with slashes
    first_line: int  # from 1
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All its lines."""
        return "\n".join(self.lines)


SAVES = "What it saves"
"""The section that names the variant which a step is compared with."""


def paragraphs_of(text: str) -> list[str]:
    """Return the paragraphs of a text, each in one line."""
    return [" ".join(one.split()) for one in re.split(r"\n\s*\n", text) if one.strip()]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the story: its heading (empty: none) and its text, paragraphs apart by empty lines."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """The text about a variant in its parts."""

    title: str
    sections: tuple[Section, ...]

    def part(self, heading: str) -> str:
        """Return the text under a heading; empty where there is none."""
        return next((section.text for section in self.sections if section.heading == heading), "")


_KEYS = re.compile(r"\s*(`[\w-]+`(?:, `[\w-]+`)*):")


@cache
def _stories_in(module: str) -> dict[str, str]:
    """Return the texts of a module that begin with keys of variants, by each of these."""
    stories: dict[str, str] = {}
    for one in (sys.modules[module], *vars(sys.modules[module]).values()):
        text = one if isinstance(one, str) else one.__doc__
        if isinstance(text, str) and (keys := _KEYS.match(text)) is not None:
            stories |= dict.fromkeys(re.findall(r"[\w-]+", keys[1]), text)
    return stories


def story_of(variant: AnyVariant) -> Story:
    """Return the story of a variant: the text among the modules of variants that begins with its key."""
    modules = [name for name in list(sys.modules) if name.startswith(f"{_ENGINE}.variants.")]
    texts = [stories[variant.key] for stories in map(_stories_in, modules) if variant.key in stories]
    return story_in(inspect.cleandoc([*texts, variant.idea][0]))


# A heading is a line of its own above lines that are indented.
_SECTION = re.compile(r"(?m)^(\S.*)\n( {4}.*\n(?: {4}.*\n|\n)*)")


def story_in(docstring: str) -> Story:
    """Return a docstring in its parts: under a heading, or without one between them."""
    title, _, rest = docstring.strip().partition("\n")
    plain, *others = _SECTION.split(f"{rest}\n")
    parts = [Section("", plain.strip())]
    for heading, text, after in zip(others[::3], others[1::3], others[2::3], strict=True):
        parts += [Section(heading.strip(), dedent(text).strip()), Section("", after.strip())]
    return Story(title.strip(), tuple(part for part in parts if part.text))


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The story of a variant, and its functions: kernels first, then what they call."""

    story: Story
    functions: tuple[SourceFunction, ...]
    remark: str  # what a reader has to know first; empty where the source is a kernel's

    @property
    def kernels(self) -> tuple[SourceFunction, ...]:
        """The functions that are kernels, or compiled functions of the CPU."""
        return tuple(one for one in self.functions if one.role is Role.KERNEL)
