"""The texts of the presets, for lists. No NumPy in here: it takes longer to load than all else of `masks`."""

import json
from typing import NamedTuple

from engine.files.assets import ASSETS, faults_of_asset
from engine.files.reading import Json

PRESETS_FILE = ASSETS / "masks" / "presets.json"


class PresetText(NamedTuple):
    """What a list shows of a preset (`engine.mask.presets.Preset`); `size` is its rows x columns."""

    key: str
    size: str
    group: str
    title: str
    teaches: str


def preset_texts() -> tuple[PresetText, ...]:
    """Return the texts of all presets in their order; raises EngineError as `presets` does."""
    with faults_of_asset(PRESETS_FILE, "The list of masks"):
        entries = json.loads(PRESETS_FILE.read_text(encoding="utf-8"))["presets"]
        return tuple(map(_text_of, entries))


def _text_of(entry: Json) -> PresetText:
    # As stated where a generator makes the weights.
    weights = entry.get("weights")
    rows, columns = (len(weights), len(weights[0])) if weights else entry["size"]
    return PresetText(entry["key"], f"{rows} × {columns}", entry["group"], entry["title"], entry["teaches"])
