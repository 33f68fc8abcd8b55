"""The magic `%%judge` of IPython and Jupyter: after `%load_ext haloscope`, in a clone `%load_ext engine`."""

import base64
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.image.formats.png import encode_png
from engine.image.picture import Picture
from engine.judging.judge import judge
from engine.judging.judgement import Judgement
from engine.results.text_forms import html_table, rate_text

_USAGE = 'Write %%judge, %%judge --full, or %%judge --require "loads per result <= 3".'
# Pixels of the screen for a pixel of the result, of which the largest has 67 x 33.
_ZOOM = 6
_WRONG, _RIGHT = (200, 30, 30), (225, 225, 225)


def load_ipython_extension(shell: Any) -> None:
    """Register `%%judge` in IPython's shell."""
    shell.register_magic_function(judged_cell, "cell", "judge")


@dataclass(frozen=True)
class JudgedCell:
    """A kernel as it is written in a cell, and the judgement of it, as a notebook shows them."""

    text: str
    judgement: Judgement

    def __repr__(self) -> str:
        return str(self.judgement)

    def _repr_html_(self) -> str:
        judged = self.judgement
        findings = [(one.kind, str(one)) for one in judged.findings]
        states = {True: "holds", False: "does not hold"}
        gates = [(one.text, f"{states[one.holds]}: {rate_text(one.value)}") for one in judged.gates]
        lines = []
        for number, line in enumerate(self.text.splitlines(), start=1):
            code = line.lstrip(" ")
            indented = "\u00a0" * (len(line) - len(code)) + code
            lines.append((str(number), indented, "; ".join(_requests(judged.lines.get(number, {})))))
        counts = [(name, rate_text(value)) for name, value in judged.metrics.items()]
        head = html_table([("Verdict", str(judged.verdict)), *findings, *gates])
        picture = "" if judged.wrong is None else _picture(judged.wrong)
        return head + picture + html_table(lines) + html_table(counts)


def judged_cell(line: str, cell: str) -> JudgedCell:
    """Judge the kernel in a cell, CUDA C or Numba; the line has options of the command `judge`.

    Raises BadValue for another option, and what `engine.judge` raises.
    """
    words, require, full = iter(shlex.split(line)), [], False
    for word in words:
        if word == "--full":
            full = True
        elif word == "--require" and (text := next(words, None)) is not None:
            require.append(text)
        else:
            raise BadValue(f"%%judge {word}", "it is none of its options", _USAGE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cell.cu" if "__global__" in cell else "cell.py")
        path.write_text(cell, encoding="utf-8")
        return JudgedCell(cell, judge(path, full=full, require=require))


def _requests(kinds: dict[str, dict[str, int]]) -> Iterator[str]:
    for kind, counts in kinds.items():
        unit = "wavefronts" if kind.startswith("shared") else "sectors"
        yield f"{kind}: {counts['requests']:,} requests, {counts[unit]:,} {unit}"


def _picture(wrong: np.ndarray) -> str:
    colours = np.where(wrong[..., np.newaxis], np.array(_WRONG, np.uint8), np.array(_RIGHT, np.uint8))
    picture = Picture(colours.repeat(_ZOOM, axis=0).repeat(_ZOOM, axis=1))
    data = base64.b64encode(encode_png(picture)).decode()
    return f'<img alt="Where the result is wrong" src="data:image/png;base64,{data}">'
