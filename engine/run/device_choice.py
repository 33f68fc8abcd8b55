"""Which device a variant of any task runs on, and what is refused before anything is made ready."""

from collections.abc import Iterable

from engine.device.devices import all_gpus, device_named
from engine.device.launches import DeviceKind
from engine.device_info import ALL_GPUS, AUTO, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable, TooLargeForSimulator
from engine.geometry.block import Block
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.results.problem import P
from engine.run.variant import AnyVariant, C, VariantOf


def device_for(variant: AnyVariant, wanted: str) -> DeviceInfo:
    """Return the device that a variant runs on when `wanted` is chosen: a CPU variant always runs on the CPU.

    Raises DeviceUnavailable for a CUDA variant without a CUDA device that works; the reason says why.
    """
    if variant.device == DeviceKind.CPU:
        return device_named("cpu")
    if wanted != AUTO:
        return device_named(wanted)
    try:
        return device_named("cuda")
    except DeviceUnavailable as error:
        remedy = "Choose a CPU variant, or the simulator."
        raise DeviceUnavailable(f"variant '{variant.key}' needs a CUDA device", error.why, remedy) from error


def devices_for(variant: AnyVariant | None, wanted: str) -> tuple[DeviceInfo, ...]:
    """Return the devices that share the work when `wanted` is chosen: every GPU for "cuda:all", else one.

    Without a variant, it is chosen for the first of them. Raises as `device_for` and `device_named` do.
    """
    gpus = all_gpus() if wanted == ALL_GPUS else ()
    key = gpus[0].key if gpus else wanted
    device = device_named(key) if variant is None else device_for(variant, key)
    return gpus if gpus and device.is_usable_gpu else (device,)


def refuse_unsuitable(
    variant: VariantOf[P, C],
    problem: P,
    constant: C,
    block: Block,
    device: DeviceInfo,
    known: Iterable[VariantOf[P, C]] = (),
) -> None:
    """Refuse what a variant of any task cannot do on a device; `constant` is what it is compiled with.

    Of the `known` variants the reason may name others.

    Raises UnsupportedVariant for another kind of device, an illegal block, or a limit of the variant itself,
    and BadValue for a problem that is too large for the simulator.
    """
    if variant.device != device.kind:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            Refusal(
                "other-device",
                f"Written for {variant.device.upper()} devices",
                f"It is written for {variant.device.upper()} devices.",
                "Choose another variant, or another device.",
            ),
        )
    if device.key == SIMULATOR and (limit := problem.simulator_limit):
        why = f"too large for the simulator (limit {limit})"
        raise TooLargeForSimulator(problem.subject, why, "Choose a smaller size or batch, or another device.")
    refusal = variant.why_not(problem, constant, block, device.limits, known)
    if refusal is not None:
        # Where no other block would do, the block is not the reason.
        with_block = f" with a block of {block}" if refusal.nearest_block else ""
        on_absent = "" if device.available else f" on {device.title}"
        what = f"variant '{variant.key}'{with_block}{on_absent}"
        raise UnsupportedVariant(what, refusal)
