"""What the engine's process is asked about the network, and its replies."""

from typing import ClassVar

from engine.host.messages import VariantInfo
from engine.host.request import Request
from engine.host.shared_array import SharedArray
from engine.message import Message
from engine.tasks.network.problem import ChunkSpan, Layer, LayerTime, NetworkResult


class NetworkRequest(Message, Request, frozen=True):
    """Ask for the network's layers, stages, filters and held-out digits. Reply: NetworkFacts.

    `weights` is a file in place of the program's own, here and in the requests below.
    """

    handler: ClassVar[str] = "engine.tasks.network.answers:describe"
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class DrawingRequest(Message, frozen=True):
    """Preview: one drawing, with every feature map. Reply: Recognised.

    `ink` has 28 x 28 bytes, row by row: 0 is paper, 255 is ink. An empty drawing is refused.
    """

    answers: ClassVar[str] = "engine.tasks.network.answers"
    ink: bytes
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class StageRequest(Message, frozen=True):
    """A stage with a batch of held-out digits. Run times each layer too; reply: NetworkRun.

    Check asks which stages can compute such a batch.
    """

    answers: ClassVar[str] = "engine.tasks.network.answers"
    stage: str = "auto"
    batch: int = 100
    device: str = "auto"
    seed: int = 0
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class DigitsRequest(Message, Request, frozen=True):
    """Classify every held-out digit with one stage. Reply: Confusion."""

    handler: ClassVar[str] = "engine.tasks.network.answers:classify"
    stage: str = "auto"
    device: str = "auto"
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class NetworkFacts(Message, frozen=True):
    """What the page on the network shows before anything is run; the arrays lie in shared memory."""

    layers: tuple[Layer, ...]
    stages: tuple[VariantInfo, ...]
    first_filters: SharedArray  # (32, 1, 5, 5) float32: a filter for each map
    second_filters: SharedArray  # (64, 32, 5, 5) float32: a filter for each map and each input map
    hidden_weights: SharedArray  # (1024, 128) float32: a column for each value
    output_weights: SharedArray  # (128, 10) float32
    digits: SharedArray  # (n, 28, 28) uint8, never trained on: 0 is paper, 255 is ink
    labels: tuple[int, ...]  # which digit each one is


class LayerMaps(Message, frozen=True):
    """A layer's values of one drawing: (maps, rows, columns) or (values,), float32."""

    layer: Layer
    values: SharedArray


class Recognised(Message, frozen=True):
    """A drawing with every layer's values, the probability of each digit, and the most likely one."""

    layers: tuple[LayerMaps, ...]
    probabilities: tuple[float, ...]
    digit: int
    elapsed_ms: float  # of the pass alone, by the host's clock


class NetworkRun(Message, frozen=True):
    """A stage's run: its proof and times, the time of each layer, and of streams the chunks' timeline."""

    result: NetworkResult
    layers: tuple[LayerTime, ...] = ()
    timeline: tuple[ChunkSpan, ...] = ()
    not_timed: str = ""  # why the layers of a run that is right were not timed
