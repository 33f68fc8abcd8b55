"""Simulated CUDA threads as greenlets, which switch at barriers only.

Numba's simulator starts a thread of the system for each CUDA thread, and the launching thread asks all of
them again and again whether they wait. Here each CUDA thread is a greenlet that runs to its next barrier;
then the next one runs. 25 launches of `separable-fused` in the tests take 2.5 s of a processor instead of
7.6 s.
"""

import inspect
from collections.abc import Callable, Iterable
from types import FrameType, SimpleNamespace
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from numba.cuda.simulator import kernel as launches
from numba.cuda.simulator import kernelapi

__all__ = ["run_threads_as_greenlets"]

# What is replaced here has no public name: a release of Numba in which it looks otherwise keeps its own.
_KNOWN_ARGUMENTS = ["f", "grid_dim", "block_dim", "debug"]
_KNOWN_NAMES = {"threading", "traceback", "Dim3"}


class _Thread(greenlet):
    """A simulated CUDA thread; Numba's `cuda` asks it where it is, and calls its barriers."""

    def __init__(self, run: Callable[[object], None], block_index: Any, index: Any, number: int) -> None:
        super().__init__(run)
        self.blockIdx = block_index
        self.threadIdx = index
        self.thread_id = number

    def continued(self, votes: list[Any]) -> Any:
        """Run to the next barrier or to the end; return this thread's vote there.

        Parameters
        ----------
        votes : list
            Votes of all threads at the barrier at which this one waits.

        Raises
        ------
        Exception
            What the kernel raises; its message begins with the thread's indices, as Numba's does.
        """
        try:
            return self.switch(votes)
        except Exception as error:
            where = f"tid={list(self.threadIdx)} ctaid={list(self.blockIdx)}"
            error.args = (f"{where}: {error}" if str(error) else where,)
            raise

    def _meet(self, vote: object = None) -> list[Any]:
        """Wait until every thread of the block waits or has ended; return the votes of those that wait."""
        return self.parent.switch(vote)

    def syncthreads(self) -> None:
        self._meet()

    def syncthreads_count(self, value: Any) -> int:
        return sum(map(bool, self._meet(value)))

    def syncthreads_and(self, value: Any) -> int:
        return int(all(self._meet(value)))

    def syncthreads_or(self, value: Any) -> int:
        return int(any(self._meet(value)))


class _Block:
    """Runs the blocks of a simulated launch, one after the other; stands for Numba's `BlockManager`."""

    def __init__(
        self, kernel: Callable[..., None], grid: Iterable[int], block: tuple[int, ...], debug: bool
    ) -> None:
        self._kernel, self._block = kernel, block

    def run(self, block_index: tuple[int, ...], *arguments: Any) -> None:
        """Run all threads of a block from barrier to barrier, each time in the opposite order.

        What a thread reads without a barrier from those before and after it is then wrong at one of them.
        """
        width, height, depth = self._block
        here = kernelapi.Dim3(*block_index)

        def run_kernel(_votes: object) -> None:
            self._kernel(*arguments)

        threads = [
            _Thread(run_kernel, here, kernelapi.Dim3(x, y, z), x + width * (y + height * z))
            for z in range(depth)
            for y in range(height)
            for x in range(width)
        ]
        if sum(block_index) % 2:
            threads.reverse()
        try:
            votes: list[Any] = []
            while threads:
                brought = [(thread, thread.continued(votes)) for thread in threads]
                # A thread that has ended keeps nobody waiting, and has no vote.
                waiting = [(thread, vote) for thread, vote in brought if not thread.dead]
                votes = [vote for _, vote in waiting]
                threads = [thread for thread, _ in reversed(waiting)]
        finally:
            # After an error or Ctrl+C: what waits ends now, and not at some later collection of garbage.
            for thread in threads:
                if thread:
                    thread.throw(GreenletExit)


def _asking_line(frame: FrameType) -> list[Any]:
    """Return the line that asks for shared memory, of which Numba reads file and number.

    Its own way, a traceback with the texts of all lines, takes a tenth of a launch of `tiled`.
    """
    asking: Any = frame.f_back
    return [(asking.f_code.co_filename, asking.f_lineno), None]


def run_threads_as_greenlets() -> bool:
    """Let the simulated launches of this process run their threads as greenlets.

    Returns
    -------
    bool
        False where Numba's simulator looks otherwise than it did in 0.68: its own threads stay.
    """
    manager = getattr(launches, "BlockManager", None)
    if manager is None or [*inspect.signature(manager).parameters] != _KNOWN_ARGUMENTS:
        return False
    if not vars(kernelapi).keys() >= _KNOWN_NAMES:
        return False
    launches.BlockManager = _Block
    kernelapi.threading = SimpleNamespace(current_thread=getcurrent)
    kernelapi.traceback = SimpleNamespace(extract_stack=_asking_line)
    return True
