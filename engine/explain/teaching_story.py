"""The teaching order as a story: each kernel is what it changes in the one that it is compared with.

It is shown as slides: one HTML file, without anything from elsewhere, to show or to print.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from engine.explain import code_diff
from engine.explain.code_lines import SAVES, KernelSource, paragraphs_of, story_of
from engine.explain.examples import example_of
from engine.explain.kernel_code import source_of
from engine.results.measurement import AnyResult
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS

_FIRST_HEADING = "Filters with a mask"


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A kernel of the story; the first ones of a family change no other."""

    key: str
    title: str
    source: KernelSource
    before: str = ""  # the key of the kernel that it is compared with; empty: none
    diff: code_diff.Diff | None = None
    measured: code_diff.MeasuredDifference | None = None

    @property
    def idea(self) -> str:
        """What the kernel does, in a paragraph or two."""
        return self.source.story.part("Idea")


Chapters = dict[str, list[StoryStep]]


def teaching_story(results: Sequence[AnyResult] = ()) -> Chapters:
    """Return the kernels of ours of each task, by its title; nothing is compiled.

    What a step saved is taken from results, where they have both kernels on one problem.
    """
    chapters: Chapters = {}
    for task in TASKS.values():
        if known := {one.key: one for one in task.variants if one.has_kernels}:
            # Without the command that measures them.
            chapters[(task.heading or _FIRST_HEADING).partition(" (")[0]] = list(_steps(known, results))
    return chapters


def compared_with(variant: AnyVariant, known: Sequence[AnyVariant]) -> AnyVariant | None:
    """Return the kernel that a variant's module compares it with; None where it names none of the known.

    Its savings are stated against one ("Against `naive`: ..."); else the first one that is named there, in
    the title, or in the idea.
    """
    story, by_key = story_of(variant), {one.key: one for one in known if one is not variant}
    saves = story.part(SAVES)
    named = re.findall(r"Against `([\w-]+)`", saves)
    for text in (saves, story.title, story.part("Idea")):
        named += re.findall(r"`([\w-]+)`", text)
    return next((by_key[key] for key in named if key in by_key), None)


def _steps(known: dict[str, AnyVariant], results: Sequence[AnyResult]) -> Iterator[StoryStep]:
    sources = {key: source_of(example_of(variant)) for key, variant in known.items()}
    for key, source in sources.items():
        named = compared_with(known[key], tuple(known.values()))
        # Else the first kernel of the story with the same source, where it comes before.
        same = (other for other, one in sources.items() if one.kernels == source.kernels)
        before = named.key if named else next(same)
        if before == key:
            yield StoryStep(key, known[key].title, source)
            continue
        measured = code_diff.measured_difference(results, before, key)
        diff = code_diff.diff_of(sources[before].kernels, source.kernels, (before, key))
        yield StoryStep(key, known[key].title, source, before, replace(diff, measured=measured), measured)


TITLE = "One kernel after another"
# Equal lines before and after a difference.
_AROUND = 3
# Of a kernel that is compared with none.
_MOST_LINES = 90

_STYLE = """
body { margin: 0; background: #ffffff; color: #1a1a1a; font: 18px/1.45 system-ui, sans-serif; }
section { min-height: 100vh; padding: 2.5rem 4vw; border-bottom: 1px solid #d0d0d0; }
h2 code, .quiet { color: #595959; font-weight: normal; }
p { max-width: 62rem; }
a, .measured { color: #0b5cad; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre { font-size: 14px; line-height: 1.35; border: 1px solid #d0d0d0; overflow-x: auto; }
pre span { display: block; padding: 0 1rem; white-space: pre; min-height: 1.35em; }
.removed { background: #fbe3e0; color: #8c1d0f; }
.added { background: #ddf3e4; color: #0c5a2b; }
.gap { border-top: 1px dashed #d0d0d0; min-height: 0 !important; margin: .4em 0; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid #d0d0d0; }
@media print { * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  @page { size: A4 landscape; margin: 12mm; }
  body { font-size: 12pt; } pre { font-size: 8pt; } pre span { white-space: pre-wrap; }
  section { min-height: 0; padding: 0; border: 0; break-after: page; } }
"""


def slides(chapters: Chapters, about: str = "") -> str:
    """Return the HTML of the slides: a cover, a slide for each chapter, and one for each step.

    `about` says where the times come from.
    """
    links = "".join(
        f'<li><a href="#{_anchor(title)}">{escape(title)}</a> '
        f'<span class="quiet">{len(steps)} kernels</span></li>'
        for title, steps in chapters.items()
    )
    body = [
        f"<section><h1>{escape(TITLE)}</h1>"
        "<p>Each step is what it changes in the kernel that it is compared with: the idea, the lines, and "
        f'what they saved.</p><ul>{links}</ul><p class="quiet">{escape(about)}</p></section>'
    ]
    for title, steps in chapters.items():
        rows = "".join(map(_row, steps))
        body.append(
            f'<section id="{_anchor(title)}"><h1>{escape(title)}</h1><table><tr><th>kernel</th>'
            f"<th>compared with</th><th>lines</th><th>time saved</th></tr>{rows}</table></section>"
        )
        body += map(_slide, steps)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def about_text(results: Sequence[AnyResult]) -> str:
    """Return where the times of slides come from."""
    devices = sorted(set(map(code_diff.machine_text, results)))
    return f"Times: {', '.join(devices)}." if devices else "No times were given."


def _row(step: StoryStep) -> str:
    lines = f"{sum(len(one.lines) for one in step.source.kernels)}"
    if step.diff is not None:
        lines = f"−{step.diff.removed} +{step.diff.added}"
    return (
        f'<tr><td><a href="#{step.key}"><code>{step.key}</code></a></td><td><code>{step.before or "–"}</code>'
        f"</td><td>{lines}</td><td>{f'{step.measured.saved:+.0%}' if step.measured else '–'}</td></tr>"
    )


def _slide(step: StoryStep) -> str:
    against = f"<code>{step.key}</code>" + (f" <code>against {step.before}</code>" if step.before else "")
    parts = [f'<section id="{step.key}"><h2>{escape(step.title)}: {against}</h2>']
    if step.measured:
        parts.append(f'<p class="measured">{escape(step.measured.sentence)}</p>')
    story = step.source.story
    parts += [f"<p>{_inline(one)}</p>" for one in paragraphs_of(step.idea or story.title)]
    parts += [f'<p class="quiet">{_inline(one)}</p>' for one in paragraphs_of(story.part(SAVES))]
    where = ", ".join(f"{one.path}, line {one.first_line}" for one in step.source.kernels)
    return "".join([*parts, f'<p class="quiet">{escape(where)}</p>', _code(step), "</section>"])


def _code(step: StoryStep) -> str:
    if step.diff is None:
        lines = [line for one in step.source.kernels for line in one.lines]
        shown = [f"<span>{escape(line)}</span>" for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            shown.append(f'<span class="quiet">… {len(lines) - _MOST_LINES} lines more</span>')
    elif not step.diff.removed and not step.diff.added:
        return "<p>The same kernel; what differs is what the compiler takes for constants.</p>"
    else:
        shown = []
        for row in step.diff.unified(_AROUND):
            if row.change is code_diff.Change.SAME:
                is_gap = row.left_number is None
                shown.append('<span class="gap"></span>' if is_gap else f"<span>{escape(row.marked)}</span>")
            else:
                shown.append(f'<span class="{row.change}">{escape(row.marked)}</span>')
    return f"<pre>{''.join(shown)}</pre>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
