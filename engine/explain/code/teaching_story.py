"""The teaching order as a story: each kernel is what it changes in the one that it is compared with."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.device.cuda_presence import missing
from engine.explain.code.code_diff import Diff, MeasuredDifference, measured_difference, source_diff
from engine.explain.code.kernel_listing import listed_kernels
from engine.explain.code.kernel_source import source_of
from engine.explain.code.listing import Form
from engine.explain.code.source import SAVES, KernelSource, Story, story_of
from engine.explain.examples import AnyKernel, example_of
from engine.explain.gpus import DEFAULT, Architecture
from engine.geometry.refusal import UnsupportedVariant
from engine.results.measurement import AnyResult
from engine.tasks.registry import TASKS

# Fewer multiply-adds without a loop are those of a conversion.
_LEAST_TAPS = 4
_FIRST_HEADING = "Filters with a mask"


@dataclass(frozen=True, slots=True)
class TapCost:
    """What a float32 multiply-add costs in PTX: all instructions, and those on 64-bit integers."""

    instructions: float
    integer_64: float
    is_loop: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel of the story; the first ones of a family change no other."""

    key: str
    title: str
    story: Story
    source: KernelSource
    before: str = ""  # the key of the kernel that it is compared with; empty: none
    diff: Diff | None = None
    measured: MeasuredDifference | None = None
    cost: TapCost | None = None
    cost_before: TapCost | None = None

    @property
    def idea(self) -> str:
        """What the kernel does, in a paragraph or two."""
        return self.story.part("Idea")

    @property
    def saves(self) -> str:
        """What the module says that it saves."""
        return self.story.part(SAVES)


@dataclass(frozen=True, slots=True)
class Chapter:
    """The kernels of a task."""

    title: str
    steps: tuple[Step, ...]


def teaching_story(
    results: Sequence[AnyResult] = (),
    architecture: Architecture = DEFAULT,
    *,
    on_step: Callable[[str], None] = lambda key: None,
) -> tuple[Chapter, ...]:
    """Return a chapter for each task with kernels of ours.

    Parameters
    ----------
    results : sequence of measurements
        What a step saved is taken from these, where they have both kernels on one problem.
    architecture : Architecture
        Instructions are counted for it, where the CUDA compiler is there.
    on_step : callable of (key)
        Called before each step, of which compiling takes a third of a second.
    """
    chapters = []
    for task in TASKS.values():
        known = {one.key: one for one in task.variants if one.has_kernels}
        if known:
            # Without the command that measures them.
            title = (task.heading or _FIRST_HEADING).partition(" (")[0]
            steps = tuple(_steps(known, results, architecture, on_step))
            chapters.append(Chapter(title, steps))
    return tuple(chapters)


def count_of_steps() -> int:
    """Return how many kernels the story has."""
    return sum(one.has_kernels for task in TASKS.values() for one in task.variants)


def compared_with(variant: AnyKernel, known: Sequence[AnyKernel]) -> AnyKernel | None:
    """Return the kernel that a variant's module compares it with; None where it names none of the known.

    What it saves is said against one ("Against `naive`: ..."); else the first one that is named there, in the
    title, or in the idea.
    """
    story, by_key = story_of(variant), {one.key: one for one in known if one is not variant}
    saves = story.part(SAVES)
    named = re.findall(r"Against `([\w-]+)`", saves)
    for text in (saves, story.title, story.part("Idea")):
        named += re.findall(r"`([\w-]+)`", text)
    return next((by_key[key] for key in named if key in by_key), None)


def _steps(
    known: dict[str, AnyKernel],
    results: Sequence[AnyResult],
    architecture: Architecture,
    on_step: Callable[[str], None],
) -> Iterator[Step]:
    sources: dict[str, KernelSource] = {}
    costs: dict[str, TapCost | None] = {}
    for key, variant in known.items():
        on_step(key)
        sources[key] = source_of(example_of(variant))
        costs[key] = _tap_cost(variant, architecture)
    for key, variant in known.items():
        source = sources[key]
        before = compared_with(variant, tuple(known.values())) or _of_same_kernels(variant, known, sources)
        step = Step(key, variant.title, source.story, source, cost=costs[key])
        if before is None:
            yield step
            continue
        measured = measured_difference(results, before.key, key)
        names = before.key, key
        yield Step(
            key,
            variant.title,
            source.story,
            source,
            before.key,
            source_diff(sources[before.key].kernels, source.kernels, names, measured),
            measured,
            costs[key],
            costs[before.key],
        )


def _of_same_kernels(
    variant: AnyKernel, known: dict[str, AnyKernel], sources: dict[str, KernelSource]
) -> AnyKernel | None:
    """Return the first kernel of the story with the same source, where it comes before a variant."""
    own = sources[variant.key].kernels
    first = next(key for key, source in sources.items() if source.kernels == own)
    return None if first == variant.key else known[first]


def _tap_cost(variant: AnyKernel, architecture: Architecture) -> TapCost | None:
    """Return what a multiply-add costs in the kernel with most of them; None if nothing is compiled."""
    if missing:
        return None
    try:
        kernels = listed_kernels(example_of(variant), Form.PTX, architecture)
    except UnsupportedVariant:
        # It has no code for such a device.
        return None
    taps = [one.counts.taps for one in kernels if one.counts.taps is not None]
    most = max(taps, key=lambda one: one.taps, default=None)
    if most is None or not (most.is_loop or most.taps >= _LEAST_TAPS):
        return None
    return TapCost(most.instructions, most.integer_64, most.is_loop)
