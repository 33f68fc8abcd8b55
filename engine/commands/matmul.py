"""`matmul`: every way to multiply on every size with every tile, verified and timed; the lecture's figures beside."""

from collections.abc import Sequence
from dataclasses import asdict

from engine.commands import DONE
from engine.commands.arguments import Parser, number, several, whole
from engine.commands.measuring import measure_cells
from engine.commands.result_checks import check_result_files
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.host.executor import executor_for
from engine.results.measurement import ProductResult
from engine.run.device_choice import device_for
from engine.run.sweep import product_jobs, sweep
from engine.tasks.product.operands import refuse_too_large
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import as_tile
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.registry import MATMUL_VARIANTS, matmul_variant

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
    asked = options.sizes, options.variants, options.tiles
    cells = sum(1 for _ in product_jobs(*asked, unmade=True))
    request = {
        "products": [asdict(product) for product in options.sizes],
        "tiles": list(options.tiles),
        "device": options.device,
        "seed": options.seed,
        "budget_s": options.budget,
    }
    return measure_cells(
        "matmul",
        options,
        cells,
        lambda on_result: sweep(
            product_jobs(*asked, seed=options.seed), options.device, options.budget, executor_for, on_result
        ),
        _name,
        lambda: _look_for_devices(options.variants, options.device),
        baseline=BASELINE,
        asked={"request": request},
    )


def _look_for_devices(variants: Sequence[MatmulVariant], device: str) -> None:
    for candidate in variants:
        device_for(candidate, device)


def _name(result: ProductResult) -> str:
    tile = f" tile {result.tile}" if result.tile else ""
    return f"{result.problem.size_text}, {result.variant}{tile}"


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
