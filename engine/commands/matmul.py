"""`matmul`: every variant on every size with every tile, verified and timed; the lecture's figures beside."""

from dataclasses import dataclass

from msgspec import structs

from engine.commands.arguments import Settings, group, option, several
from engine.commands.measuring import Cells, Measuring, measure_cells
from engine.tasks.product import problem
from engine.tasks.product.problem import MATMUL_VARIANTS, MatmulVariant, MatrixProduct, ProductResult
from engine.tasks.product.task import product_jobs, refuse_too_large

BASELINE = "numpy"  # it runs everywhere


def _product(text: str) -> MatrixProduct:
    product = MatrixProduct.parse(text)
    refuse_too_large(product)
    return product


@dataclass(frozen=True, kw_only=True)
class MatmulOptions(Settings):
    """What `matmul` takes."""

    about = (
        "P = M N in float32, M is rows × inner and N is inner × columns, of random numbers. Each cell is "
        "verified against float64, warmed up and sampled; one that cannot run is in the results with its "
        "reason and with what can be counted: loads from global memory, CGMA (operations per load), and the "
        "GFLOPS that a bandwidth allows at that (bandwidth / 4 bytes x CGMA). Speed-ups are against the "
        "fastest verified run of numpy on the same product, whose number is under 'baseline run'."
    )
    examples = (
        "--size 1024 --tiles 4,8,16,32 --out r.json",
        "--sizes 512,1000x777x513 --tiles 16 --variants matmul-tiled,numpy --csv r.csv",
        "--size 48 --tiles 4,16 --device simulator",
    )

    sizes: tuple[MatrixProduct, ...] = option(
        "--size, --sizes 512,1024  a side, or rows × inner × columns such as 17x33x5 (default 1024)",
        (MatrixProduct(1024, 1024, 1024),),
        several("--sizes", _product),
    )
    tiles: tuple[int, ...] = option(
        "--tiles 4,8,16,32  sides of the square block of threads, 2 to 32",
        (4, 8, 16, 32),
        several("--tiles", problem.as_tile),
    )
    variants: tuple[MatmulVariant, ...] = option(
        lambda: f"--variants a,b  of {', '.join(variant.key for variant in MATMUL_VARIANTS)} (default: all)",
        (),
        several("--variants", problem.matmul_variant),
    )
    measuring: Measuring = group(Measuring, seed_of="the matrices")


def run(settings: MatmulOptions) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    how, variants = settings.measuring, settings.variants or tuple(MATMUL_VARIANTS)
    how.check()
    what = settings.sizes, variants, settings.tiles
    products = [structs.asdict(product) for product in settings.sizes]
    request = {"products": products, "tiles": settings.tiles} | how.document
    cells = Cells(
        command="matmul",
        variants=variants,
        count=sum(1 for _ in product_jobs(*what)),
        jobs=product_jobs(*what, how.seed),
        name=_name,
        baseline=BASELINE,
        requested={"request": request},
    )
    return measure_cells(cells, how, json=settings.json)


def _name(result: ProductResult) -> str:
    tile = f" tile {problem.tile_of(result)}" if problem.tile_of(result) else ""
    return f"{result.problem.size_text}, {result.variant}{tile}"
