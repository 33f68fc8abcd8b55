"""Where a cluster's scheduler is, as it is written on the command line. No Dask in here."""

import re
from dataclasses import dataclass

from engine.device.core_count import cores
from engine.errors import BadValue

# `local:N` is for this machine: more processes than this only take memory from one another.
_LEAST_LIMIT, _PER_CORE = 16, 4


@dataclass(frozen=True, slots=True)
class SchedulerAddress:
    """The address of a scheduler that runs; or so many worker processes that are started on this machine."""

    text: str
    processes: int = 0

    @classmethod
    def parse(cls, text: str) -> "SchedulerAddress":
        """Return what tcp://host:port, tls://host:port or local:N says."""
        remedy = "Write tcp://host:8786, tls://host:8786, or local:2 for two processes on this machine."
        if found := re.fullmatch(r"local:(\d{1,6})", text):
            processes, most = int(found[1]), max(_LEAST_LIMIT, _PER_CORE * cores())
            if not 1 <= processes <= most:
                raise BadValue(f"--scheduler {text}", f"it is not 1 to {most} processes", remedy)
            return cls(text, processes)
        if not re.fullmatch(r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+):\d{1,5}", text):
            raise BadValue(f"--scheduler {text}", "it is not the address of a scheduler", remedy)
        return cls(text)
