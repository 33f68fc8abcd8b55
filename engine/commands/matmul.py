"""`matmul`: every way to multiply on every size with every tile, verified and timed; the lecture's figures beside."""

import argparse
import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict

from engine.atomic_write import atomic_write
from engine.commands import DONE, NOT_VERIFIED
from engine.commands.arguments import Parser, number, several, whole
from engine.commands.interrupt import report_interrupt
from engine.commands.output import say, say_json, tell
from engine.commands.output_checks import check_result_files
from engine.commands.results_table import progress_word, results_table
from engine.commands.sweep_product import measured
from engine.device.devices import device_named, devices
from engine.device.versions import commit, versions
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.results.compare import compared
from engine.results.export import machine_document, results_csv, results_document
from engine.results.measurement import ProductResult
from engine.results.strict_json import json_text
from engine.run.measure_product import device_for
from engine.run.product_cells import Cell, cells_of
from engine.tasks.product.operands import refuse_too_large
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import as_tile
from engine.variants.matmul.registry import MATMUL_VARIANTS, matmul_variant

_EXAMPLES = (
    "--size 1024 --tiles 4,8,16,32 --out r.json",
    "--sizes 512,1000x777x513 --tiles 16 --variants matmul-tiled,numpy --csv r.csv",
    "--size 48 --tiles 4,16 --device simulator",
)
# It runs everywhere.
BASELINE = "numpy"


def run(arguments: list[str]) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    options = _parser().read(arguments)
    if options is None:
        return DONE
    # A device that was asked for by name has to be there; with auto, what cannot run is a result with its reason.
    if options.device != AUTO:
        device_named(options.device)
    check_result_files(options.out, options.csv)
    cells = cells_of(options.sizes, options.variants, options.tiles)
    seen: list[ProductResult] = []
    show = _show_progress(len(cells))

    def on_result(result: ProductResult) -> None:
        seen.append(result)
        show(result)

    files = [path for path in (options.out, options.csv) if path]
    with report_interrupt(files, lambda: f"{len(seen)} of {len(cells)} cells done"):
        results, fault = measured(cells, options.device, options.seed, options.budget, on_result)
        _answer(options, results)
    if fault is not None:
        raise fault
    if any(result.verification and not result.verification.passed for result in results):
        return NOT_VERIFIED
    if not any(result.is_proven for result in results):
        _refuse_empty(cells, options.device, results)
    return DONE


def _parser() -> Parser:
    parser = Parser(
        "matmul",
        "C = A B in float32, A is rows x inner and B is inner x columns, of random numbers. Each cell is verified "
        "against float64, warmed up and sampled; one that cannot run stands in the results with its reason and with "
        "what can be counted: loads from global memory, CGMA (operations for each load), and the GFLOPS that a "
        "bandwidth allows at that (bandwidth / 4 bytes x CGMA). Speed-ups are against the fastest verified run of numpy on the "
        "same product, whose number stands under 'baseline run'.",
        _EXAMPLES,
    )
    add = parser.add_argument
    add(
        "--size",
        "--sizes",
        dest="sizes",
        type=several("--sizes", _product),
        default=[MatrixProduct(1024, 1024, 1024)],
        metavar="512,1024",
        help="a side, or rows x inner x columns such as 17x33x5 (default 1024)",
    )
    add(
        "--tiles",
        type=several("--tiles", as_tile),
        default=[4, 8, 16, 32],
        metavar="4,8,16,32",
        help="sides of the square block of threads, 2 to 32",
    )
    add(
        "--variants",
        type=several("--variants", matmul_variant),
        default=MATMUL_VARIANTS,
        metavar="a,b",
        help=f"of {', '.join(variant.key for variant in MATMUL_VARIANTS)} (default: all)",
    )
    add("--device", default=AUTO, metavar="auto", help="for the CUDA variants (`devices` lists them)")
    add("--seed", type=whole("--seed", 0, 2**32 - 1), default=0, metavar="0", help="of the matrices")
    add(
        "--budget",
        type=number("--budget", 0.0, 3600.0),
        default=0.5,
        metavar="SECONDS",
        help="for the samples of each cell (default 0.5)",
    )
    add("--out", metavar="r.json", help="file for the results, with every sample")
    add("--csv", metavar="r.csv", help="file for a table for spreadsheets")
    return parser


def _product(text: str) -> MatrixProduct:
    product = MatrixProduct.parse(text)
    refuse_too_large(product)
    return product


def _answer(options: argparse.Namespace, results: Sequence[ProductResult]) -> None:
    runs = compared(results, BASELINE)
    request = {
        "products": [asdict(product) for product in options.sizes],
        "tiles": list(options.tiles),
        "device": options.device,
        "seed": options.seed,
        "budget_s": options.budget,
    }
    machine = machine_document(devices(), versions(), commit())
    document = results_document(runs, BASELINE, machine, request=request)
    if options.out:
        atomic_write(options.out, json_text(document).encode())
    if options.csv:
        atomic_write(options.csv, results_csv(runs, BASELINE).encode())
    if options.json:
        say_json(document)
    else:
        say(results_table(runs, BASELINE))


def _refuse_empty(cells: Sequence[Cell], device: str, results: Sequence[ProductResult]) -> None:
    """Tell that nothing could be measured: for want of a device where that is so, else with the first reason."""
    for cell in cells:
        device_for(cell.variant, device)
    raise BadValue(
        "matmul", f"nothing could be measured: {results[0].status}", "What was counted is in the results."
    )


def _show_progress(total: int) -> Callable[[ProductResult], None]:
    numbers = itertools.count(1)

    def show(result: ProductResult) -> None:
        tile = f" tile {result.tile}" if result.tile else ""
        place = f"[{next(numbers)}/{total}] {result.problem.size_text}"
        tell(f"{place}, {result.variant}{tile}: {progress_word(result)}")

    return show
