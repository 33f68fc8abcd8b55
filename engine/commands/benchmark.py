"""`bench`: every variant on every size, mask and block, verified and timed; results as JSON, CSV, a table."""

import argparse
import re

import numpy as np

from engine.commands.arguments import Parser, one_of, several, sides, whole
from engine.commands.best_blocks import best_found
from engine.commands.filter_options import key_of_filter
from engine.commands.measuring import add_measuring_options, check_measuring_options, measure_cells
from engine.device_info import AUTO
from engine.errors import BadValue, MaskError, UnknownName
from engine.geometry.block import Block
from engine.geometry.block_list import EVERY, every_block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.executor import executor_for
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.mask.generators import GENERATORS
from engine.mask.mask import MAX_LINE, SIDES_ALLOWED, Mask, is_size_allowed
from engine.mask.mask import MAX_SIDE as MAX_MASK_SIDE
from engine.mask.resolve import did_you_mean, resolve_mask
from engine.results.columns import mask_text
from engine.results.measurement import RunResult
from engine.run.sweep import FilterSweep
from engine.run.sweep import sweep as measured
from engine.tasks.filtering.problem import DTYPES, MAX_CHANNELS, MAX_SIDE, RESULT_TYPES
from engine.tasks.filtering.request import FilterOptions
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS, variant

BASELINE = "cpu-serial"
DEFAULT_MASKS = ((3, 3), (5, 5))

_GENERATORS = ", ".join(GENERATORS)
_EXAMPLES = (
    "--out results.json",
    "--variants cpu-parallel,tiled --sizes 1024,1920x1080 --masks 3,5,15 --out r.json --csv r.csv",
    "--variants tiled,cached --blocks 8x8,16x16,32x8 --baseline cached --out blocks.json",
    "--variants cpu-parallel,cpu-separable,cpu-box --masks 5,gaussian:5,box:5,box:31 --out kinds.json",
    "--variants naive,tiled --sizes 1001 --layouts pitched,packed --out pitch.json",
    "--operation median --set size=5 --variants cpu-median,median-tiled --channels 3 --out median.json",
    "--best --variants tiled,cached --sizes 1024 --masks 5",
)


def run(arguments: list[str]) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    options = _parser().read(arguments)
    # Masks by name keep the text that was written.
    named = [mask.name for mask in options.masks or () if isinstance(mask, Mask)]
    check_measuring_options(options, named, "mask")
    if not (options.out or options.best):
        raise BadValue(
            "bench",
            "no file for the results is named",
            "Add --out results.json, or --best for the best blocks.",
        )
    _check_pictures(options)
    if options.operation is not None:
        from engine.commands.benchmark_operation import measure_operation

        return measure_operation(options)
    if options.set:
        raise BadValue("--set without --operation", "it is a parameter of an operation", "Leave it out.")
    sweep = _sweep(options)
    with_layout = len(sweep.layouts) > 1

    def name(result: RunResult) -> str:
        block = f" {result.block}" if result.block else ""
        layout = f" {result.layout}" if result.layout and with_layout else ""
        return f"{result.problem.size_text}, mask {mask_text(result)}, {result.variant}{block}{layout}"

    return measure_cells(
        "bench",
        options,
        sweep.cells,
        lambda on_result: measured(sweep.jobs(), options.device, options.budget, executor_for, on_result),
        name,
        sweep.variants,
        baseline=_named(options.baseline or BASELINE).key,
        asked={"sweep": sweep.as_json()},
        without=("border",) if with_layout else ("border", "layout"),
        conclude=best_found if options.best else None,
    )


def _parser() -> Parser:
    parser = Parser(
        "bench",
        "Each cell is verified against a float64 oracle, warmed up and sampled; one that fails, or that the "
        "variant cannot compute, is in the results with its reason. Pictures, and the weights of masks "
        "without a name, are random numbers from a seed.",
        _EXAMPLES,
    )
    parser.add_options(
        f"""
        --out results.json        file for the results, with every sample; needed without --best
        --variants a,b            keys (default: all)
        --sizes 512,1024          pictures: a side, or width x height
        --masks 3,5,box:5         masks: a side, or rows x columns, up to 63, or 127 in one row or column,
                                  with random weights; or by name, as `filter --mask` takes them
                                  ({_GENERATORS} with their sizes, a preset, a file)
        --operation KEY           instead of masks: median, histogram, ... (docs/operations.md); --variants
                                  and --baseline are then the operation's (default: the CPU's)
        --set NAME=VALUE          a parameter of the operation, such as size=5
        --blocks 8x8,16x16        blocks of CUDA threads, width x height, or all: every block with sides 1, 2,
                                  4, 8 ... that CUDA allows (default: each variant's own, with --best all)
        --best                    also say the best block of each kernel, and keep it for the window
        --layouts pitched,packed  rows on the CUDA device: each on a 128-byte boundary (default), or one right
                                  after the other
        --border NAME             cells outside the picture: {", ".join(Border)} (default zero)
        --channels N              1 to 4 (default 1)
        --dtype TYPE              samples of the picture: uint8, uint16 or float32 (default)
        --result-type TYPE        samples of the results: float32 (default), or same: the picture's type,
                                  which not every variant writes
        --baseline KEY            speed-ups are against the fastest verified run of this variant on the same
                                  problem, whose number is under 'baseline run'; none where it is not measured
                                  (default {BASELINE})
        """,
        variants={"type": several("--variants", str)},
        set={"action": "append"},
        sizes={
            "type": several("--sizes", sides("--sizes", "width x height", MAX_SIDE)),
            "default": [(512, 512), (1024, 1024)],
        },
        masks={"type": several("--masks", _mask)},
        blocks={"type": _blocks, "default": []},
        layouts={"type": several("--layouts", Layout.named), "default": [Layout.PITCHED]},
        border={"type": Border.named, "default": Border.ZERO},
        channels={"type": whole("--channels", 1, MAX_CHANNELS), "default": 1},
        dtype={"type": one_of("--dtype", DTYPES), "default": "float32"},
        result_type={"type": one_of("--result-type", RESULT_TYPES), "default": "float32"},
    )
    add_measuring_options(parser, "pictures and weights")
    return parser


def _named(key: str) -> Variant:
    if key == AUTO:
        keys = ", ".join(candidate.key for candidate in VARIANTS)
        raise UnknownName("variant 'auto'", "a benchmark measures variants by name", f"Choose one of {keys}.")
    return variant(key_of_filter(key), takes_auto=False)


def _blocks(text: str) -> list[Block]:
    if text.strip().lower() == EVERY:
        return list(every_block())
    return several("--blocks", Block.parse)(text)


def _mask(text: str) -> Mask | tuple[int, int]:
    """Return one entry of the list of masks: 5, 2x5, box:5, sobel-x, or the name of a file."""
    if re.fullmatch(r"\d{1,9}(?:[xX×]\d{1,9})?", text):
        return sides("--masks", "rows x columns", MAX_LINE, is_size_allowed, SIDES_ALLOWED)(text)
    if re.match(r"[\d+.-]", text):
        raise BadValue(
            f"--masks {text}",
            f"it is neither a side from 1 to {MAX_MASK_SIDE} nor rows x columns; weights are not taken here",
            f"Write a size such as 5 or 5x7, or one by name such as box:5 ({_GENERATORS}).",
        )
    try:
        mask = resolve_mask(text)
    except MaskError as error:
        raise MaskError(
            f"--masks: {error.what}",
            error.why,
            f"{did_you_mean(text)}Write a size such as 5 or 5x7, one by name such as box:5 "
            f"({_GENERATORS}), a preset "
            "(`masks` lists them), or a file.",
        ) from error
    return mask.with_name(text)


def _check_pictures(options: argparse.Namespace) -> None:
    for block in options.blocks:
        if block.x < 1 or block.y < 1:
            raise BadValue(f"--blocks {block}", "it has no threads", "Give each side at least 1.")
    for width, height in options.sizes:
        needed_bytes = width * height * options.channels * np.dtype(options.dtype).itemsize
        if needed_bytes > DEFAULT_MAX_BYTES:
            raise BadValue(
                f"--sizes {width}x{height}",
                f"the picture takes {bytes_text(needed_bytes)}, the limit is {bytes_text(DEFAULT_MAX_BYTES)}",
                "Choose a smaller size.",
            )


def _sweep(options: argparse.Namespace) -> FilterSweep:
    return FilterSweep(
        options=FilterOptions(border=options.border, device=options.device, result_type=options.result_type),
        variants=[_named(key) for key in options.variants] if options.variants else VARIANTS,
        sizes=options.sizes,
        masks=options.masks or DEFAULT_MASKS,
        blocks=options.blocks or (every_block() if options.best else ()),
        channels=options.channels,
        dtype=options.dtype,
        seed=options.seed,
        budget_s=options.budget,
        layouts=options.layouts,
    )
