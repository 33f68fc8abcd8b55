"""Which results may be compared: only those of the same problem, verified, on a device whose times mean speed."""

from collections.abc import Iterable
from typing import NamedTuple

from engine.device_info import SIMULATOR
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.results.measurement import RunResult, layouts_served
from engine.tasks.filtering.problem import Problem
from gui.explore.workspace import Workspace


class ProblemKey(NamedTuple):
    """What two runs must share so that their times can be compared: not the weights, nor the anchor."""

    height: int
    width: int
    channels: int
    dtype: str
    mask_shape: tuple[int, int]
    border: Border
    result_dtype: str = "float32"

    @property
    def text(self) -> str:
        """The problem in words for people."""
        rows, columns = self.mask_shape
        return f"{self.picture_text}, mask {rows} x {columns}, border {self.border}"

    @property
    def picture_text(self) -> str:
        """Size, colours and type of the picture, and the type of its results where it is not float32 as a rule."""
        colour = {1: "grey", 3: "RGB"}.get(self.channels, f"{self.channels} channels")
        results = "" if self.result_dtype == "float32" else f", {self.result_dtype} results"
        return f"{self.width} x {self.height} {colour} {self.dtype}{results}"


def problem_key(problem: Problem) -> ProblemKey:
    """Return what a problem is compared by."""
    return ProblemKey(
        problem.height,
        problem.width,
        problem.channels,
        problem.dtype,
        problem.mask_shape,
        problem.border,
        problem.result_dtype,
    )


def workspace_problem_key(workspace: Workspace) -> ProblemKey | None:
    """Return the key of the problem that the workspace describes now; None while there is no picture."""
    picture = workspace.picture
    if picture is None:
        return None
    return ProblemKey(
        picture.height,
        picture.width,
        picture.channels,
        picture.pixels.dtype,
        workspace.mask.shape,
        workspace.settings.border,
        workspace.result_dtype,
    )


def kernel_speed_ms(result: RunResult) -> float | None:
    """Return the median kernel time, ms, where it is a speed; None for a failed, unverified or simulated run."""
    if result.failure or result.device == SIMULATOR:
        return None
    return result.kernel_ms


def no_speed_word(result: RunResult) -> str:
    """Say in a word or two why a result has no speed; empty if it has one."""
    if kernel_speed_ms(result) is not None:
        return ""
    if result.failure:
        return "failed"
    if result.verification is None or not result.verification.passed:
        return "not verified"
    return "simulated" if result.device == SIMULATOR else "not timed"


def no_speed_sentence(result: RunResult) -> str:
    """Say in full why a result has no speed; empty if it has one."""
    word = no_speed_word(result)
    if word == "simulated":
        return "The simulator runs the kernel in Python to check it; its times mean nothing."
    if word == "not timed":
        return "This run was verified but not timed."
    return result.status if word else ""


def newest_baseline(results: Iterable[RunResult], baseline: str) -> dict[tuple[ProblemKey, str], RunResult]:
    """Return the newest run of the baseline variant that has a speed, for each problem and layout of a result."""
    return {
        (problem_key(result.problem), layout): result
        for result in results
        if result.variant == baseline and kernel_speed_ms(result) is not None
        for layout in layouts_served(result)
    }


def layout_suffix(result: RunResult) -> str:
    """Return what tells a run with packed rows from one with pitched rows, which are the rule and go without saying."""
    return " (packed)" if result.layout == Layout.PACKED else ""
