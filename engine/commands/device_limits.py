"""What a device does per second at most, beside the theoretical values: what `devices --limits` adds."""

from dataclasses import asdict

from engine.commands.output import log, table
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.explain.device_limits import (
    DeviceLimits,
    KeptLimits,
    MeasureLimits,
    left_out_words,
    limit_name,
)
from engine.host.request import answer
from engine.results.problem import Progress


def limits_of(device: DeviceInfo, again: bool) -> tuple[dict[str, object] | None, str]:
    """Return the limits of a device for JSON and in words, kept or measured now; None and "" without any."""
    limits = _limits(device, again)
    return (None, "") if limits is None else (asdict(limits), _in_words(limits))


def _limits(device: DeviceInfo, again: bool) -> DeviceLimits | None:
    """Return the limits of a device, kept or measured now; None for what is not there or only simulated."""

    def report(progress: Progress) -> None:
        log(f"{device.key}: {progress.stage}")

    if not (device.available and device.times_mean_speed):
        return None
    kept: DeviceLimits | None = None if again else answer(KeptLimits(device.key), report)
    try:
        return kept or answer(MeasureLimits(device.key), report)
    except DeviceUnavailable as error:
        log(str(error))
        return None


def _in_words(limits: DeviceLimits) -> str:
    rows = []
    for name, limit in limits.rates():
        stated = limit.theoretical
        share = ("-", "-") if stated is None else (_giga(stated), f"{100 * limit.measured / stated:.0f} %")
        rows.append((limit_name(name), _giga(limit.measured), *share))
    header = "per second, in thousand millions", "measured", "theoretical", "share"
    lines = table(header, rows, right=(1, 2, 3)).splitlines()
    if limits.vector_bits:
        lines.append(f"vectors of {limits.vector_bits} bits on {limits.cores} cores")
    if left_out := left_out_words(limits):
        lines.append(left_out)
    return "\n".join(f"{'':<10} {line}" for line in lines)


def _giga(value: float) -> str:
    # Numbers of three to six digits; calls and launches are some millions at most.
    return f"{value / 1e9:,.1f}" if value >= 1e8 else f"{value / 1e9:.2g}"
