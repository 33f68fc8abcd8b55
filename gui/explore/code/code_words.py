"""What the panel Code says of a line and of a listing: instructions by class, in a kernel and for a tap."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from engine.explain.code.instruction_classes import InstructionClass
from engine.explain.code.listing import CodeLine, InstructionCounts, ListedKernel, SourceLine
from engine.explain.code.source import KernelSource, paragraphs_of


def story_text(source: KernelSource) -> str:
    """Return the story of a module in paragraphs, as wide as there is room."""
    parts = [source.story.title]
    for section in source.story.sections:
        paragraphs = paragraphs_of(section.text)
        paragraphs[0] = f"{section.heading}: {paragraphs[0]}" if section.heading else paragraphs[0]
        parts += paragraphs
    text = "\n".join([*parts, *([source.remark] if source.remark else [])])
    return re.sub(r"`([^`]+)`|\*(\w+)\*", lambda found: found[1] or found[2], text)


def sentences_of(counts: InstructionCounts) -> tuple[str, str]:
    """Return the instructions of a kernel by class, the most frequent first, and what a multiply-add costs.

    The latter is empty where it has no such number.
    """
    return _whole_sentence(counts), _tap_sentence(counts)


def _whole_sentence(counts: InstructionCounts) -> str:
    wide = f", {counts.on_64_bit} of them on 64-bit integers and addresses" if counts.on_64_bit else ""
    return f"{_several(counts.total)}{wide}: {_by_class(counts.by_class, '{:d}')}."


def _tap_sentence(counts: InstructionCounts) -> str:
    taps = counts.taps
    if taps is None:
        return ""
    if taps.is_loop:
        where = f"in the loop of lines {taps.first + 1} to {taps.last + 1}"
    else:
        where = "over the whole kernel, whose taps are written one after another"
    wide = f", {taps.integer_64:.1f} of them on 64-bit" if taps.on_64_bit else ""
    return f"{taps.instructions:.1f} per multiply-add{wide}, {where}: {_by_class(taps.per_tap, '{:.1f}')}."


def source_sentence(source: SourceLine, kernels: Sequence[ListedKernel]) -> str:
    """Return what a line of the source has become."""
    lines = [one.listing.lines[at] for one in kernels for at in one.listing.of_source(source)]
    made = Counter(line.kind for line in lines if line.kind)
    form = kernels[0].listing.form.upper()
    if not made:
        return f"Line {source.line}: no instruction of this {form} comes from it."
    return f"Line {source.line}: {_several(sum(made.values()))} of {form}: {_by_class(made, '{:d}')}."


def instruction_sentence(line: CodeLine) -> str:
    """Return what an instruction is, and where it comes from; empty for what is none."""
    if line.kind is None:
        return ""
    if line.source is None:
        return f"{line.opcode}: {line.kind}; the compiler names no line that it comes from."
    return f"{line.opcode}: {line.kind}; from line {line.source.line} of {line.source.path}."


def _by_class(counts: Mapping[InstructionClass, float], written: str) -> str:
    ordered = sorted(counts.items(), key=lambda one: -one[1])
    # Names of classes have commas.
    return " · ".join(f"{kind} {written.format(count)}" for kind, count in ordered)


def _several(count: int) -> str:
    return f"{count:,} instruction{'' if count == 1 else 's'}"
