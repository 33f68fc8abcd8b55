"""`variants` and `masks`: what there is. Each imports only what it lists."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import mask_document, print_answer, print_entries, table
from engine.errors import BadValue
from engine.mask.generator_table import EXAMPLES, GENERATORS, Generator

if TYPE_CHECKING:
    from engine.run.variant import AnyVariant


class VariantsSettings(Settings):
    """What `variants` takes."""

    about = "Each step of the ladder saves what the one before it wastes."


@dataclass(frozen=True, kw_only=True)
class MasksSettings(Settings):
    """What `masks` takes."""

    about = (
        f"Beside them --mask takes generators: {EXAMPLES}. With a MASK: what ImageJ, GIMP, OpenCV, SciPy, "
        "ImageMagick and MATLAB do with it."
    )
    examples = ("", "--json", "sobel-x", "sobel-x --as opencv")

    mask: str | None = option("MASK  say what other programs do with this one, as --mask takes it", None)
    program: str | None = option("--as PROGRAM  only one of them, such as opencv", None)

    def __post_init__(self) -> None:
        """Refuse a program without a mask."""
        if self.program is not None and self.mask is None:
            what, why = f"--as {self.program}", "no mask is given"
            raise BadValue(what, why, f"Write masks sobel-x --as {self.program}.")


def run_variants(settings: VariantsSettings) -> int:
    """List the variants in teaching order; return the exit status."""
    from engine.tasks.registry import TASKS
    from engine.work.filtering.variants import VARIANTS

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
    """List the presets, or say what other programs do with a mask; return the exit status."""
    if settings.mask is not None:
        # What resolves a mask takes longer to import than the list does.
        import_module("engine.commands.other_programs").show(settings.mask, settings.program, settings.json)
        return DONE
    if settings.json:
        from engine.mask.presets import presets

        names = ("key", "title", "group", "teaches")
        entries = [{name: getattr(p, name) for name in names} | mask_document(p.mask) for p in presets()]
        return _print_entries("masks", entries)
    from engine.mask.presets import preset_texts

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


def _entry(known: "AnyVariant") -> dict[str, object]:
    """Return an entry of `variants --json`; all have the same keys, and `facts` beside."""
    names = "key", "task", "title", "device", "idea", "remark"
    block = asdict(known.default_block) if known.uses_block else None
    common = {"quantises": False, "uses_block": known.uses_block, "default_block": block}
    return {name: str(getattr(known, name)) for name in names} | common | known.facts


def _print_entries(name: str, entries: Sequence[Mapping[str, object]]) -> int:
    print_entries(name, entries)
    return DONE
