"""ForwardPass: the shapes of a network and of a batch of drawings, and everything that follows from them.

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
from engine.geometry.layout import FLOAT_BYTES
from engine.image.form import DEFAULT_MAX_BYTES, bytes_text
from engine.message import Message
from engine.results.measurement import Measurement
from engine.results.work import Work

FILTER_SIDE, POOL_SIDE = 5, 2
FILTER_CELLS = FILTER_SIDE * FILTER_SIDE
MAX_BATCH = 1 << 20
MAX_LAYER = 1024
"""Maps, hidden values and classes of a layer at most."""


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


class ForwardPass(Message, frozen=True):
    """A batch of square drawings through the network.

    Raises BadValue for a batch below 1 or beyond 1,048,576, a side with which a pool would not come out even,
    and a layer below 1 or beyond 1,024.
    """

    task: ClassVar[str] = "network"
    columns_module: ClassVar[str] = "engine.tasks.network.columns"
    checked_unit: ClassVar[str] = "score"

    batch: int
    side: int = 28  # rows and columns of a drawing
    first: int = 32  # maps of the first convolution
    second: int = 64  # maps of the second one
    hidden: int = 128
    classes: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= MAX_BATCH:
            raise BadValue(
                f"batch {self.batch}",
                f"a batch has 1 to {MAX_BATCH:,} drawings",
                "Choose a batch such as 1, 100 or 10000.",
            )
        if self.side % 4 or not 16 <= self.side <= 64:
            raise BadValue(
                f"drawings of {self.side} × {self.side}",
                "two convolutions and two pools need a side that is a multiple of 4, from 16 to 64",
                "Scale the drawing to 28 × 28.",
            )
        if not all(1 <= size <= MAX_LAYER for size in (self.first, self.second, self.hidden, self.classes)):
            raise BadValue(
                f"a network of {self.first}, {self.second}, {self.hidden} and {self.classes} values",
                f"each layer has 1 to {MAX_LAYER:,}",
                "Choose sizes within these.",
            )

    @property
    def first_side(self) -> int:
        """Side of a map of the first convolution: 24."""
        return self.side - FILTER_SIDE + 1

    @property
    def first_pooled(self) -> int:
        """Side of a map after the first pool: 12."""
        return self.first_side // POOL_SIDE

    @property
    def second_side(self) -> int:
        """Side of a map of the second convolution: 8."""
        return self.first_pooled - FILTER_SIDE + 1

    @property
    def second_pooled(self) -> int:
        """Side of a map after the second pool: 4."""
        return self.second_side // POOL_SIDE

    @property
    def linear(self) -> int:
        """Values after the linearisation: 1,024; (map, row, column) is at (map x 4 + row) x 4 + column."""
        return self.second * self.second_pooled**2

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The steps in their order."""
        side, pooled = self.first_side, self.first_pooled
        side_2, pooled_2 = self.second_side, self.second_pooled
        taps_2 = FILTER_CELLS * self.first
        return (
            _summed("convolution-1", "Convolution 1", (self.first, side, side), FILTER_CELLS),
            _pooled("pool-1", "Average pool 1", (self.first, pooled, pooled)),
            _summed("convolution-2", "Convolution 2", (self.second, side_2, side_2), taps_2),
            _pooled("pool-2", "Average pool 2", (self.second, pooled_2, pooled_2)),
            _summed("hidden", "Hidden layer", (self.hidden,), self.linear),
            _summed("output", "Output layer", (self.classes,), self.hidden),
        )

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the convolutions and the two connected layers, of the whole batch."""
        each = sum(layer.multiply_adds for layer in self.layers)
        return self.batch * each

    @property
    def flops(self) -> int:
        """Floating-point operations of the definition: two for each multiply-add, and those of the pools."""
        return self.batch * sum(layer.operations for layer in self.layers)

    @property
    def weights(self) -> int:
        """Weights of all layers: 184,352."""
        filters = FILTER_CELLS * self.first * (1 + self.second)
        return filters + self.linear * self.hidden + self.hidden * self.classes

    @property
    def values(self) -> int:
        """Scores that are computed."""
        return self.batch * self.classes

    @property
    def input_bytes(self) -> int:
        """Bytes of the drawings, float32."""
        return self.batch * self.side**2 * FLOAT_BYTES

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied to the device and back."""
        return self.input_bytes + self.values * FLOAT_BYTES

    @property
    def map_bytes(self) -> int:
        """Bytes of the values of all layers but the last, where a stage keeps them all."""
        return self.batch * sum(layer.values for layer in self.layers[:-1]) * FLOAT_BYTES

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
        return {"batch": self.batch, "network": self.network_text}

    @property
    def network_text(self) -> str:
        """The network in a line: "28 x 28, 32, 64, 128, 10"."""
        return f"{self.side} × {self.side}, {self.first}, {self.second}, {self.hidden}, {self.classes}"


def _summed(key: str, title: str, shape: tuple[int, ...], taps: int) -> Layer:
    values = math.prod(shape)
    return Layer(key, title, shape, values * taps, 2 * values * taps)


def _pooled(key: str, title: str, shape: tuple[int, int, int]) -> Layer:
    """Return a pool: three additions and a multiplication for each value."""
    return Layer(key, title, shape, 0, 4 * shape[0] * shape[1] * shape[2])


def refuse_too_large(problem: ForwardPass) -> None:
    """Refuse, with a `BadValue`, a batch whose drawings and layers would fill the memory."""
    needed = problem.input_bytes + problem.map_bytes
    if needed > DEFAULT_MAX_BYTES:
        each = needed // problem.batch
        raise BadValue(
            problem.subject,
            f"it takes {bytes_text(needed)} with all layers, the limit is {bytes_text(DEFAULT_MAX_BYTES)}",
            f"The largest batch is {DEFAULT_MAX_BYTES // each:,}.",
        )


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
    loads, stores = (sum(getattr(one, name) for one in layers) for name in ("loads", "stores"))
    return Work(
        flops=2 * sum(one.multiply_adds for one in layers),
        global_loads=loads,
        global_stores=stores,
        global_load_bytes=loads * FLOAT_BYTES,
        global_store_bytes=stores * FLOAT_BYTES,
        minimum_bytes=problem.copied_bytes + problem.weights * FLOAT_BYTES,
        picture_loads=picture_loads,
        shared_loads=sum(one.shared_loads for one in layers),
        shared_stores=sum(one.shared_stores for one in layers),
        constant_loads=sum(one.constant_loads for one in layers),
    )
