"""The options that say what becomes of a result: range, depth, alpha, file, memory, proof."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.commands.arguments import option
from engine.commands.option_readers import OneOf, size_in_bytes, whole
from engine.geometry.range_modes import RANGE_MODES, RangeMode
from engine.image.form import DEFAULT_MAX_BYTES, bytes_text
from engine.image.format import DEFAULT_QUALITY, Format
from engine.image.formats import formats_for, quality_words, titles
from engine.image.save import DEPTH_DTYPES

_MODES = "; ".join(
    f"{mode}: {sentence[0].lower()}{sentence[1:].rstrip('.')}" for mode, sentence in RANGE_MODES.items()
)


@dataclass(frozen=True, kw_only=True)
class SavingOptions:
    """The options by name."""

    range: RangeMode = option(
        f"--range MODE  {_MODES} (default clip)", "clip", OneOf("--range", tuple(RANGE_MODES))
    )
    depth: str = option(
        lambda: (
            f"""--depth DEPTH  of the saved picture: keep (default), 8, 16 or float32
        ({titles(formats_for(np.float32))} only; values are neither rounded nor clipped)"""
        ),
        "keep",
        OneOf("--depth", ("keep", *DEPTH_DTYPES)),
    )
    alpha: str = option(
        """--alpha MODE  keep: unchanged (default); filter: filtered as a channel of its own (not
        premultiplied), then clipped""",
        "keep",
        OneOf("--alpha", ("keep", "filter")),
    )
    quality: int = option(
        lambda: f"--quality N  1 to 100 (default {DEFAULT_QUALITY}), for {quality_words()}",
        DEFAULT_QUALITY,
        whole("--quality", 1, 100),
    )
    max_bytes: int = option(
        f"""--max-bytes SIZE  most memory for a picture and its result, such as 8GiB
        (default {bytes_text(DEFAULT_MAX_BYTES)})""",
        DEFAULT_MAX_BYTES,
        size_in_bytes("--max-bytes"),
    )
    memory: int | None = option(
        """--memory SIZE  the most that the process takes, such as 2G: a TIFF is then filtered in bands of
        rows, as larger ones, OME-Zarr and .npy are anyway (docs/large.md)""",
        None,
        size_in_bytes("--memory"),
    )
    metadata: bool = option(
        "--no-metadata  leave EXIF data (camera, place, time) and resolution out of the saved file", True
    )
    verify: bool = option("--no-verify  do not compare the result with the oracle", True)

    def unused_quality(self, formats: Iterable[Format]) -> list[str]:
        """Return a sentence where `--quality` changes nothing in any of the files that are written."""
        if self.quality == DEFAULT_QUALITY or any(known.has_quality for known in formats):
            return []
        return [f"--quality was not used: it is for {quality_words()}."]
