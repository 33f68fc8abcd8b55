"""`devices`: the devices that there are, why any is unavailable, and what each does per second at most."""

from dataclasses import dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import print_entries
from engine.device import device_list


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
    limits: dict[str, tuple[object, str]] = {}
    if settings.limits or settings.measure:
        # Most calls ask for none, and start without NumPy.
        from engine.commands.device_limits import limits_of

        limits = {device.key: limits_of(device, settings.measure) for device in devices}
    entries, lines = [], []
    for device in devices:
        state = "ready" if device.available else f"unavailable. {device.reason}"
        lines.append(f"{device.key:<10} {device.title}: {state}")
        lines += [f"{'':<10} {name}: {value}" for name, value in device.facts.items()]
        entry = device.as_json()
        if device.key in limits:
            entry["limits_per_second"], words = limits[device.key]
            lines += [words] if words else []
        entries.append(entry)
    print_entries(settings.json, "devices", entries, "\n".join(lines))
    return DONE
