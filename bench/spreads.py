"""What a kept file says of the samples of one duration: all of them would make thousands of lines."""

from typing import Any

from engine.results.measurement import RunResult, Spread


def spread_summary(spread: Spread) -> dict[str, float]:
    """Return the median, p20, p80 and minimum in milliseconds, and the number of samples."""
    return spread.statistics | {"samples": len(spread.samples_ms)}


def summarised(result: RunResult) -> dict[str, Any]:
    """Return a result as plain data for JSON, with a summary in place of the samples of each duration."""
    data = result.as_json()
    for name in data["timing"] or ():
        if isinstance(spread := getattr(result.timing, name), Spread):
            data["timing"][name] = spread_summary(spread)
    return data
