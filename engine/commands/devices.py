"""`devices`: what there is, why one is unavailable, and what each does per second at most."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import log, print_answer, print_entries, table
from engine.device import device_list
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.host.request import answer

if TYPE_CHECKING:
    from engine.explain.device_limits import DeviceLimits
    from engine.results.problem import Progress

# A unit in which numbers of three to six digits are left.
_GIGA = 1e9


@dataclass(frozen=True, kw_only=True)
class DevicesSettings(Settings):
    """What `devices` takes."""

    about = (
        "The CUDA simulator is a device too: it runs what a GPU would run, checks every "
        "access and finds races, without a GPU. Its times mean nothing."
    )
    examples = ("", "--json", "--limits")
    limits: bool = option(
        "--limits  what each device does per second at most, beside the theoretical value; measured where it "
        "has not been, which takes 2 s a device",
        False,
    )
    measure: bool = option("--measure  as --limits, and measure again what was measured before", False)


def run(settings: DevicesSettings) -> int:
    """List every device, with the reason where one is unavailable; return the exit status."""
    devices = device_list.listed_devices()
    wants_limits = settings.limits or settings.measure
    limits = {device.key: _limits(device, settings.measure) for device in devices} if wants_limits else {}
    if settings.json:
        added = {key: {"limits_per_second": found and asdict(found)} for key, found in limits.items()}
        print_entries("devices", [device.as_json() | added.get(device.key, {}) for device in devices])
        return DONE
    for device in devices:
        state = "ready" if device.available else f"unavailable. {device.reason}"
        print_answer(f"{device.key:<10} {device.title}: {state}")
        for name, value in device.facts.items():
            print_answer(f"{'':<10} {name}: {value}")
        found = limits.get(device.key)
        if found is not None:
            print_answer(_in_words(found))
    return DONE


def _limits(device: DeviceInfo, again: bool) -> "DeviceLimits | None":
    """Return the limits of a device, kept or measured now; None for what is not there or only simulated."""

    def report(progress: "Progress") -> None:
        log(f"{device.key}: {progress.stage}")

    # Most calls ask for none.
    from engine.explain.device_limits import KeptLimits, MeasureLimits

    if not (device.available and device.times_mean_speed):
        return None
    found: DeviceLimits | None = None if again else answer(KeptLimits(device.key), report)
    try:
        return found or answer(MeasureLimits(device.key), report)
    except DeviceUnavailable as error:
        log(str(error))
        return None


def _in_words(limits: "DeviceLimits") -> str:
    from engine.explain.device_limits import left_out_words, limit_name

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
    # Calls and launches are some millions at most.
    return f"{value / _GIGA:,.1f}" if value >= _GIGA / 10 else f"{value / _GIGA:.2g}"
