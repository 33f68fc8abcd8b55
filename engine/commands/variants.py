"""`variants`: the kernels that there are, in teaching order."""

from dataclasses import asdict

from engine.commands import DONE
from engine.commands.arguments import Settings
from engine.commands.output import print_entries, table
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS
from engine.work.filtering.variants import VARIANTS


class VariantsSettings(Settings):
    """What `variants` takes."""

    about = "Each step of the ladder saves what the one before it wastes."


def run(settings: VariantsSettings) -> int:
    """List the variants in teaching order; return the exit status."""
    entries = [_entry(one) for task in TASKS.values() for one in task.variants]
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
    print_entries(settings.json, "variants", entries, "\n".join(lines))
    return DONE


def _entry(known: AnyVariant) -> dict[str, object]:
    """Return an entry of `variants --json`; all have the same keys, and `facts` beside."""
    names = "key", "task", "title", "device", "idea", "remark"
    block = asdict(known.default_block) if known.uses_block else None
    common = {"quantises": False, "uses_block": known.uses_block, "default_block": block}
    return {name: str(getattr(known, name)) for name in names} | common | known.facts
