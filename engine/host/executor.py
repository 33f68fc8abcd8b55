"""The executor for a device: this thread, or for the simulator a host process of this program.

The host has the client and the server of the window: one that is killed is replaced, and it ends with the
program. It starts with the first call, from any thread of any script.
"""

import atexit
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from engine.device.devices import own_process_needed
from engine.device.per_process import OncePerProcess
from engine.device_info import DeviceInfo
from engine.host.call import Call
from engine.interrupts import before_leaving
from engine.run.executor import CallingThread


class SimulatorExecutor(Executor):
    """Calls functions in the simulator's process, one after another."""

    def __init__(self) -> None:
        # The client's modules: 10 ms.
        from engine.host.client import EngineClient

        self._client = EngineClient()
        atexit.register(self.shutdown)
        before_leaving(self.shutdown)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Send a call; cancelling its future stops it at its next step."""
        assert not named
        future = self._client.submit(Call(function, arguments))
        future.add_done_callback(self._stop_cancelled)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the process; unanswered calls fail as cancelled."""
        self._client.shutdown()

    def _stop_cancelled(self, future: Future[Any]) -> None:
        if future.cancelled():
            self._client.cancel(future)


_simulator = OncePerProcess(SimulatorExecutor)
_here = CallingThread()


def executor_for(device: DeviceInfo) -> Executor:
    """Return the executor for jobs of a device."""
    return _simulator() if own_process_needed(device) else _here
