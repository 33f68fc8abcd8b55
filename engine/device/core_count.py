"""How many cores the launches of a thread may use."""

from engine.cores import cores
from engine.device.per_thread import ThreadChoice

most_launch_cores = ThreadChoice[int | None](None)
"""How many cores launches may use that the thread prepares, as others have work of their own; None: all."""
launches_on = most_launch_cores.within


def launch_cores() -> int:
    """Return the cores that a launch of this thread may use."""
    most = most_launch_cores()
    return cores() if most is None else min(cores(), most)
