"""A device as the pipeline sees it, and the chunks that go through."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from engine.device.launches import Prepared
from engine.streams.timeline import Chunk, Queue


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """A chunk with its arrays."""

    chunk: Chunk
    sources: Sequence[np.ndarray]  # of shape (rows, W, C); one below the other they are the picture to filter
    target: np.ndarray  # of shape (result rows, W, C): where the result goes
    skip: int  # rows of the filtered picture before the first of the result
    # Gives the variant for a picture of the sources' shape; what it raises ends the stream. Called when the
    # copy of the sources is already under way.
    prepare: Callable[[], Prepared]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.target.shape
        return sum(len(source) for source in self.sources), width, channels


class DeviceQueues(Protocol):
    """A device as the pipeline sees it: three queues, marks in them, arrays for slots.

    Everything but `wait` and the arrays returns at once; a queue does what was put into it in order. A slot's
    pictures of all shapes lie in the same memory, and so do its results.
    """

    def image(self, slot: int, job: ChunkJob) -> Any:
        """Return a slot's device memory for a picture of that shape and type."""

    def result(self, slot: int, job: ChunkJob) -> Any:
        """Return a slot's device memory for the result of such a picture."""

    def pinned(self, slot: int, which: str, like: tuple[tuple[int, ...], np.dtype[Any]]) -> np.ndarray:
        """Return a slot's pinned array for the way "in" or "out", of that shape and type."""

    def is_pinned(self, array: np.ndarray) -> bool:
        """Return whether the copy engines can reach a host array."""

    def copy_in(self, host: np.ndarray, on_device: Any, row: int) -> None:
        """Enqueue a copy to rows `row` and following."""

    def launch(self, prepared: Prepared, image: Any, out: Any) -> None:
        """Enqueue the kernels."""

    def copy_out(self, on_device: Any, row: int, host: np.ndarray) -> None:
        """Enqueue a copy of rows `row` and following."""

    def mark(self, queue: Queue) -> Any:
        """Return a mark at the end of a queue; it has a time once the queue has reached it."""

    def after(self, queue: Queue, mark: Any) -> None:
        """Let a queue continue only after a mark of another one."""

    def wait(self, mark: Any) -> None:
        """Wait until a mark was reached. Called on: any thread."""

    def ms(self, mark: Any) -> float:
        """Return when a mark was reached, ms since the queues were made."""

    def forget(self, marks: Iterable[Any]) -> None:
        """Take marks back that were reached and that nothing waits for; they become others."""

    def drain(self) -> None:
        """Wait until nothing is under way."""
