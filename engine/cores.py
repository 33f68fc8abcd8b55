"""How many cores this process may use: those that it may run on, and no more than its quota of CPU time.

A container may run on all of a server's cores and yet have the time of two (Docker's --cpus, a Kubernetes
limit): a thread per core would use that up at once, and all would be stopped until the next period (100 ms).
"""

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

PROCESS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the CPU cores that this process may use, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = time_quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


@cache
def time_quota() -> float | None:
    """Return how many cores' time the process's control groups have; None where nothing limits it. Read once.

    Source: the Linux kernel's cgroup-v2.rst, "cpu.max", and scheduler/sched-bwc.rst, "cpu.cfs_quota_us".
    """
    return smallest_quota(PROCESS, GROUPS)


def smallest_quota(process: Path, groups: Path) -> float | None:
    """Return the smallest quota of the groups of a process, and of those around them.

    `process` is /proc/self/cgroup: lines of "number:controllers:path", of version 2 "0::path"; `groups` is
    /sys/fs/cgroup.
    """
    # Within a container the path may be the host's, which does not exist there: the root is the container's.
    quotas = (
        _quota(root / str(inside).lstrip("/"))
        for controllers, path in _groups_of(process)
        for root in (groups / controllers, groups / ("cpu" if controllers else "unified"))
        for inside in (path, *path.parents)
    )
    return min((quota for quota in quotas if quota is not None), default=None)


def _groups_of(process: Path) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield the controllers and the path of each group that may limit time."""
    try:
        lines = process.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers or "cpu" in controllers.split(","):
            yield controllers, PurePosixPath(path or "/")


def _quota(group: Path) -> float | None:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            files = (group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
            quota, period = (file.read_text(encoding="utf-8") for file in files)
        cores_worth = float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        # Missing, unreadable, or "max".
        return None
    return cores_worth if cores_worth > 0.0 else None
