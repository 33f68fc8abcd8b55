"""Why a run gave no time, said where its variant is named already."""

from engine.results.measurement import RunResult


def why_no_time(result: RunResult) -> str:
    """Return the status of a run that failed or was refuted, without the name of its variant before it."""
    status = result.status
    if not status.startswith(f"variant '{result.variant}'"):
        return status
    why = status.partition(": ")[2]
    return why[:1].upper() + why[1:] or status
