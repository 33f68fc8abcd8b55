"""The timeline of a stream: which chunk was in which queue, and when."""

from dataclasses import asdict, dataclass
from enum import StrEnum

FORMAT = "haloscope-timeline"


class Queue(StrEnum):
    """The stages of a chunk; each works on one chunk at a time, all of them at once."""

    STAGE_IN = "into pinned memory"
    COPY_IN = "copy in"
    KERNEL = "kernel"
    COPY_OUT = "copy out"
    STAGE_OUT = "out of pinned memory"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: rows `top` to `bottom` (past the last) of a picture's result, and the bytes copied for them.

    `number` counts the chunks of the stream, `picture` its pictures, both from 0; `device` is the key of the
    device that filtered it.
    """

    number: int
    picture: int
    top: int
    bottom: int
    bytes_in: int
    bytes_out: int
    device: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk in a queue, from begin to end in ms since the stream began."""

    chunk: int
    queue: Queue
    begin_ms: float
    end_ms: float

    @property
    def ms(self) -> float:
        """How long the chunk was there."""
        return self.end_ms - self.begin_ms


@dataclass(frozen=True, slots=True)
class Timeline:
    """When each chunk of a stream was in which queue."""

    device: str  # its key; those of several GPUs separated by ", "
    variant: str  # keys of the variants that filtered, separated by ", "
    # What the spans were read from. On a GPU: device events; only the queues of pinned memory, where the host
    # copies, are read from its own clock, set to zero together with the device's.
    clock: str
    ring: int  # chunks that were on the device at once
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]  # by chunk, then by queue; none for stages that are not used (copies on the CPU)
    end_to_end_ms: (
        float  # from the request for the first picture to the last written result, by the host's clock
    )

    def busy_ms(self, queue: Queue) -> float:
        """Return how long a queue worked: the sum of its spans, ms; of several GPUs together."""
        return sum(span.ms for span in self.spans if span.queue is queue)

    @property
    def queues(self) -> tuple[Queue, ...]:
        """The queues that were used, in the order in which a chunk passes them."""
        used = {span.queue for span in self.spans}
        return tuple(queue for queue in Queue if queue in used)

    def as_json(self) -> dict[str, object]:
        """Return the timeline as plain JSON values."""
        document = {"format": FORMAT, **asdict(self)}
        for span in document["spans"]:
            # Files of version 1 name it so.
            span["lane"] = span.pop("queue")
        return document
