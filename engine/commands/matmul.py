"""`matmul`: every variant on every size with every tile, verified and timed; the lecture's figures beside."""

from dataclasses import asdict

from engine.commands.arguments import Parser, several
from engine.commands.measuring import add_measuring_options, check_measuring_options, measure_cells
from engine.host.executor import executor_for
from engine.results.measurement import ProductResult
from engine.run.sweep import product_jobs, sweep
from engine.tasks.product.operands import refuse_too_large
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import as_tile
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
    check_measuring_options(options)
    asked = options.sizes, options.variants, options.tiles
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
        sum(1 for _ in product_jobs(*asked, unmade=True)),
        lambda on_result: sweep(
            product_jobs(*asked, seed=options.seed), options.device, options.budget, executor_for, on_result
        ),
        _name,
        options.variants,
        baseline=BASELINE,
        asked={"request": request},
    )


def _name(result: ProductResult) -> str:
    tile = f" tile {result.tile}" if result.tile else ""
    return f"{result.problem.size_text}, {result.variant}{tile}"


def _parser() -> Parser:
    parser = Parser(
        "matmul",
        "P = M N in float32, M is rows x inner and N is inner x columns, of random numbers. Each cell is "
        "verified against float64, warmed up and sampled; one that cannot run is in the results with its "
        "reason and with what can be counted: loads from global memory, CGMA (operations per load), and the "
        "GFLOPS that a bandwidth allows at that (bandwidth / 4 bytes x CGMA). Speed-ups are against the "
        "fastest verified run of numpy on the same product, whose number is under 'baseline run'.",
        _EXAMPLES,
    )
    parser.add_options(
        f"""
        --size, --sizes 512,1024  a side, or rows x inner x columns such as 17x33x5 (default 1024)
        --tiles 4,8,16,32         sides of the square block of threads, 2 to 32
        --variants a,b            of {", ".join(variant.key for variant in MATMUL_VARIANTS)} (default: all)
        --out FILE                file for the results, with every sample
        """,
        size={
            "dest": "sizes",
            "type": several("--sizes", _product),
            "default": [MatrixProduct(1024, 1024, 1024)],
        },
        tiles={"type": several("--tiles", as_tile), "default": [4, 8, 16, 32]},
        variants={"type": several("--variants", matmul_variant), "default": MATMUL_VARIANTS},
    )
    add_measuring_options(parser, "the matrices")
    return parser


def _product(text: str) -> MatrixProduct:
    product = MatrixProduct.parse(text)
    refuse_too_large(product)
    return product
