"""The request that the executor for the simulator sends: call a function there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.host.request import Request
from engine.results.progress import Checkpoint


@dataclass(frozen=True, slots=True)
class Call(Request):
    """Call a function in the simulator's process. Reply: its result.

    The function, of a module, is sent by name. It gets the arguments and `checkpoint`, to be called with a
    `Progress` before each step.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    handler: ClassVar[str] = "engine.host.call:answer"
    stays_here: ClassVar[bool] = True  # a function crosses no line to another machine

    @property
    def wants_simulator(self) -> bool:
        """Always: this process can do everything else itself."""
        return True


def answer(request: Call, report: Checkpoint) -> Any:
    """Call the function. Called on: the main thread of the host."""
    return request.function(*request.arguments, checkpoint=report)
