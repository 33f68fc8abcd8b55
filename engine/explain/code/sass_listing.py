"""SASS, the instructions of the machine itself, as a listing: what NVIDIA's disassembler writes is read."""

import re

from engine.explain.code.instruction_classes import InstructionClass, is_sass_64_bit, sass_class
from engine.explain.code.listing import CodeLine, Form, Listing, SourceLine, short_path

_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
# A subroutine of the machine's own library begins at a name with dollars.
_LABEL = re.compile(r"(\.L\w+|\$[\w$]+):")
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?))\s*;")
# The guard of an instruction that does nothing in any thread: some stand before a copy to shared memory.
_NEVER = "@!PT "
_TARGET = re.compile(r"`\((\.L\w+|\$[\w$]+)\)")


def sass_listing(text: str, kernel: str, architecture: str) -> Listing:
    """Return what nvdisasm wrote of one kernel as a listing, without the padding behind its end."""
    lines: list[CodeLine] = []
    source: SourceLine | None = None
    for line in text.split("\n"):
        if place := _PLACE.match(line):
            number = int(place[2])
            source = SourceLine(short_path(place[1]), number) if number else None
        elif label := _LABEL.match(line):
            lines.append(CodeLine(line, label=label[1]))
        elif found := _INSTRUCTION.match(line):
            whole, opcode, operands = found[1], found[2], found[3].strip()
            target = _TARGET.search(operands)
            lines.append(
                CodeLine(
                    f"    {' '.join(whole.split())};",
                    InstructionClass.OTHER if whole.startswith(_NEVER) else sass_class(opcode, operands),
                    opcode,
                    target=target[1] if target else "",
                    source=source,
                    is_64_bit=is_sass_64_bit(opcode, operands),
                )
            )
    return Listing(Form.SASS, kernel, architecture, tuple(_without_padding(lines)))


def _without_padding(lines: list[CodeLine]) -> list[CodeLine]:
    """Leave out what follows the last instruction: no operations, and a branch to itself."""
    end = len(lines)
    while end and (not lines[end - 1].kind or lines[end - 1].opcode == "NOP"):
        end -= 1
    if end > 1 and lines[end - 1].target and lines[end - 1].target == lines[end - 2].label:
        end -= 2
    return lines[:end]
