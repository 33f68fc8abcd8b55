"""`devices`, `variants` and `masks`: what there is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.commands import DONE
from engine.commands.arguments import Settings
from engine.commands.output import mask_document, print_answer, print_json, table

if TYPE_CHECKING:
    from engine.variants.contract import AnyVariant

    Known = AnyVariant[Any, Any]

VERSION = 1


class DevicesSettings(Settings):
    """What `devices` takes."""

    about = (
        "The CUDA simulator is a device too: it runs the real kernels on small pictures without a GPU, and "
        "its times mean nothing."
    )


class VariantsSettings(Settings):
    """What `variants` takes."""

    about = "Each step of the ladder saves what the one before it wastes."


class MasksSettings(Settings):
    """What `masks` takes."""

    about = "Beside them --mask takes generators: gaussian:9:1.5, box:7x3, motion:9:45, log:9:1.4, disk:7."


def run_devices(settings: DevicesSettings) -> int:
    """List every device, with the reason where one is unavailable; return the exit status."""
    from engine.device.device_list import listed_devices

    devices = listed_devices()
    if settings.json:
        return _print_entries("devices", [device.as_json() for device in devices])
    for device in devices:
        state = "ready" if device.available else f"unavailable. {device.reason}"
        print_answer(f"{device.key:<10} {device.title}: {state}")
        for name, value in device.facts.items():
            print_answer(f"{'':<10} {name}: {value}")
    return DONE


def run_variants(settings: VariantsSettings) -> int:
    """List the variants in teaching order; return the exit status."""
    from engine.variants.registry import MATMUL_VARIANTS, NETWORK_VARIANTS, OPERATION_VARIANTS, VARIANTS

    if settings.json:
        filters = [
            _entry(v, **_block(v), remark=v.remark, quantises=v.integer_output, masks=v.masks.value)
            for v in VARIANTS
        ]
        products = [_entry(v, uses_tile=v.uses_block, default_tile=_tile(v)) for v in MATMUL_VARIANTS]
        stages = [_entry(v, remark=v.remark) for v in NETWORK_VARIANTS]
        operations = [_entry(v, **_block(v), operation=v.operation) for v in OPERATION_VARIANTS]
        return _print_entries("variants", [*filters, *products, *stages, *operations])
    rows = [
        (v.key, v.device.value, str(v.default_block) if v.uses_block else "-", v.title, v.idea)
        for v in VARIANTS
    ]
    integer_output = ", ".join(v.key for v in VARIANTS if v.integer_output)
    lines = [
        table(("key", "device", "block", "title", "idea"), rows),
        "\nWhat to know before using them:",
        *(f"{v.key}: {v.remark}" for v in VARIANTS if v.remark),
        f"8- and 16-bit results (--result-type same): {integer_output}",
        "\nMatrix products (`python main.py matmul`):",
        *(f"{known.key}: {known.idea}" for known in MATMUL_VARIANTS),
        "\nStages of the network (`python main.py network`):",
        *(f"{known.key}: {known.idea}" for known in NETWORK_VARIANTS),
        "\nOther operations (`python main.py filter --operation KEY`):",
        *(f"{known.operation}: {known.key}: {known.idea}" for known in OPERATION_VARIANTS),
    ]
    print_answer("\n".join(lines))
    return DONE


def run_masks(settings: MasksSettings) -> int:
    """List the presets; return the exit status."""
    if settings.json:
        from engine.mask.presets import presets

        names = ("key", "title", "group", "teaches")
        entries = [{name: getattr(p, name) for name in names} | mask_document(p.mask) for p in presets()]
        return _print_entries("masks", entries)
    from engine.mask.preset_texts import preset_texts

    print_answer(table(("key", "size", "group", "title", "what it teaches"), preset_texts()))
    return DONE


def _entry(known: "Known", **facts: object) -> dict[str, object]:
    """Return an entry of `variants --json`; entries of every task have the same keys, and `facts` beside."""
    names = "key", "task", "title", "device", "idea"
    head = {name: str(getattr(known, name)) for name in names}
    return head | {"remark": "", "quantises": False, "uses_block": False, "default_block": None} | facts


def _block(known: "Known") -> dict[str, object]:
    return {
        "uses_block": known.uses_block,
        "default_block": asdict(known.default_block) if known.uses_block else None,
    }


def _tile(known: "Known") -> int | None:
    return known.default_block.x if known.uses_block else None


def _print_entries(name: str, entries: Sequence[Mapping[str, object]]) -> int:
    print_json({"format": f"haloscope-{name}", "version": VERSION, name: entries})
    return DONE
