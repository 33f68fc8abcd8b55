"""`masks`: the preset masks, and what other programs do with a mask. The list takes no NumPy."""

from dataclasses import dataclass

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import mask_document, print_answer, print_entries, table
from engine.errors import BadValue, MaskError
from engine.mask.generator_table import EXAMPLES, GENERATORS
from engine.mask.presets import preset_texts, presets, resolve_mask


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
    if settings.mask is not None:
        _show_programs(settings.mask, settings.program, settings.json)
        return DONE
    if settings.json:
        names = ("key", "title", "group", "teaches")
        entries = [{name: getattr(p, name) for name in names} | mask_document(p.mask) for p in presets()]
        print_entries(True, "masks", entries, "")
        return DONE
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
    return DONE


def _show_programs(spec: str, program: str | None, as_json: bool) -> None:
    """Print what one program, or each, does with a mask and grey 8 bit; "scipy" is all of its functions."""
    # It takes longer to import than the list does.
    from engine.recipes.programs import PROGRAMS, Program, as_program

    mask = resolve_mask(spec)

    def entry(key: str) -> dict[str, object]:
        other = as_program(key, mask, normalise=False, dtype="uint8", channels=1)
        known = other.program
        about = {"key": key, "title": known.title, "code": other.code, "differs": known.differs}
        return about | {"settings": other.settings, "source": known.source} | mask_document(other.mask)

    def tried(known: Program) -> dict[str, object]:
        try:
            return entry(known.key)
        except MaskError as error:
            return {"key": known.key, "title": known.title, "refused": str(error)}

    asked = [known for known in PROGRAMS if not program or f"{known.key}-".startswith(f"{program}-")]
    # One that is asked for alone, or is not known, may be refused.
    entries = list(map(tried, asked)) if len(asked) > 1 else [entry(program or "")]
    blocks = []
    for one in entries:
        lines = [one["title"], *(one[name] for name in ("code", "refused", "differs") if one.get(name))]
        blocks.append("\n  ".join(map(str, lines)))
    print_entries(as_json, "programs", entries, "\n\n".join(blocks))
