"""The ready masks with their weights, and what other programs do with a mask, as `masks` has them in JSON."""

from engine.errors import MaskError
from engine.mask.json_form import numbers_of
from engine.mask.presets import presets, resolve_mask
from engine.recipes.programs import PROGRAMS, Program, as_program


def preset_documents() -> list[dict[str, object]]:
    """Return each preset with its texts and its weights."""
    names = ("key", "title", "group", "teaches")
    return [{name: getattr(one, name) for name in names} | numbers_of(one.mask) for one in presets()]


def program_documents(spec: str, program: str | None) -> list[dict[str, object]]:
    """Return what one program, or each, does with a mask and grey 8 bit; "scipy" is all of its functions."""
    mask = resolve_mask(spec)

    def entry(key: str) -> dict[str, object]:
        other = as_program(key, mask, normalise=False, dtype="uint8", channels=1)
        known = other.program
        about = {"key": key, "title": known.title, "code": other.code, "differs": known.differs}
        return about | {"settings": other.settings, "source": known.source} | numbers_of(other.mask)

    def tried(known: Program) -> dict[str, object]:
        try:
            return entry(known.key)
        except MaskError as error:
            return {"key": known.key, "title": known.title, "refused": str(error)}

    programs = [known for known in PROGRAMS if not program or f"{known.key}-".startswith(f"{program}-")]
    # One that is requested alone, or is not known, may be refused.
    return list(map(tried, programs)) if len(programs) > 1 else [entry(program or "")]
