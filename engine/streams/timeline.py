"""The timeline of a stream: which chunk was where, and when."""

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from engine.errors import BadValue

FORMAT = "haloscope-timeline"


class QueuePolicy(StrEnum):
    """A place that works on one chunk at a time; all lanes work at once."""

    STAGE_IN = "into pinned memory"
    COPY_IN = "copy in"
    KERNEL = "kernel"
    COPY_OUT = "copy out"
    STAGE_OUT = "out of pinned memory"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: rows of one picture's result, and what is copied for them.

    Parameters
    ----------
    number : int
        In the order of the stream, from 0.
    picture : int
        Which picture of the batch, from 0.
    top, bottom : int
        First and past-the-last row of the result.
    bytes_in, bytes_out : int
    """

    number: int
    picture: int
    top: int
    bottom: int
    bytes_in: int
    bytes_out: int


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk in a lane, from begin to end in ms since the stream began."""

    chunk: int
    lane: QueuePolicy
    begin_ms: float
    end_ms: float

    @property
    def ms(self) -> float:
        """How long the chunk was there."""
        return self.end_ms - self.begin_ms


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a stream leaves behind.

    Parameters
    ----------
    device : str
        Key of the device.
    variant : str
        Keys of the variants that filtered, separated by ", ".
    clock : str
        What the spans were read from. Of a GPU: device events; only the lanes of pinned memory, where the host copies,
        are read from its own clock, set to zero together with the device's.
    ring : int
        Chunks that were on the device at once.
    chunks : tuple of Chunk
    spans : tuple of Span
        By chunk, then by lane. A lane in which nothing happens (copies on the CPU) has none.
    end_to_end_ms : float
        From the first byte asked for to the last result in its place, by the host's clock.
    """

    device: str
    variant: str
    clock: str
    ring: int
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    end_to_end_ms: float

    def busy_ms(self, lane: QueuePolicy) -> float:
        """Return how long a lane worked: the sum of its spans, ms."""
        return sum(span.ms for span in self.spans if span.lane is lane)

    @property
    def lanes(self) -> tuple[QueuePolicy, ...]:
        """The lanes in which something happened, in the order in which a chunk goes through them."""
        used = {span.lane for span in self.spans}
        return tuple(lane for lane in QueuePolicy if lane in used)

    def as_json(self) -> dict[str, Any]:
        """Return the timeline as plain JSON values."""
        return {"format": FORMAT, **asdict(self)}


def timeline_from_json(document: Any) -> Timeline:
    """Return the timeline that `Timeline.as_json` wrote.

    Raises
    ------
    BadValue
        It is none.
    """
    try:
        if document["format"] != FORMAT:
            raise ValueError("another format")
        values = {field.name: document[field.name] for field in fields(Timeline)}
        values["chunks"] = tuple(Chunk(**chunk) for chunk in values["chunks"])
        values["spans"] = tuple(
            Span(**{**span, "lane": QueuePolicy(span["lane"])}) for span in values["spans"]
        )
        return Timeline(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise BadValue(
            "the timeline", f"the document is none: {error}", "Choose a file that bench.streams wrote."
        ) from error
