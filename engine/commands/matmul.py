"""`matmul`: every way to multiply on every size with every tile, verified and timed; the lecture's figures beside."""

import argparse
import itertools
from collections.abc import Callable, Sequence

from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.arguments import Parser, number, several, whole
from engine.commands.interrupt import report_interrupt
from engine.commands.matmul_files import matmul_csv, matmul_document
from engine.commands.output import say, say_json, table, tell
from engine.commands.result_checks import check_result_files
from engine.commands.sweep_product import measured
from engine.commands.written import write_each
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.errors import BadValue, FileWriteError
from engine.results.product import MatmulResult
from engine.results.strict_json import json_text
from engine.run.measure_product import device_for
from engine.run.product_cells import Cell, cells_of
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S
from engine.tasks.product.operands import refuse_too_large
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import as_tile
from engine.variants.matmul.registry import MATMUL_VARIANTS, matmul_variant

_EXAMPLES = (
    "--size 1024 --tiles 4,8,16,32 --out r.json",
    "--sizes 512,1000x777x513 --tiles 16 --variants matmul-tiled,numpy --csv r.csv",
    "--size 48 --tiles 4,16 --device simulator",
)
_LECTURE = f"GFLOPS at {LECTURE_BANDWIDTH_GB_S} GB/s"


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
    seen: list[MatmulResult] = []
    show = _show_progress(len(cells))

    def on_result(result: MatmulResult) -> None:
        seen.append(result)
        show(result)

    files = [path for path in (options.out, options.csv) if path]
    with report_interrupt(files, lambda: f"{len(seen)} of {len(cells)} cells done"):
        results, fault = measured(cells, options.device, options.seed, options.budget, on_result)
        not_written = _answer(options, results)
    for error in not_written:
        tell(str(error))
    if fault is not None:
        raise fault
    if any(result.verification and not result.verification.passed for result in results):
        return NOT_VERIFIED
    if not any(result.is_proven for result in results):
        _refuse_empty(cells, options.device, results)
    return BAD_INPUT if not_written else DONE


def _parser() -> Parser:
    parser = Parser(
        "matmul",
        "C = A B in float32, A is rows x inner and B is inner x columns, of random numbers. Each cell is verified "
        "against float64, warmed up and sampled; one that cannot run stands in the results with its reason and with "
        "what can be counted: loads from global memory, CGMA (operations for each load), and the GFLOPS that a "
        "bandwidth allows at that (bandwidth / 4 bytes x CGMA).",
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


def _answer(options: argparse.Namespace, results: Sequence[MatmulResult]) -> list[FileWriteError]:
    """Write and print the results; return why files cannot be written."""
    document = matmul_document(
        options.sizes, options.tiles, options.device, options.seed, options.budget, results
    )
    texts = {options.out: lambda: json_text(document)} if options.out else {}
    if options.csv:
        texts[options.csv] = lambda: matmul_csv(results)
    not_written = write_each(texts)
    if options.json:
        say_json(document)
    else:
        say(_table(results))
    return not_written


def _refuse_empty(cells: Sequence[Cell], device: str, results: Sequence[MatmulResult]) -> None:
    """Tell that nothing could be measured: for want of a device where that is so, else with the first reason."""
    for cell in cells:
        device_for(cell.variant, device)
    raise BadValue(
        "matmul", f"nothing could be measured: {results[0].status}", "What was counted is in the results."
    )


def _show_progress(total: int) -> Callable[[MatmulResult], None]:
    numbers = itertools.count(1)

    def show(result: MatmulResult) -> None:
        tile = f" tile {result.tile}" if result.tile else ""
        time = f"{result.kernel_ms:.4g} ms" if result.kernel_ms is not None else _proof(result)
        tell(f"[{next(numbers)}/{total}] {result.product.size_text}, {result.variant}{tile}: {time}")

    return show


def _table(results: Sequence[MatmulResult]) -> str:
    """Return the results as a table, with every reason why there is no proof once under it."""
    headers = (
        "rows x inner x columns",
        "variant",
        "tile",
        "device",
        "kernel ms",
        "p20 - p80 ms",
        "GFLOPS",
        "CGMA",
        _LECTURE,
        "GFLOPS limit here",
        "reached",
        "proof",
    )
    reasons = list(dict.fromkeys(result.status for result in results if not result.is_proven))
    rows = []
    for result in results:
        timing = result.timing if result.kernel_ms is not None else None
        note = "" if result.is_proven else f" ({reasons.index(result.status) + 1})"
        share = result.share_of_limit
        rows.append(
            (
                result.product.size_text,
                result.title if result.tile is None else result.variant,
                str(result.tile or "-"),
                result.device,
                f"{timing.kernel.median_ms:.4g}" if timing else "-",
                f"{timing.kernel.p20_ms:.4g} - {timing.kernel.p80_ms:.4g}" if timing else "-",
                _short(result.gflops),
                _short(result.cgma),
                _short(result.lecture_gflops),
                _short(result.limited_gflops),
                "-" if share is None else f"{100 * share:.0f} %",
                _proof(result) + note,
            )
        )
    lines = [table(headers, rows, right=(2, *range(4, 11)))]
    lines += [f"({number}) {reason}" for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _proof(result: MatmulResult) -> str:
    """Return the proof in a word or two; the reason where there is none is told in full elsewhere."""
    if not result.is_proven:
        return "cannot" if result.refused else "failed"
    equal = result.verification is not None and result.verification.exact
    verified = "verified, exact" if equal else "verified"
    return verified if result.timing else f"{verified}, no times"
