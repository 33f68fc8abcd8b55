"""The instructions of kernels that were made here: an estimate of their time where nothing can be timed."""

import ast
import inspect
import textwrap
from statistics import mean
from typing import TYPE_CHECKING

from engine.device.kernel_factory import import_names
from engine.device.launches import Pass
from engine.explain.ablation.messages import Instructions
from engine.explain.architectures import Architecture
from engine.explain.code.instruction_counts import InstructionCounts, counted
from engine.explain.code.ptx_listing import ptx_listing
from engine.geometry.border import Border

if TYPE_CHECKING:  # imported by `import_names`: Numba's CUDA target takes half a second
    from engine.device import explained_code


def why_not_estimated(border: Border) -> str:
    """Return why instructions say nothing of kernels with a border; empty if they do."""
    if not _is_loop(border):
        return ""
    others = ", ".join(one for one in Border if not _is_loop(one))
    return (
        f"Nothing is estimated: the rule of the border {border} is a loop, and how often that goes round is "
        f"not written in the code. Choose one of {others}."
    )


def _is_loop(border: Border) -> bool:
    rule = ast.parse(textwrap.dedent(inspect.getsource(border.rule)))
    return any(isinstance(node, ast.While) for node in ast.walk(rule))


def counts_of(step: Pass, architecture: Architecture) -> InstructionCounts:
    """Return the instructions of a pass's kernel, compiled for an architecture."""
    import_names(__name__)
    ptx = explained_code.explained_ptx(step.kernel, step.signature, architecture.capability)
    return counted(ptx_listing(ptx, step.kernel.py_func.__name__, str(architecture)))


def instructions_of(passes: tuple[Pass, ...], architecture: Architecture) -> Instructions | None:
    """Return the instructions of all kernels of a variant; None where one has no taps."""
    counts = [counts_of(step, architecture) for step in passes]
    taps = [one.taps for one in counts]
    written = sum(one.total + one.on_64_bit for one in counts)
    per_tap = [one.instructions + one.integer_64 for one in taps if one is not None]
    return Instructions(mean(per_tap), written) if len(per_tap) == len(counts) else None
