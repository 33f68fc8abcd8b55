"""Which GPU a thread uses: selected for a call, and given back: CuPy and torch use the current one."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

from engine.device.cuda_graph import check
from engine.device.numba_cuda import cuda, driver


class Context:
    """The primary context of a GPU, which all libraries share."""

    def __init__(self, device: int) -> None:
        # Numba makes it ready for its own use as well.
        with cuda.gpus[device]:
            self._own = check(driver.cuCtxGetCurrent())
        self._address, self._is_first = int(self._own), device == 0

    def select(self) -> None:
        """Make it the calling thread's."""
        check(driver.cuCtxSetCurrent(self._own))

    def selected(self) -> AbstractContextManager[None]:
        """Make it the calling thread's for the while; afterwards the thread has the one that it had.

        Where no context is current CUDA takes GPU 0: a thread that had none keeps that one.
        """
        # Asking takes 1 us, making it current 5.
        before = int(check(driver.cuCtxGetCurrent()))
        if before == self._address:
            return nullcontext()
        if not before and self._is_first:
            self.select()
            return nullcontext()
        return self._pushed()

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        check(driver.cuCtxPushCurrent(self._own))
        try:
            yield
        finally:
            # After a fault of the device the driver refuses this too, and the fault is what is raised.
            driver.cuCtxPopCurrent()


@cache
def context_of(device: int) -> Context:
    """Return the context of the GPU of that number, started by the first call."""
    return Context(device)
