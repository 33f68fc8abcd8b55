"""`masks`: the preset masks, and what other programs do with a mask. The list takes no NumPy."""

from dataclasses import dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import print_answer, print_entries, table
from engine.errors import BadValue
from engine.mask.generator_table import EXAMPLES, GENERATORS
from engine.mask.preset_texts import preset_texts


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


def run(settings: MasksSettings) -> int:
    """List the presets, or say what other programs do with a mask; return the exit status."""
    if settings.mask is None and not settings.json:
        _list()
        return DONE
    # What makes masks takes longer to import than the list does.
    from engine.commands.mask_documents import preset_documents, program_documents

    if settings.mask is None:
        print_entries(True, "masks", preset_documents(), "")
        return DONE
    entries, blocks = program_documents(settings.mask, settings.program), []
    for one in entries:
        lines = [one["title"], *(one[name] for name in ("code", "refused", "differs") if one.get(name))]
        blocks.append("\n  ".join(map(str, lines)))
    print_entries(settings.json, "programs", entries, "\n\n".join(blocks))
    return DONE


def _list() -> None:
    rows = []
    for made in GENERATORS.values():
        spans = (f"{one.name} {one.least:g} to {one.most:g} {one.unit}".rstrip() for one in made.numbers)
        rows.append((made.form, made.example, made.about, "; ".join(spans)))
    lines = [
        table(("key", "size", "group", "title", "what it teaches"), preset_texts()),
        "\nMasks from a few numbers; those that are left out at the end have defaults:",
        table(("form", "example", "what it does", "numbers"), rows),
    ]
    print_answer("\n".join(lines))
