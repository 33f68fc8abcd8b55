"""`bench`: every variant on every size, mask and block, verified and timed; results as JSON, CSV and a table."""

import argparse

import numpy as np

from engine.commands import DONE
from engine.commands.arguments import Parser, number, one_of, several, sides, whole
from engine.commands.mask_grid import KINDS, mask_of_grid
from engine.commands.measuring import measure_cells
from engine.commands.result_checks import check_result_files
from engine.commands.variant_keys import key_of_filter
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.executor import executor_for
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.results.columns import mask_text
from engine.results.measurement import RunResult
from engine.run.device_choice import device_for
from engine.run.sweep import FilterSweep, GridMask
from engine.run.sweep import sweep as measured
from engine.tasks.filtering.problem import DTYPES, MAX_CHANNELS, MAX_SIDE, RESULT_TYPES
from engine.tasks.filtering.request import FilterOptions
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS, variant

BASELINE = "cpu-serial"

_EXAMPLES = (
    "--out results.json",
    "--variants cpu-parallel,tiled --sizes 1024,1920x1080 --masks 3,5,15 --out results.json --csv results.csv",
    "--variants tiled,cached --blocks 8x8,16x16,32x8 --baseline cached --out blocks.json",
    "--variants cpu-parallel,cpu-separable,cpu-box --masks 5,gaussian:5,box:5,box:31 --out kinds.json",
    "--variants naive,tiled --sizes 1001 --layouts pitched,packed --out pitch.json",
)


def run(arguments: list[str]) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    options = _parser().read(arguments)
    if options is None:
        return DONE
    sweep = _sweep(options)
    check_result_files(options.out, options.csv)
    return measure_cells(
        "bench",
        options,
        sweep.cells,
        lambda on_result: measured(
            sweep.jobs(), sweep.options.device, sweep.budget_s, executor_for, on_result
        ),
        lambda result: _name(result, with_layout=len(sweep.layouts) > 1),
        lambda: _look_for_devices(sweep),
        baseline=options.baseline.key,
        asked={"sweep": sweep.as_json()},
        without=("border",) if len(sweep.layouts) > 1 else ("border", "layout"),
    )


def _look_for_devices(sweep: FilterSweep) -> None:
    for candidate in sweep.variants:
        device_for(candidate, sweep.options.device)


def _name(result: RunResult, *, with_layout: bool) -> str:
    block = f" {result.block}" if result.block else ""
    layout = f" {result.layout}" if result.layout and with_layout else ""
    return f"{result.problem.size_text}, mask {mask_text(result)}, {result.variant}{block}{layout}"


def _parser() -> Parser:
    parser = Parser(
        "bench",
        "Each cell of the product is verified against a float64 oracle, warmed up and sampled; one that fails, or that "
        "the variant cannot do, stands in the results with its reason. Pictures are random, and the weights of masks "
        "that have no name, from a seed.",
        _EXAMPLES,
    )
    add = parser.add_argument
    add("--out", required=True, metavar="results.json", help="file for the results, with every sample")
    add("--csv", metavar="results.csv", help="file for a table for spreadsheets")
    add("--variants", type=several("--variants", _named), metavar="a,b", help="keys (default: all)")
    add(
        "--sizes",
        type=several("--sizes", sides("--sizes", "width x height", MAX_SIDE)),
        default=[(512, 512), (1024, 1024)],
        metavar="512,1024",
        help="pictures: a side, or width x height",
    )
    add(
        "--masks",
        type=several("--masks", mask_of_grid("--masks")),
        default=[GridMask(3, 3), GridMask(5, 5)],
        metavar="3,5,box:5",
        help="masks: a side, or rows x columns, up to 63, or 127 in one row or column, with random weights; or by name, as "
        f"`filter --mask` takes them ({KINDS} with their sizes, a preset, a file)",
    )
    add(
        "--blocks",
        type=several("--blocks", Block.parse),
        default=[],
        metavar="8x8,16x16",
        help="blocks of CUDA threads, across x down (default: each variant's own)",
    )
    add(
        "--layouts",
        type=several("--layouts", Layout.named),
        default=[Layout.PITCHED],
        metavar="pitched,packed",
        help="rows on the CUDA device: each on a 128-byte boundary, or one right after the other (default pitched)",
    )
    add("--border", type=Border.named, default=Border.ZERO, metavar="zero", help="cells outside the picture")
    add("--device", default=AUTO, metavar="auto", help="for the CUDA variants (`devices` lists them)")
    add("--channels", type=whole("--channels", 1, MAX_CHANNELS), default=1, metavar="1", help="1 to 4")
    add(
        "--dtype",
        type=one_of("--dtype", DTYPES),
        default="float32",
        metavar="float32",
        help="samples of the picture: uint8, uint16 or float32",
    )
    add(
        "--result-type",
        type=one_of("--result-type", RESULT_TYPES),
        default="float32",
        metavar="float32",
        help="samples of the results: float32, or same: the picture's type, which not every variant writes",
    )
    add("--seed", type=whole("--seed", 0, 2**32 - 1), default=0, metavar="0", help="of pictures and weights")
    add(
        "--budget",
        type=number("--budget", 0.0, 3600.0),
        default=0.5,
        metavar="SECONDS",
        help="for the samples of each cell (default 0.5)",
    )
    add(
        "--baseline",
        type=_named,
        default=variant(BASELINE),
        metavar=BASELINE,
        help="speed-ups are against the fastest verified run of this variant on the same problem, whose number stands under "
        "'baseline run'; none where it is not among those measured",
    )
    return parser


def _named(key: str) -> Variant:
    if key == AUTO:
        keys = ", ".join(candidate.key for candidate in VARIANTS)
        raise UnknownName("variant 'auto'", "a benchmark measures variants by name", f"Choose one of {keys}.")
    return variant(key_of_filter(key), takes_auto=False)


def _sweep(options: argparse.Namespace) -> FilterSweep:
    # A device that was asked for by name has to be there; with auto, what cannot run is a result with its reason.
    if options.device != AUTO:
        device_named(options.device)
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
    return FilterSweep(
        options=FilterOptions(border=options.border, device=options.device, result_type=options.result_type),
        variants=options.variants or VARIANTS,
        sizes=options.sizes,
        masks=options.masks,
        blocks=options.blocks,
        channels=options.channels,
        dtype=options.dtype,
        seed=options.seed,
        budget_s=options.budget,
        layouts=options.layouts,
    )
