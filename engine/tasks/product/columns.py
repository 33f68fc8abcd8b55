"""What tables and files tell of a run of a product, beside what they tell of every run; what a lecture does.

The lecture on memories and performance (COSC 407, "CUDA Memories and Performance Revisited", slides "CGMA",
"Problem!" and "Computing CGMA when Tiling is used"): a kernel that does CGMA operations per float from global
memory is limited to CGMA times the rate at which memory delivers floats. Caches are left out, so a real
device may do better.
"""

from engine.results.columns import Fact
from engine.results.measurement import Measurement
from engine.results.metrics import ComparedRun, Metric, Number
from engine.results.text_forms import MISSING, percent_text, rate_text
from engine.tasks.product.problem import MatrixProduct, tile_of

LECTURE_DEVICE = "G80"
LECTURE_BANDWIDTH_GB_S = 86.4
# The slide prints 347.6 for a tile of 16, a misprint: 86.4 / 4 x 16 = 345.6.
PRINTED_GFLOPS_TILE_16 = 347.6
BYTES_PER_ACCESS = 4


def bandwidth_limited_gflops(cgma: float, bandwidth_gb_s: float) -> float:
    """Return the most that a bandwidth in GB/s allows, GFLOPS: bandwidth / 4 bytes x CGMA.

    Examples
    --------
    >>> round(bandwidth_limited_gflops(16.0, LECTURE_BANDWIDTH_GB_S), 1)
    345.6
    """
    return bandwidth_gb_s / BYTES_PER_ACCESS * cgma


Run = ComparedRun[MatrixProduct]


def variant_name(result: Measurement[MatrixProduct]) -> str:
    """Return the key; NumPy's product by its title, which says that it is a BLAS."""
    return result.title if result.block is None else result.variant


def _gflops(run: Run) -> Number:
    """Return the operations of the definition per second, GFLOPS: two for each multiply-add."""
    kernel_ms = run.result.kernel_ms
    return run.result.problem.flops / kernel_ms / 1e6 if kernel_ms else None


def _cgma(run: Run) -> Number:
    return run.result.problem.flops / run.result.work.global_loads if run.result.work else None


def _limit(run: Run, bandwidth_gb_s: float | None) -> Number:
    cgma = _cgma(run)
    return None if cgma is None or bandwidth_gb_s is None else bandwidth_limited_gflops(cgma, bandwidth_gb_s)


def _limit_here(run: Run) -> Number:
    return _limit(run, run.result.environment.bandwidth_gb_s)


def _share_of_limit(run: Run) -> Number:
    reached, limit = _gflops(run), _limit_here(run)
    return None if reached is None or limit is None else reached / limit


# fmt: off
_METRICS: tuple[Metric[MatrixProduct], ...] = (
    Metric("gflops", "GFLOPS", "GFLOPS",
           "10⁹ operations per second: 2 × rows × inner × columns over the median kernel time.",
           _gflops, rate_text, more_is_better=True),
    Metric("cgma_flop_per_load", "CGMA", "",
           "Compute to global memory access: operations of the product per load from global memory, counted "
           "from the kernel's source; zeros that fill a tile do not count. Unknown for a BLAS.",
           _cgma, rate_text, more_is_better=True),
    Metric("lecture_limit_gflops", f"GFLOPS at {LECTURE_BANDWIDTH_GB_S} GB/s", "GFLOPS",
           f"GFLOPS that the lecture's {LECTURE_DEVICE} allows: {LECTURE_BANDWIDTH_GB_S} GB/s ÷ 4 bytes × "
           f"CGMA. The lecture prints {PRINTED_GFLOPS_TILE_16} for a tile of 16, a misprint for 345.6.",
           lambda run: _limit(run, LECTURE_BANDWIDTH_GB_S), rate_text),
    Metric("bandwidth_limit_gflops", "GFLOPS limit here", "GFLOPS",
           "GFLOPS that this device's theoretical bandwidth allows: bandwidth ÷ 4 bytes × CGMA; caches are "
           "left out.",
           _limit_here, rate_text),
    Metric("share_of_limit", "reached", "",
           "Measured GFLOPS over the limit here. Over 100 % where caches serve what is counted as loads.",
           _share_of_limit, percent_text, more_is_better=True),
)
_FACTS: tuple[Fact[MatrixProduct], ...] = (
    Fact("product", "Rows × inner × columns",
         "A is rows × inner, B is inner × columns; float32. Sorted by the number of multiply-adds.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.multiply_adds,
         caption="{}", of_problem=True),
    Fact("variant", "Variant",
         "How it was computed. numpy (BLAS) is NumPy's own product on the CPU, for comparison.",
         lambda run: variant_name(run.result)),
    Fact("tile", "Tile",
         "Side of the square block of threads, and of matmul-tiled also of the tiles in shared memory.",
         lambda run: str(tile_of(run.result) or MISSING), lambda run: tile_of(run.result)),
)
# fmt: on
METRICS, FACTS = {MatrixProduct.task: _METRICS}, {MatrixProduct.task: _FACTS}
