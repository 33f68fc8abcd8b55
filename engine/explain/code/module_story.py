"""The story that a variant's module tells in its docstring: its idea, who loads what, its limit."""

import re
import sys
from dataclasses import dataclass
from typing import Any

from engine.run.variant import AnyVariant

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


def module_of(variant: AnyVariant[Any, Any]) -> str:
    """Return the name of the module that declares a variant."""
    for name, module in list(sys.modules.items()):
        # Not by `getattr`, which has modules look for names that they make when asked: 14 ms a variant.
        if getattr(module, "__dict__", {}).get("VARIANT") is variant:
            return name
    return variant.passes.__module__


def story_of(variant: AnyVariant[Any, Any]) -> Story:
    """Return the story of a variant's module."""
    return story_in(sys.modules[module_of(variant)].__doc__ or variant.idea)


def story_in(docstring: str) -> Story:
    """Return a docstring in its parts: a heading is a line of its own above lines that are indented."""
    title, _, rest = docstring.strip().partition("\n")
    sections: list[Section] = []
    heading, lines = "", list[str]()

    def close() -> None:
        text = "\n".join(lines).strip()
        if text:
            sections.append(Section(heading, text))

    given = rest.split("\n")
    for line, after in zip(given, [*given[1:], ""], strict=True):
        is_heading = bool(re.match(r"\S", line)) and after.startswith("    ")
        if is_heading or (heading and re.match(r"\S", line)):
            close()
            heading, lines = (line.strip() if is_heading else ""), []
        if not is_heading:
            lines.append(line[4:] if line.startswith("    ") else line)
    close()
    return Story(title.strip(), tuple(sections))
