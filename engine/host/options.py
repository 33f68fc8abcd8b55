"""How a host process is to be started."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Choices that hold for the whole life of a host process.

    Parameters
    ----------
    simulator : bool
        Run Numba's CUDA simulator; Numba decides that once for a process, so it has a process of its own.
    use_cuda : bool
        False after repeated faults: the CPU for the rest of the session.
    """

    simulator: bool = False
    use_cuda: bool = True
