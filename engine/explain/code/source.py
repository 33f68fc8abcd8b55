"""The source of a kernel as data: the story of its module, its functions with their lines, the tile's steps.

The story is the module's docstring: its idea, who loads what, its limit. No Numba in here.
"""

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from textwrap import dedent

from engine.run.variant import AnyVariant

_ENGINE = __name__.removesuffix("explain.code.source")


class Role(StrEnum):
    """What a function is for a kernel."""

    KERNEL = "kernel"
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

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree, whose line numbers are positions in `lines`, from 1."""
        indent = len(self.lines[0]) - len(self.lines[0].lstrip())
        return ast.parse("\n".join(line[indent:] for line in self.lines))

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, or a compiled function of the CPU."""
        return self.role is Role.KERNEL


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
    """The docstring of a module in its parts."""

    title: str
    sections: tuple[Section, ...]

    def part(self, heading: str) -> str:
        """Return the text under a heading; empty where there is none."""
        return next((section.text for section in self.sections if section.heading == heading), "")


def module_of(variant: AnyVariant) -> str:
    """Return the name of the module that declares a variant."""
    # Not by `getattr`, which has modules look for names that they make when asked: 14 ms a variant.
    modules = list(sys.modules.items())
    names = [name for name, each in modules if getattr(each, "__dict__", {}).get("VARIANT") is variant]
    # Another module may have imported it.
    ours = (name for name in names if name.startswith(_ENGINE))
    return next(ours, names[0] if names else variant.passes.__module__)


def story_of(variant: AnyVariant) -> Story:
    """Return the story of a variant, or of its module."""
    told = variant.story or sys.modules[module_of(variant)].__doc__ or variant.idea
    return story_in(inspect.cleandoc(told))


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
    """The story of a variant's module, and its functions: kernels first, then what they call."""

    story: Story
    functions: tuple[SourceFunction, ...]
    remark: str  # what a reader has to know first; empty where the source is a kernel's

    @property
    def kernels(self) -> tuple[SourceFunction, ...]:
        """The functions that are kernels, or compiled functions of the CPU."""
        return tuple(one for one in self.functions if one.is_kernel)
