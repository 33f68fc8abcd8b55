"""The texts of the ready masks, for lists. No NumPy: it takes longer to load than all else of `masks`."""

from engine.files.reading import ASSETS, MOST_ASSET_BYTES, faults_of_asset, read_json

PRESETS_FILE = ASSETS / "masks" / "presets.json"


def preset_texts() -> list[tuple[str, ...]]:
    """Return key, rows x columns, group, title and `teaches` of each preset, for lists.

    Raises EngineError where their file is missing or damaged.
    """
    with faults_of_asset(PRESETS_FILE, "The list of masks"):
        entries = []
        for entry in read_json(PRESETS_FILE, MOST_ASSET_BYTES)["presets"]:
            # As stated where a generator makes the weights.
            weights = entry.get("weights")
            rows, columns = (len(weights), len(weights[0])) if weights else entry["size"]
            texts = (str(entry[name]) for name in ("group", "title", "teaches"))
            entries.append((str(entry["key"]), f"{rows} × {columns}", *texts))
        return entries
