"""What the status line says of the last run, or of what is missing before one."""

from typing import Any

from engine.device_info import RECORDED
from engine.results.columns import device_text, layout_suffix, server_of
from engine.results.compare import Compared
from engine.results.measurement import Measurement
from gui.page.runs_page import run_sentence

EARLIER = "for an earlier problem"
"""For runs whose picture, mask or parameters have changed since."""


def run_title(run: Compared, *, is_earlier: bool = False) -> str:
    """Return which run it is: Run 3: tiled, 16 × 16."""
    result = run.result
    block = f", {result.block}" if result.block else ""
    earlier = f", {EARLIER}" if is_earlier else ""
    recorded = f", {device_text(result)}" if result.device == RECORDED else ""
    where = _where(result)
    return f"Run {run.number}: {result.variant}{block}{layout_suffix(result)}{where}{earlier}{recorded}"


def last_run_sentence(result: Measurement[Any], *, is_earlier: bool = False) -> str:
    """Return the last run with its time and its proof."""
    last = f"Last run, {EARLIER}" if is_earlier else "Last run"
    return run_sentence(f"{last}: {result.title}{layout_suffix(result)}{_where(result)}", result)


def _where(result: Measurement[Any]) -> str:
    server = server_of(result)
    return f" on {server}" if server else ""


def no_run_sentence(engine_is_ready: bool, has_picture: bool) -> str:
    """Return what is missing before a kernel can be run, else what to press."""
    if not has_picture:
        return "No run yet: open a picture first (Ctrl+O)."
    if not engine_is_ready:
        return "No run yet: kernels run once the engine is up."
    return "No run yet: press Run (Ctrl+R) to measure and verify."
