"""`variants` and `masks`: what there is. Each imports only what it lists."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.commands import DONE
from engine.commands.arguments import Settings
from engine.commands.output import mask_document, print_answer, print_entries, table
from engine.mask.generator_table import EXAMPLES, GENERATORS, Generator

if TYPE_CHECKING:
    from engine.run.variant import AnyVariant


class VariantsSettings(Settings):
    """What `variants` takes."""

    about = "Each step of the ladder saves what the one before it wastes."


class MasksSettings(Settings):
    """What `masks` takes."""

    about = f"Beside them --mask takes generators: {EXAMPLES}."


def run_variants(settings: VariantsSettings) -> int:
    """List the variants in teaching order; return the exit status."""
    from engine.tasks.filtering.variants import VARIANTS
    from engine.tasks.registry import TASKS

    if settings.json:
        known = [_entry(one) for task in TASKS.values() for one in task.variants]
        return _print_entries("variants", known)
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
    ]
    for task in [task for task in TASKS.values() if task.heading]:
        lines += [f"\n{task.heading}:", *(one.line for one in task.variants)]
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

    rows = [(made.form, made.example, made.about, *_ranges(made)) for made in GENERATORS.values()]
    lines = [
        table(("key", "size", "group", "title", "what it teaches"), preset_texts()),
        "\nMasks from a few numbers; those that are left out at the end have defaults:",
        table(("form", "example", "what it does", "numbers"), rows),
    ]
    print_answer("\n".join(lines))
    return DONE


def _ranges(made: Generator) -> tuple[str]:
    """Return the numbers of a generator with their ranges."""
    return (
        "; ".join(f"{one.name} {one.least:g} to {one.most:g} {one.unit}".rstrip() for one in made.numbers),
    )


def _entry(known: "AnyVariant[Any, Any]") -> dict[str, object]:
    """Return an entry of `variants --json`; all have the same keys, and `facts` beside."""
    names = "key", "task", "title", "device", "idea", "remark"
    block = asdict(known.default_block) if known.uses_block else None
    common = {"quantises": False, "uses_block": known.uses_block, "default_block": block}
    return {name: str(getattr(known, name)) for name in names} | common | known.facts


def _print_entries(name: str, entries: Sequence[Mapping[str, object]]) -> int:
    print_entries(name, entries)
    return DONE
