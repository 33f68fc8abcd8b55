"""What a run of a stage gives: its measurement, the time by layer, the timeline of its chunks."""

from dataclasses import dataclass

from engine.results.measurement import Measurement
from engine.tasks.network.problem import ForwardPass

NetworkResult = Measurement[ForwardPass]


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time of one step of a stage, for the whole batch; `name` has the keys of the layers it computes."""

    name: str
    ms: float  # median of its samples


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk of a batch in one step, from begin to end in ms since the batch began (device events)."""

    chunk: int  # from 0
    stream: int  # 0 or 1: two streams alternate
    step: str  # "copy in", "kernels" or "copy out": of the scores, to their place on the device
    begin_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Held-out digits by what they are (rows) and what the network predicts (columns)."""

    counts: tuple[tuple[int, ...], ...]
    wrong: tuple[int, ...]  # numbers of the misclassified digits

    @property
    def digits(self) -> int:
        """How many digits there are."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """The share that is classified correctly."""
        return sum(row[number] for number, row in enumerate(self.counts)) / self.digits
