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
    blocks : str
        How the names of its blocks of shared memory begin, so that its client finds them; empty: as it likes.
    """

    simulator: bool = False
    use_cuda: bool = True
    blocks: str = ""
