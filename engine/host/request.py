"""What a kind of request to a host declares: how it waits, which host it wants, what it writes.

A new kind is one frozen dataclass that derives from `Request`, and one line in
`engine.host.handlers.HANDLERS`. What it and its reply hold in shared memory needs no word:
`engine.host.shared_array.segments_of` sees the arrays.
"""

from typing import ClassVar

from engine.host.queue_policy import QueuePolicy


class Request:
    """Derived from by the frozen dataclass of each kind of request.

    Attributes
    ----------
    queue : QueuePolicy
        How it waits for the host.
    """

    __slots__ = ()
    queue: ClassVar[QueuePolicy] = QueuePolicy.IN_ORDER

    @property
    def wants_simulator(self) -> bool:
        """Whether it is for the simulator, which has a process of its own."""
        return False

    @property
    def written_path(self) -> str:
        """The file, or the folder of files, that it writes; empty for one that writes none."""
        return ""
