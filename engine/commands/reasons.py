"""What `--explain` adds to results: the reasons for their times."""

from collections.abc import Sequence
from dataclasses import replace

from engine.device_info import DeviceInfo
from engine.results.measurement import AnyResult
from engine.run.task import AnyJob


def with_reason(result: AnyResult, job: AnyJob, device: DeviceInfo) -> AnyResult:
    """Return a result with the reason for its time; one that is not proven as it is."""
    # It takes 1.3 s to load, and nothing else needs it.
    from engine.explain.why import explained_time

    if not result.is_proven:
        return result
    return replace(result, explained=explained_time(job, device, result.kernel_ms))


def reasons(results: Sequence[AnyResult]) -> str:
    """Return the reasons as lines, by the numbers of the runs."""
    numbered = ((number, run.explained) for number, run in enumerate(results, start=1))
    return "\n".join(f"run {number}: {explained.words}" for number, explained in numbered if explained)
