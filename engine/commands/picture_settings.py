"""What `filter` and `batch` take: how to filter, where, and what becomes of the result."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.commands.arguments import option, refuse_given
from engine.commands.option_readers import OneOf, cell, number, size_in_bytes, whole
from engine.device_info import AUTO
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.geometry.range_modes import RANGE_MODES, RangeMode
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.image.format import Format
from engine.image.formats import formats_for, quality_words, titles
from engine.image.save import DEFAULT_QUALITY, DEPTH_DTYPES
from engine.mask.generator_table import EXAMPLES
from engine.work.filtering.problem import RESULT_TYPES

if TYPE_CHECKING:
    from engine.work.operations.contract import Operation

# Results of the picture's own type where the file is the same, else float32.
AUTO_TYPE = "auto"
_MASK = "border", "cval", "anchor", "flip", "normalize", "divisor", "offset", "range", "alpha", "result_type"
_OPERATION = "set", "patch"
# What a chain has for each of its steps, or cannot do.
_CHAIN = *(name for name in _MASK if name != "range"), *_OPERATION, "variant", "block"
_MODES = "; ".join(
    f"{mode}: {sentence[0].lower()}{sentence[1:].rstrip('.')}" for mode, sentence in RANGE_MODES.items()
)


def taking_value() -> str:
    """Return the borders that take a value, in words."""
    return " or ".join(border for border in Border if border.takes_value)


def key_of_filter(key: str) -> str:
    """Return the key of a variant, known or not; refuse one that multiplies matrices."""
    if key == AUTO:
        return key
    # The picture is opened before what filters is imported (`filtering`).
    from engine.tasks.product.variants import MATMUL_VARIANTS

    if any(key == known.key for known in MATMUL_VARIANTS):
        why = "it multiplies matrices and filters no picture"
        remedy = f"Run python main.py matmul --variants {key}, or choose a filter that `variants` lists."
        raise UnknownName(f"variant '{key}'", why, remedy)
    return key


def _operation(key: str) -> "Operation":
    # A mask does not need the table, which takes 27 ms to import.
    from engine.work.operations.table import operation_named

    return operation_named(key)


@dataclass(frozen=True, kw_only=True)
class PictureSettings:
    """The options by name."""

    mask: str | None = option(
        f"""--mask MASK  a preset (`masks` lists them), a generator ({EXAMPLES}), a file, or the weights
        themselves""",
        None,
    )
    operation: "Operation | None" = option(
        """--operation KEY  instead of a mask: median, histogram, compress, ... (docs/operations.md;
        `variants` lists the ways to compute each)""",
        None,
        _operation,
    )
    set: tuple[str, ...] = option(
        "--set NAME=VALUE  a parameter of the operation, such as size=5; several with commas, or --set again",
        (),
    )
    patch: str | None = option(
        """--patch FILE  for --operation find-patch: the small picture to find (default: left, top, width and
        height of the picture itself)""",
        None,
    )
    chain: str | None = option(
        """--chain CHAIN  instead of a mask: several steps, by the name of a ready chain (`chains` lists
        them), a file, or JSON (docs/chains.md)""",
        None,
    )
    merge: bool = option("--merge  let linear steps of the chain become one mask where that is faster", False)
    variant: str = option(
        "--variant KEY  how to compute it (`variants` lists them; default auto)", AUTO, key_of_filter
    )
    block: Block | None = option("--block 16x16  threads of a CUDA block, width × height", None, Block.parse)
    device: str = option(
        """--device KEY  auto, cpu, cuda:0, cuda:all (every GPU) or simulator (`devices` lists
        them; default auto); a CPU variant always runs on the CPU""",
        AUTO,
    )
    layout: Layout = option(
        """--layout NAME  rows on a CUDA device: pitched (each on a 128-byte boundary, the default) or packed;
        the result is the same""",
        Layout.PITCHED,
        Layout.named,
    )
    result_type: str = option(
        """--result-type TYPE  what the kernel writes: float32, same (samples of the picture's type, rounded
        half to even), or auto (default): same where the saved file has the same samples""",
        AUTO_TYPE,
        OneOf("--result-type", (AUTO_TYPE, *RESULT_TYPES)),
    )
    border: Border = option(
        lambda: f"--border NAME  cells outside: {', '.join(Border)} (default zero)", Border.ZERO, Border.named
    )
    cval: float = option(
        lambda: f"--cval VALUE  their value with --border {taking_value()} (default 0)", 0.0, number("--cval")
    )
    anchor: tuple[int, int] | None = option(
        "--anchor R,C  mask cell that lies on the pixel (default: the middle)", None, cell("--anchor")
    )
    flip: bool = option("--flip  convolve: rotate the mask, and its anchor, by 180 degrees", False)
    normalize: bool = option("--normalize, --normalise  divide the weights by their sum", False)
    divisor: float | None = option(
        "--divisor D  divide the weights by this number", None, number("--divisor")
    )
    offset: float | None = option(
        "--offset O  add this to each result, in the picture's units", None, number("--offset")
    )
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

    def __post_init__(self) -> None:
        """Refuse options that do not belong together."""
        if self.chain is not None:
            self._check_chain()
            return
        if self.merge:
            raise BadValue("--merge", "it is for --chain", "Leave it out.")
        if self.operation is None and self.mask is None:
            remedy = (
                "Give --mask gaussian:9:1.5, --operation median or --chain unsharp (`--help` lists them)."
            )
            raise BadValue("nothing to do", "neither --mask nor --operation nor --chain is given", remedy)
        if self.operation is None:
            refuse_given(self, _OPERATION, "with --mask", "it is for --operation", "Leave it out.")
            self.border.refuse_unused(self.cval, "--cval")
            if self.divisor is not None and self.normalize:
                what, why = "--divisor with --normalize", "both divide the weights"
                raise BadValue(what, why, "Give one of the two.")
            return
        if self.mask is not None:
            why = "a picture is either filtered with a mask or changed by another operation"
            raise BadValue("--mask with --operation", why, "Give one of the two.")
        refuse_given(self, _MASK, "with --operation", "it says how a mask is applied", "Leave it out.")

    def _check_chain(self) -> None:
        for name in ("mask", "operation"):
            if getattr(self, name) is not None:
                why = "a chain has steps of its own"
                raise BadValue(f"--{name} with --chain", why, "Give one of the two, or write it as a step.")
        why = "each step of a chain has its own"
        refuse_given(self, _CHAIN, "with --chain", why, "Leave it out, or write it into the chain.")

    @property
    def is_plot(self) -> bool:
        """Whether the result is a plot, and no picture of the picture's size."""
        return self.operation is not None and self.operation.result.name == "PLOT"

    def unused_quality(self, formats: Iterable[Format]) -> list[str]:
        """Return a sentence where `--quality` changes nothing in any of the files that are written."""
        if self.quality == DEFAULT_QUALITY or any(known.has_quality for known in formats):
            return []
        return [f"--quality was not used: it is for {quality_words()}."]
