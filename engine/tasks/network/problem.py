"""ForwardPass: a batch of drawings through the network of the report, and everything that follows from it.

    1 x 28 x 28 -> convolution 5 x 5 x 32 -> average pool 2 x 2 -> convolution 5 x 5 x 64
    -> average pool 2 x 2 -> linearisation -> hidden 128 -> 10

Both convolutions are *valid*: a result is where the whole filter lies on the map, so 28 x 28 becomes 24 x 24.
After each convolution and after the hidden layer negative values become 0 (rectified, ReLU). The report names
no activation function; the sequential program of its course, whose accuracy it keeps, has these.

Source: ECE408 final report "CUCUDA", Introduction.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import BadValue
from engine.geometry.block import FLOAT_BYTES
from engine.host.request import Request, SharedArray, VariantInfo
from engine.image.format import DEFAULT_MAX_BYTES
from engine.message import Message
from engine.process import bytes_text
from engine.results.columns import Fact
from engine.results.measurement import Measurement
from engine.results.metrics import ComparedRun, Metric, Number
from engine.results.problem import Work
from engine.results.text_forms import count_text, rate_text

FILTER_SIDE, POOL_SIDE = 5, 2
FILTER_CELLS = FILTER_SIDE * FILTER_SIDE
SIDE = 28
"""Rows and columns of a drawing."""
FIRST, SECOND, HIDDEN, CLASSES = 32, 64, 128, 10
"""Maps of both convolutions, values of both connected layers."""
FIRST_SIDE, FIRST_POOLED, SECOND_SIDE, SECOND_POOLED = 24, 12, 8, 4
"""Sides of the maps of both convolutions, each before and after its pool."""
LINEAR = SECOND * SECOND_POOLED**2
"""Values after the linearisation: 1,024; (map, row, column) is at (map x 4 + row) x 4 + column."""
MAX_BATCH = 1 << 20
SIMULATOR_BATCH = 100
"""Drawings that the simulator takes at once: some seconds."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of the forward pass, and the shape of what it gives for one drawing."""

    key: str
    title: str
    shape: tuple[int, ...]  # (maps, rows, columns), or (values,)
    multiply_adds: int  # for one drawing; of a pool its additions
    operations: int  # floating-point operations for one drawing

    @property
    def values(self) -> int:
        """How many values it gives for one drawing."""
        return math.prod(self.shape)


def _layer(key: str, title: str, shape: tuple[int, ...], taps: int = 0) -> Layer:
    """Return a layer of sums of so many products; of a pool: three additions and a multiplication each."""
    values = math.prod(shape)
    return Layer(key, title, shape, values * taps, values * (2 * taps or 4))


LAYERS = (
    _layer("convolution-1", "Convolution 1", (FIRST, FIRST_SIDE, FIRST_SIDE), FILTER_CELLS),
    _layer("pool-1", "Average pool 1", (FIRST, FIRST_POOLED, FIRST_POOLED)),
    _layer("convolution-2", "Convolution 2", (SECOND, SECOND_SIDE, SECOND_SIDE), FILTER_CELLS * FIRST),
    _layer("pool-2", "Average pool 2", (SECOND, SECOND_POOLED, SECOND_POOLED)),
    _layer("hidden", "Hidden layer", (HIDDEN,), LINEAR),
    _layer("output", "Output layer", (CLASSES,), HIDDEN),
)
"""The steps in their order."""
WEIGHTS = FILTER_CELLS * FIRST * (1 + SECOND) + LINEAR * HIDDEN + HIDDEN * CLASSES
"""Weights of all layers: 184,352."""
NETWORK_TEXT = f"{SIDE} × {SIDE}, {FIRST}, {SECOND}, {HIDDEN}, {CLASSES}"


class ForwardPass(Message, frozen=True):
    """A batch of drawings through the network; raises BadValue for one below 1 or beyond 1,048,576."""

    task: ClassVar[str] = "network"
    columns_module: ClassVar[str] = "engine.tasks.network.problem"
    checked_unit: ClassVar[str] = "score"

    batch: int

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= MAX_BATCH:
            why = f"a batch has 1 to {MAX_BATCH:,} drawings"
            raise BadValue(f"batch {self.batch}", why, "Choose a batch such as 1, 100 or 10000.")

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the convolutions and the two connected layers, of the whole batch."""
        return self.batch * sum(layer.multiply_adds for layer in LAYERS)

    @property
    def flops(self) -> int:
        """Floating-point operations of the definition: two for each multiply-add, and those of the pools."""
        return self.batch * sum(layer.operations for layer in LAYERS)

    @property
    def values(self) -> int:
        """Scores that are computed."""
        return self.batch * CLASSES

    @property
    def input_bytes(self) -> int:
        """Bytes of the drawings, float32."""
        return self.batch * SIDE**2 * FLOAT_BYTES

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied to the device and back."""
        return self.input_bytes + self.values * FLOAT_BYTES

    @property
    def map_bytes(self) -> int:
        """Bytes of the values of all layers but the last, where a stage keeps them all."""
        return self.batch * sum(layer.values for layer in LAYERS[:-1]) * FLOAT_BYTES

    @property
    def simulator_limit(self) -> str:
        """What the simulator takes at most, in words, where this is more; else empty."""
        return f"batches of {SIMULATOR_BATCH}" if self.batch > SIMULATOR_BATCH else ""

    @property
    def size_text(self) -> str:
        """The batch in words."""
        return "1 drawing" if self.batch == 1 else f"{self.batch:,} drawings"

    @property
    def subject(self) -> str:
        """The batch in words."""
        return f"a batch of {self.size_text}"

    @property
    def comparable(self) -> Hashable:
        """What two runs must share so that their times can be compared."""
        return self

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {"batch": self.batch, "network": NETWORK_TEXT}


def refuse_too_large(problem: ForwardPass) -> None:
    """Refuse, with a `BadValue`, a batch whose drawings and layers would fill the memory."""
    needed = problem.input_bytes + problem.map_bytes
    if needed > DEFAULT_MAX_BYTES:
        each = needed // problem.batch
        why = f"it takes {bytes_text(needed)} with all layers, the limit is {bytes_text(DEFAULT_MAX_BYTES)}"
        raise BadValue(problem.subject, why, f"The largest batch is {DEFAULT_MAX_BYTES // each:,}.")


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


@dataclass(frozen=True, slots=True)
class LayerWork:
    """Elements that the threads of one kernel access, for the whole batch, before any cache."""

    multiply_adds: int = 0  # with those of a pool: one for each value that is summed
    loads: int = 0  # from global memory: maps and weights
    stores: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    constant_loads: int = 0


def network_work(problem: ForwardPass, *layers: LayerWork, picture_loads: int = 0) -> Work:
    """Return the work of all kernels together; `picture_loads` are those of the drawings among the loads."""
    multiply_adds, loads, stores, shared_loads, shared_stores, constant_loads = (
        sum(getattr(one, name) for one in layers) for name in LayerWork.__dataclass_fields__
    )
    return Work(
        flops=2 * multiply_adds,
        global_loads=loads, global_load_bytes=loads * FLOAT_BYTES,
        global_stores=stores, global_store_bytes=stores * FLOAT_BYTES,
        minimum_bytes=problem.copied_bytes + WEIGHTS * FLOAT_BYTES, picture_loads=picture_loads,
        shared_loads=shared_loads, shared_stores=shared_stores, constant_loads=constant_loads,
    )  # fmt: skip


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


class NetworkRequest(Message, Request, frozen=True):
    """Ask for the network's layers, stages, filters and held-out digits.

    `weights` is a file in place of the program's own, here and in the requests below.
    """

    handler: ClassVar[str] = "engine.tasks.network.stages:describe"
    reply: ClassVar[object] = NetworkFacts
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class DrawingRequest(Message, frozen=True):
    """Preview: one drawing, with every feature map.

    `ink` has 28 x 28 bytes, row by row: 0 is paper, 255 is ink. An empty drawing is refused.
    """

    answers: ClassVar[str] = "engine.tasks.network.stages"
    reply: ClassVar[object] = Recognised
    ink: bytes
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class StageRequest(Message, frozen=True):
    """A stage with a batch of held-out digits. Run times each layer too.

    Check asks which stages can compute such a batch.
    """

    answers: ClassVar[str] = "engine.tasks.network.stages"
    reply: ClassVar[object] = NetworkRun
    stage: str = "auto"
    batch: int = 100
    device: str = "auto"
    seed: int = 0
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


class DigitsRequest(Message, Request, frozen=True):
    """Classify every held-out digit with one stage."""

    handler: ClassVar[str] = "engine.tasks.network.stages:classify"
    reply: ClassVar[object] = Confusion
    stage: str = "auto"
    device: str = "auto"
    weights: str = ""
    file_fields: ClassVar[tuple[str, ...]] = ("weights",)


def _drawings_per_s(run: ComparedRun[ForwardPass]) -> Number:
    kernel_ms = run.result.kernel_ms
    return round(run.result.problem.batch / kernel_ms * 1e3) if kernel_ms else None


def _gflops(run: ComparedRun[ForwardPass]) -> Number:
    kernel_ms = run.result.kernel_ms
    return run.result.problem.flops / kernel_ms / 1e6 if kernel_ms else None


# fmt: off
_METRICS: tuple[Metric[ForwardPass], ...] = (
    Metric("drawings_per_s", "drawings per second", "1/s",
           "Drawings that pass through the network in a second: the batch over the median kernel time.",
           _drawings_per_s, count_text),
    Metric("network_gflops", "GFLOPS", "GFLOPS",
           "10⁹ operations per second: two for each multiply-add of the layers and four for each average, "
           "over the median kernel time.",
           _gflops, rate_text),
)
_FACTS: tuple[Fact[ForwardPass], ...] = (
    Fact("batch", "Batch", "Drawings that pass through the network at once.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.batch,
         caption="{}", of_problem=True),
)
# fmt: on
METRICS, FACTS = {ForwardPass.task: _METRICS}, {ForwardPass.task: _FACTS}
