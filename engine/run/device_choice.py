"""Which device a variant of any task runs on, and the refusal of another kind of device."""

from engine.device.devices import SIMULATOR_SIDE, device_named
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceUnavailable, UnsupportedVariant
from engine.tasks.contract import AnyVariant


def device_for(variant: AnyVariant, wanted: str) -> DeviceInfo:
    """Return the device that a variant runs on when `wanted` is chosen: a CPU variant always runs on the CPU.

    Raises
    ------
    DeviceUnavailable
        A CUDA variant, and no CUDA device that works; the reason says why.
    """
    if variant.device == DeviceKind.CPU:
        return device_named("cpu")
    if wanted != AUTO:
        return device_named(wanted)
    try:
        return device_named("cuda")
    except DeviceUnavailable as error:
        remedy = f"Choose a CPU variant, or the simulator (sides up to {SIMULATOR_SIDE})."
        raise DeviceUnavailable(f"variant '{variant.key}' needs a CUDA device", error.why, remedy) from error


def refuse_other_kind(variant: AnyVariant, device: DeviceInfo) -> None:
    """Refuse a device of another kind than the variant is written for.

    Raises
    ------
    UnsupportedVariant
    """
    if variant.device != device.kind:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            f"it is written for {variant.device.upper()} devices",
            "Choose another variant, or another device.",
        )
