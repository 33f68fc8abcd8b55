"""SASS, the instructions of the machine itself, as a listing; what disassembles them is NVIDIA's."""

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from engine.errors import BadValue, EngineError
from engine.explain.instruction_classes import is_sass_64_bit, sass_class
from engine.explain.kernel_source import short_path
from engine.explain.listing import CodeLine, Form, Listing, SourceLine

_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"(\.L\w+):")
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?))\s*;")
_TARGET = re.compile(r"`\((\.L\w+)\)")
MISSING = (
    "it needs NVIDIA's disassembler nvdisasm, which is not installed",
    "`pip install nvidia-cuda-nvdisasm` brings it (5 MB; a CUDA toolkit has it too). No GPU is needed.",
)
_MOST_SECONDS = 60


@functools.cache
def disassembler() -> str | None:
    """Return the path of nvdisasm; None where there is none.

    cuobjdump would not help: it calls nvdisasm.
    """
    if found := shutil.which("nvdisasm"):
        return found
    try:
        # Looks where NVIDIA's wheels and toolkits put it.
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        return None
    located: str | None = find_nvidia_binary_utility("nvdisasm")
    return located


def disassembled(machine_code: bytes) -> str:
    """Return what nvdisasm writes of machine code, with the lines of the source."""
    tool = disassembler()
    if tool is None:
        raise BadValue("SASS", *MISSING)
    with tempfile.TemporaryDirectory(prefix="haloscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(machine_code)
        try:
            done = subprocess.run(
                [tool, "-c", "-g", str(path)],
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]
            remedy = "A newer one may know this architecture: `pip install -U nvidia-cuda-nvdisasm`."
            raise EngineError(f"{tool} failed", why, remedy) from error
    return done.stdout


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
                    sass_class(opcode, operands),
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
