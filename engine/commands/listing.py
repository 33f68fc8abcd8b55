"""`devices`, `variants` and `masks`: what there is."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.commands.arguments import Parser
from engine.commands.output import say, say_json, table

if TYPE_CHECKING:
    from engine.variants.contract import Variant
    from engine.variants.matmul.contract import MatmulVariant

VERSION = 1


def run_devices(arguments: list[str]) -> int:
    """List every device, with the reason where one cannot be used; return the exit status."""
    parser = Parser(
        "devices",
        "The CUDA simulator is a device too: it runs the real kernels on small pictures without a GPU, and its "
        "times mean nothing.",
        ("", "--json"),
    )
    options = parser.read(arguments)
    if options is None:
        return 0
    from engine.device.devices import devices

    known = devices()
    if options.json:
        say_json(_document("devices", [asdict(device) for device in known]))
        return 0
    for device in known:
        say(
            f"{device.key:<10} {device.title}: {'ready' if device.available else f'cannot be used. {device.reason}'}"
        )
        for name, value in device.facts.items():
            say(f"{'':<10} {name}: {value}")
    return 0


def run_variants(arguments: list[str]) -> int:
    """List the variants in teaching order; return the exit status."""
    parser = Parser(
        "variants", "Each step of the ladder saves what the one before it wastes.", ("", "--json")
    )
    options = parser.read(arguments)
    if options is None:
        return 0
    from engine.variants.registry import MATMUL_VARIANTS, VARIANTS

    if options.json:
        filters = [
            _entry("filtering", variant)
            | {
                "remark": variant.remark,
                "quantises": variant.integer_output,
                "uses_block": variant.uses_block,
                "default_block": asdict(variant.default_block) if variant.uses_block else None,
                "masks": variant.masks.value,
            }
            for variant in VARIANTS
        ]
        # Scripts read the same keys of every entry.
        none_of_these = {"remark": "", "quantises": False, "uses_block": False, "default_block": None}
        products = [
            _entry("product", known)
            | none_of_these
            | {
                "uses_tile": known.uses_block,
                "default_tile": known.default_block.x if known.uses_block else None,
            }
            for known in MATMUL_VARIANTS
        ]
        say_json(_document("variants", [*filters, *products]))
        return 0
    rows = [
        (v.key, v.device.value, str(v.default_block) if v.uses_block else "-", v.title, v.idea)
        for v in VARIANTS
    ]
    say(table(("key", "device", "block", "title", "idea"), rows))
    quantising = ", ".join(v.key for v in VARIANTS if v.integer_output)
    remarks = [f"{v.key}: {v.remark}" for v in VARIANTS if v.remark]
    say("\nWhat to know before using them:")
    say("\n".join([*remarks, f"8- and 16-bit results (--result-type same): {quantising}"]))
    say("\nMatrix products (`python main.py matmul`):")
    say("\n".join(f"{known.key}: {known.idea}" for known in MATMUL_VARIANTS))
    return 0


def run_masks(arguments: list[str]) -> int:
    """List the presets; return the exit status."""
    parser = Parser(
        "masks",
        "Beside them --mask takes generators: gaussian:9:1.5, box:7x3, motion:9:45, log:9:1.4, disk:7.",
        ("", "--json"),
    )
    options = parser.read(arguments)
    if options is None:
        return 0
    from engine.mask.presets import presets

    if options.json:
        entries = [
            {
                "key": preset.key,
                "title": preset.title,
                "group": preset.group,
                "teaches": preset.teaches,
                "rows": preset.mask.rows,
                "columns": preset.mask.columns,
                "anchor": preset.mask.anchor,
                "offset": preset.mask.offset,
                "weights": preset.mask.weights.tolist(),
            }
            for preset in presets()
        ]
        say_json(_document("masks", entries))
        return 0
    rows = [(p.key, f"{p.mask.rows} x {p.mask.columns}", p.group, p.title, p.teaches) for p in presets()]
    say(table(("key", "size", "group", "title", "what it teaches"), rows))
    return 0


def _entry(task: str, known: "Variant | MatmulVariant") -> dict[str, Any]:
    """Return what every entry of `variants --json` says, whatever its task."""
    return {
        "key": known.key,
        "task": task,
        "title": known.title,
        "device": known.device.value,
        "idea": known.idea,
    }


def _document(name: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"format": f"haloscope-{name}", "version": VERSION, name: entries}
