"""The options that say what is done with a picture: they become steps, which declare types and defaults.

Also those that say what becomes of a result: range, depth, alpha, file, memory, proof.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from engine.commands import arguments
from engine.commands.arguments import OneOf, cell, fields_of, number, option, refuse_used, whole
from engine.device_info import AUTO
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block, Layout
from engine.geometry.border import RANGE_MODES, Border, RangeMode
from engine.image.format import DEFAULT_MAX_BYTES, DEFAULT_QUALITY, Format
from engine.image.formats import formats_for, quality_words, titles
from engine.image.save import DEPTH_DTYPES
from engine.mask.generator_table import EXAMPLES
from engine.mask.generators import cut_sentence
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.process import bytes_text
from engine.work.problem import DTYPES, MAX_CHANNELS, RESULT_TYPES, Parameters
from engine.work.steps import MaskStep, OperationStep, PictureRequest, of_chain, one_step

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
        arguments.size_in_bytes("--max-bytes"),
    )
    memory: int | None = option(
        """--memory SIZE  the most that the process takes, such as 2G: a TIFF is then filtered in bands of
        rows, as larger ones, OME-Zarr and .npy are anyway (docs/large.md)""",
        None,
        arguments.size_in_bytes("--memory"),
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


AUTO_TYPE = "auto"  # results of the picture's own type where the file is the same, else float32
BORDER = (lambda: f"--border NAME  cells outside: {', '.join(Border)} (default zero)", Border.named)
_MASK = "border", "cval", "anchor", "flip", "normalize", "divisor", "offset", "result_type"
_OPERATION = "set", "patch"
_CHAIN = *_MASK, *_OPERATION, "variant", "block"  # what a chain has for each of its steps, or cannot do


@dataclass(frozen=True, kw_only=True)
class PictureOptions:
    """The options of commands that make a picture themselves."""

    border: Border = option(BORDER[0], Border.ZERO, BORDER[1])
    channels: int = option("--channels N  1 to 4 (default 1){where}", 1, whole("--channels", 1, MAX_CHANNELS))
    dtype: str | None = option(
        "--dtype TYPE  samples of the picture: uint8, uint16 or float32{default}",
        None,
        OneOf("--dtype", DTYPES),
    )
    result_type: str = option(
        """--result-type TYPE  samples of the results: float32 (default), or same: the picture's type, which
        not every variant writes""",
        "float32",
        OneOf("--result-type", RESULT_TYPES),
    )


def key_of_filter(key: str) -> str:
    """Return the key of a variant, known or not; refuse one that multiplies matrices."""
    if key == AUTO:
        return key
    # The picture is opened before what filters is imported (`filtering`).
    from engine.tasks.product.problem import MATMUL_VARIANTS

    if any(key == known.key for known in MATMUL_VARIANTS):
        why = "it multiplies matrices and filters no picture"
        remedy = f"Run python main.py matmul --variants {key}, or choose a filter that `variants` lists."
        raise UnknownName(f"variant '{key}'", why, remedy)
    return key


def _operations() -> ModuleType:
    # A mask does not need the table, which takes 27 ms to import.
    return import_module("engine.work.operations.contract")


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """The options by name; `request` is what they ask for."""

    mask: str | None = option(
        f"""--mask MASK  a preset (`masks` lists them), a generator ({EXAMPLES}), a file, or the weights
        themselves""",
        None,
    )
    operation: str | None = option(
        """--operation KEY  instead of a mask: median, histogram, compress, ... (docs/operations.md;
        `variants` lists the ways to compute each)""",
        None,
        lambda key: str(_operations().operation_named(key).key),
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
    of_step: Mapping[str, Any] = fields_of(
        MaskStep,
        variant=("--variant KEY  how to compute it (`variants` lists them; default auto)", key_of_filter),
        block=("--block 16x16  threads of a CUDA block, width × height", Block.parse),
    )
    where: Mapping[str, Any] = fields_of(
        PictureRequest,
        device=(
            """--device KEY  auto, cpu, cuda:0, cuda:all (every GPU) or simulator (`devices` lists
        them; default auto); a CPU variant always runs on the CPU""",
            str,
        ),
        layout=(
            """--layout NAME  rows on a CUDA device: pitched (each on a 128-byte boundary, the default) or
        packed; the result is the same""",
            Layout.named,
        ),
    )
    result_type: str = option(
        """--result-type TYPE  what the kernel writes: float32, same (samples of the picture's type, rounded
        half to even), or auto (default): same where the saved file has the same samples""",
        AUTO_TYPE,
        OneOf("--result-type", (AUTO_TYPE, *RESULT_TYPES)),
    )
    of_mask: Mapping[str, Any] = fields_of(
        MaskStep,
        border=BORDER,
        cval=(
            lambda: (
                "--cval VALUE  their value with --border "
                f"{' or '.join(border for border in Border if border.takes_value)} (default 0)"
            ),
            number("--cval"),
        ),
        flip=("--flip  convolve: rotate the mask, and its anchor, by 180 degrees", bool),
    )
    anchor: tuple[int, int] | None = option(
        "--anchor R,C  mask cell that lies on the pixel (default: the middle)", None, cell("--anchor")
    )
    normalize: bool = option("--normalize, --normalise  divide the weights by their sum", False)
    divisor: float | None = option(
        "--divisor D  divide the weights by this number", None, number("--divisor")
    )
    offset: float | None = option(
        "--offset O  add this to each result, in the picture's units", None, number("--offset")
    )

    def check(self, saving: SavingOptions) -> None:
        """Refuse options that do not belong together, those of saving among them."""
        if self.chain is not None:
            for name in ("mask", "operation"):
                if getattr(self, name) is not None:
                    remedy = "Give one of the two, or write it as a step."
                    raise BadValue(f"--{name} with --chain", "a chain has steps of its own", remedy)
            why = "each step of a chain has its own"
            for options in (self, saving):
                names = (*_CHAIN, "alpha")
                refuse_used(options, names, "with --chain", why, "Leave it out, or write it into the chain.")
            return
        if self.merge:
            raise BadValue("--merge", "it is for --chain", "Leave it out.")
        if self.operation is None and self.mask is None:
            why = "neither --mask nor --operation nor --chain is given"
            examples = "--mask gaussian:9:1.5, --operation median or --chain unsharp"
            raise BadValue("nothing to do", why, f"Give {examples} (`--help` lists them).")
        if self.operation is None:
            refuse_used(self, _OPERATION, "with --mask", "it is for --operation", "Leave it out.")
            if self.divisor is not None and self.normalize:
                what, why = "--divisor with --normalize", "both divide the weights"
                raise BadValue(what, why, "Give one of the two.")
            return
        if self.mask is not None:
            why = "a picture is either filtered with a mask or changed by another operation"
            raise BadValue("--mask with --operation", why, "Give one of the two.")
        why = "it says how a mask is applied"
        for options in (self, saving):
            refuse_used(options, (*_MASK, "range", "alpha"), "with --operation", why, "Leave it out.")

    @cached_property
    def request(self) -> PictureRequest:
        """The requested steps, and where; an EngineError for what there is not."""
        if self.chain is not None:
            chain = import_module("engine.work.chain_files").chain_named(self.chain)
            return of_chain(chain, **self.where)
        if self.operation is not None:
            parameters = Parameters(_operations().parameters_from(self.set).items())
            step = OperationStep(operation=self.operation, settings=parameters, **self.of_step)
            return one_step(step, **self.where)
        filtered = MaskStep(mask=self._weights(), **self.of_mask, **self.of_step)
        filtered.border.refuse_unused(filtered.cval, "--cval")
        result_type = "same" if self.result_type == "same" else "float32"
        return one_step(filtered, result_type=result_type, **self.where)

    def _weights(self) -> Mask:
        mask = resolve_mask(self.mask or "")
        mask = mask if self.anchor is None else mask.with_anchor(self.anchor)
        mask = mask if self.divisor is None else mask.divided_by(self.divisor)
        mask = mask.normalised() if self.normalize else mask
        return mask if self.offset is None else mask.with_offset(self.offset)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """What may be files that are read beside the picture: what each is, and as it was written."""
        named = ("mask", self.mask), ("patch", self.patch), ("chain", self.chain)
        return tuple((what, text) for what, text in named if text)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence where the sides of a Gaussian cut much of it off."""
        sentence = cut_sentence(self.mask or "")
        return (sentence,) if sentence else ()
