"""A timeline of a stream read from JSON, and drawn: a line per queue, with a bar per chunk."""

import io
from dataclasses import fields
from typing import Any, Literal

from engine.course.figures import SETTINGS, as_svg
from engine.errors import BadValue
from engine.streams.timeline import FORMAT, Chunk, Queue, Span, Timeline

# Okabe and Ito's colours, darker for white numbers; one for each slot of the ring.
_COLOURS = ("#0072b2", "#b87d00", "#008a64", "#b85c92", "#2b8fc9", "#d55e00", "#968c00", "#4d5560")
# More numbers would run into one another.
_MOST_NUMBERS = 40


def timeline_from_json(document: Any) -> Timeline:
    """Return the timeline that `Timeline.as_json` wrote; a `BadValue` says why there is none."""
    try:
        if document["format"] != FORMAT:
            raise ValueError("another format")
        values = {field.name: document[field.name] for field in fields(Timeline)}
        values["chunks"] = tuple(Chunk(**chunk) for chunk in values["chunks"])
        values["spans"] = tuple(
            Span(span["chunk"], Queue(span["lane"]), span["begin_ms"], span["end_ms"])
            for span in values["spans"]
        )
        return Timeline(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise BadValue(
            "the timeline", f"the document is none: {error}", "Choose a file that bench.streams wrote."
        ) from error


def draw(timeline: Timeline, form: Literal["svg", "png"] = "svg") -> bytes:
    """Return a timeline as SVG or PNG."""
    import matplotlib
    from matplotlib.figure import Figure

    queues = timeline.queues
    with matplotlib.rc_context(SETTINGS | {"axes.spines.left": False}):
        figure = Figure(figsize=(11.0, 1.4 + 0.55 * len(queues)), layout="constrained", dpi=110)
        axes = figure.add_subplot()
        for line, queue in enumerate(queues):
            _draw_queue(axes, timeline, queue, line)
        axes.set_yticks(
            range(len(queues)), [f"{queue}\n{timeline.busy_ms(queue):.1f} ms" for queue in queues]
        )
        axes.set_ylim(max(len(queues), 1) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0.0, max([span.end_ms for span in timeline.spans], default=1.0) * 1.005)
        axes.set_xlabel("ms since the stream began")
        axes.grid(visible=True, axis="x", color="#d9dde3", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(_title(timeline), loc="left", fontsize=10)
        if form == "svg":
            return as_svg(figure, "Timeline of a stream")
        file = io.BytesIO()
        figure.savefig(file, format=form)
        return file.getvalue()


def _draw_queue(axes: Any, timeline: Timeline, queue: Queue, line: int) -> None:
    spans = [span for span in timeline.spans if span.queue is queue]
    axes.broken_barh(
        [(span.begin_ms, span.ms) for span in spans],
        (line - 0.36, 0.72),
        facecolors=[_COLOURS[span.chunk % timeline.ring % len(_COLOURS)] for span in spans],
        edgecolor="white",
        linewidth=0.5,
    )
    if len(timeline.chunks) <= _MOST_NUMBERS:
        shortest = 0.012 * max(span.end_ms for span in timeline.spans)
        for span in spans:
            if span.ms > shortest:
                middle = (span.begin_ms + span.end_ms) / 2
                axes.text(middle, line, str(span.chunk), ha="center", va="center", fontsize=8, color="white")


def _title(timeline: Timeline) -> str:
    return (
        f"{timeline.variant} on {timeline.device}: {len(timeline.chunks)} chunks, {timeline.ring} at once, "
        f"{timeline.end_to_end_ms:.1f} ms end to end"
    )
