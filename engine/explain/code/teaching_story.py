"""The teaching order as a story: each kernel is what it changes in the one that it is compared with.

It is shown as slides: one HTML file, without anything from elsewhere, to show or to print.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from engine.device.cuda_presence import missing
from engine.explain.code.code_diff import (
    Change,
    Diff,
    MeasuredDifference,
    UnifiedLine,
    machine_text,
    measured_difference,
    source_diff,
)
from engine.explain.code.kernel_listing import listed_kernels
from engine.explain.code.kernel_source import source_of
from engine.explain.code.listing import Form, TapCounts
from engine.explain.code.source import SAVES, KernelSource, Story, paragraphs_of, story_of
from engine.explain.examples import AnyKernel, example_of
from engine.explain.gpus import DEFAULT, Architecture
from engine.geometry.refusal import UnsupportedVariant
from engine.results.measurement import AnyResult
from engine.tasks.registry import TASKS

# Fewer multiply-adds without a loop are those of a conversion.
_LEAST_TAPS = 4
_FIRST_HEADING = "Filters with a mask"


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
    cost: TapCounts | None = None  # of a multiply-add in PTX
    cost_before: TapCounts | None = None

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
    costs: dict[str, TapCounts | None] = {}
    for key, variant in known.items():
        on_step(key)
        sources[key] = source_of(example_of(variant))
        costs[key] = _tap_cost(variant, architecture)
    for key, variant in known.items():
        source = sources[key]
        before = compared_with(variant, tuple(known.values())) or _of_same_kernels(variant, known, sources)
        step = Step(key, variant.title, source.story, source, cost=costs[key])
        if before is not None:
            measured = measured_difference(results, before.key, key)
            kernels = sources[before.key].kernels, source.kernels
            step = replace(
                step,
                before=before.key,
                diff=source_diff(*kernels, (before.key, key), measured),
                measured=measured,
                cost_before=costs[before.key],
            )
        yield step


def _of_same_kernels(
    variant: AnyKernel, known: dict[str, AnyKernel], sources: dict[str, KernelSource]
) -> AnyKernel | None:
    """Return the first kernel of the story with the same source, where it comes before a variant."""
    own = sources[variant.key].kernels
    first = next(key for key, source in sources.items() if source.kernels == own)
    return None if first == variant.key else known[first]


def _tap_cost(variant: AnyKernel, architecture: Architecture) -> TapCounts | None:
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
    return most


TITLE = "One kernel after another"
# Equal lines before and after a difference.
_AROUND = 3
# Of a kernel that is compared with none.
_MOST_LINES = 90

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1a1a1a; --quiet: #595959; --line: #d0d0d0;
  --accent: #0b5cad; --gone: #fbe3e0; --gone-ink: #8c1d0f; --new: #ddf3e4; --new-ink: #0c5a2b; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #e8e8e8; --quiet: #a8a8a8;
  --line: #3a3e45; --accent: #7fb6f0; --gone: #43201c; --gone-ink: #ffb4a8; --new: #17381f;
  --new-ink: #9be3b0; } }
* { box-sizing: border-box; }
html { scroll-snap-type: y proximity; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 18px/1.45 system-ui, sans-serif; }
section { min-height: 100vh; padding: 2.5rem 4vw; scroll-snap-align: start;
  border-bottom: 1px solid var(--line); }
.cover { display: flex; flex-direction: column; justify-content: center; }
h1 { font-size: 2.4rem; margin: 0 0 1rem; }
h2 { font-size: 1.7rem; margin: 0 0 .2rem; }
h2 code, .where { color: var(--quiet); font-weight: normal; }
p { max-width: 62rem; margin: .6rem 0; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { font-size: .92em; }
.measured { font-size: 1.25rem; color: var(--accent); font-weight: 600; }
.quiet { color: var(--quiet); }
pre { font-size: 14px; line-height: 1.35; margin: 1rem 0 0; border: 1px solid var(--line); border-radius: 6px;
  overflow-x: auto; padding: .5rem 0; }
pre span { display: block; padding: 0 1rem; white-space: pre; min-height: 1.35em; }
.removed { background: var(--gone); color: var(--gone-ink); }
.added { background: var(--new); color: var(--new-ink); }
.gap { border-top: 1px dashed var(--line); min-height: 0 !important; margin: .4em 0; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
@media print { :root { --paper: #ffffff; --ink: #000000; --quiet: #444444; --line: #999999; --accent: #0b3d75;
    --gone: #fbe3e0; --gone-ink: #6e1408; --new: #ddf3e4; --new-ink: #083f1e; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  @page { size: A4 landscape; margin: 12mm; }
  body { font-size: 12pt; } pre { font-size: 8pt; } pre span { white-space: pre-wrap; }
  section { min-height: 0; padding: 0; border: 0; break-after: page; } h2, .measured { break-after: avoid; } }
"""


def slides(chapters: Sequence[Chapter], about: str = "") -> str:
    """Return the HTML of the slides: a cover, a slide for each chapter, and one for each step.

    `about` says where the times and the counts come from.
    """
    body = [_cover(chapters, about)]
    for chapter in chapters:
        body.append(_chapter(chapter))
        body += map(_slide, chapter.steps)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def about_text(results: Sequence[AnyResult], architecture: Architecture) -> str:
    """Return where the times and the counts of slides come from."""
    devices = sorted(set(map(machine_text, results)))
    times = f"Times: {', '.join(devices)}." if devices else "No times were given."
    return f"{times} Instructions: PTX for {architecture}, as they are written."


def _cover(chapters: Sequence[Chapter], about: str) -> str:
    links = "".join(
        f'<li><a href="#{_anchor(chapter.title)}">{escape(chapter.title)}</a> '
        f'<span class="quiet">{len(chapter.steps)} kernels</span></li>'
        for chapter in chapters
    )
    return (
        f'<section class="cover"><h1>{escape(TITLE)}</h1>'
        "<p>Each step is what it changes in the kernel that it is compared with: the idea, the lines, and "
        f'what they saved.</p><ul>{links}</ul><p class="quiet">{escape(about)}</p></section>'
    )


def _chapter(chapter: Chapter) -> str:
    rows = "".join(
        f'<tr><td><a href="#{step.key}"><code>{step.key}</code></a></td><td><code>{step.before or "–"}</code>'
        f'</td><td class="number">{_lines(step)}</td><td class="number">{_cost(step.cost)}</td>'
        f'<td class="number">{f"{step.measured.saved:+.0%}" if step.measured else "–"}</td></tr>'
        for step in chapter.steps
    )
    return (
        f'<section id="{_anchor(chapter.title)}"><h1>{escape(chapter.title)}</h1><table><tr><th>kernel</th>'
        '<th>compared with</th><th class="number">lines</th>'
        '<th class="number">PTX instructions per multiply-add</th><th class="number">time saved</th></tr>'
        f'{rows}</table><p class="quiet">Instructions of the loop over taps; <i>slanted</i>, of the whole '
        "kernel, whose taps are written one after another.</p></section>"
    )


def _slide(step: Step) -> str:
    against = f" <code>against {step.before}</code>" if step.before else ""
    parts = [f'<section id="{step.key}"><h2>{escape(step.title)}: {_worded(step.key)}{against}</h2>']
    if step.measured:
        parts.append(f'<p class="measured">{escape(step.measured.sentence)}</p>')
    parts += [f"<p>{_inline(one)}</p>" for one in paragraphs_of(step.idea or step.story.title)]
    parts += [f'<p class="quiet">{_inline(one)}</p>' for one in paragraphs_of(step.saves)]
    if sentence := _why(step):
        parts.append(f"<p>{escape(sentence)}</p>")
    parts.append(_code(step))
    return "".join([*parts, "</section>"])


def _why(step: Step) -> str:
    """Return what the instructions say, in a sentence; empty where they are not counted."""
    if step.cost is None:
        return ""
    whole = _where(step.cost)
    now = (
        f"{step.cost.instructions:.1f} PTX instructions per multiply-add{whole}, {step.cost.integer_64:.1f} "
        "of them on 64-bit integers and addresses"
    )
    if step.cost_before is None:
        return f"{now}."
    before = step.cost_before
    numbers = f"{before.instructions:.1f} and {before.integer_64:.1f}"
    return f"{now}; {step.before}: {numbers}{_where(before)}."


def _where(cost: TapCounts) -> str:
    return "" if cost.is_loop else " over the whole kernel"


def _code(step: Step) -> str:
    where = ", ".join(f"{one.path}, line {one.first_line}" for one in step.source.kernels)
    head = f'<p class="where">{escape(where)}</p>'
    if step.diff is None:
        lines = [line for one in step.source.kernels for line in one.lines]
        shown = [f"<span>{escape(line)}</span>" for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            shown.append(f'<span class="quiet">… {len(lines) - _MOST_LINES} lines more</span>')
        return f"{head}<pre>{''.join(shown)}</pre>"
    if not step.diff.removed and not step.diff.added:
        return f"{head}<p>The same kernel; what differs is what the compiler takes for constants.</p>"
    return f"{head}<pre>{''.join(map(_diff_line, step.diff.unified(_AROUND)))}</pre>"


def _diff_line(line: UnifiedLine) -> str:
    if line.change is Change.SAME and line.left_number is None:
        return '<span class="gap"></span>'
    kind = "" if line.change is Change.SAME else f' class="{line.change}"'
    return f"<span{kind}>{escape(line.marked)}</span>"


def _lines(step: Step) -> str:
    if step.diff is None:
        return f"{sum(len(one.lines) for one in step.source.kernels)}"
    return f"−{step.diff.removed} +{step.diff.added}"


def _cost(cost: TapCounts | None) -> str:
    if cost is None:
        return "–"
    number = f"{cost.instructions:.1f}"
    return number if cost.is_loop else f"<i>{number}</i>"


def _worded(key: str) -> str:
    return f"<code>{escape(key)}</code>"


def _inline(text: str) -> str:
    """Return a text with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
