"""`masks MASK`: what other programs do with it, and their lines of code."""

from engine.commands.output import mask_document, print_answer, print_entries
from engine.errors import MaskError
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.recipes.programs import PROGRAMS, as_program


def show(spec: str, program: str | None, as_json: bool) -> None:
    """Print what one program does with a mask and a grey picture of 8 bit; None: all of them.

    "scipy" and "matlab" are all their functions.
    """
    mask = resolve_mask(spec)
    keys = [known.key for known in PROGRAMS if not program or f"{known.key}-".startswith(f"{program}-")]
    # One that is asked for alone, or is not known, may be refused.
    entries = [_tried(mask, key) for key in keys] if len(keys) > 1 else [_entry(mask, program or "")]
    if as_json:
        print_entries("programs", entries)
        return
    blocks = []
    for entry in entries:
        lines = [entry["title"], *(entry[name] for name in ("code", "refused", "differs") if entry.get(name))]
        blocks.append("\n  ".join(map(str, lines)))
    print_answer("\n\n".join(blocks))


def _tried(mask: Mask, key: str) -> dict[str, object]:
    try:
        return _entry(mask, key)
    except MaskError as error:
        title = next(known.title for known in PROGRAMS if known.key == key)
        return {"key": key, "title": title, "refused": str(error)}


def _entry(mask: Mask, key: str) -> dict[str, object]:
    other = as_program(key, mask, normalise=False, dtype="uint8", channels=1)
    known = other.program
    about = {"key": key, "title": known.title, "code": other.code, "differs": known.differs}
    return about | {"settings": other.settings, "source": known.source} | mask_document(other.mask)
