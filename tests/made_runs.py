"""Filter runs and products as the engine would measure them, for the tests of numbers, files and plots."""

from dataclasses import replace

import numpy as np
from msgspec import structs

from engine.device_info import RECORDED
from engine.errors import Reason
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.measurement import Environment, Spread, Timing
from engine.results.problem import Work
from engine.tasks.messages import RecordedRequest, RecordedRuns
from engine.tasks.product.problem import MatrixProduct, ProductResult
from engine.verify.closeness import Verification
from engine.work.columns import RunResult
from engine.work.problem import Problem

MASK = Mask(np.ones((5, 5)) / 25, name="Gaussian")
PROBLEM = Problem(512, 512, 3, "uint8", (5, 5), (2, 2), Border.ZERO)
VERSIONS = {"numba": "0.68.1", "numpy": "2.4.6"}
ENVIRONMENT = Environment("NVIDIA H200", "580.65", "1980 MHz", VERSIONS, "abc1234")
PROVED = Verification(True, 1.2e-7, 3e-6, 262_144, 262_144, exact=False)
WRONG = "12 pixels differ by more than rounding, first at row 3"
REFUTED = replace(PROVED, passed=False, max_error=0.5, reason=WRONG)

# A tiled kernel: 25 shared loads and 1.6 loads of the picture per result.
SAMPLES = PROBLEM.samples
WORK = Work(
    flops=50 * SAMPLES, minimum_bytes=5 * SAMPLES, picture_loads=8 * SAMPLES // 5,
    global_loads=2 * SAMPLES, global_load_bytes=3 * SAMPLES,
    global_stores=SAMPLES, global_store_bytes=4 * SAMPLES,
    shared_loads=25 * SAMPLES, shared_stores=2 * SAMPLES,
)  # fmt: skip


def make_timing(kernel_ms: float, *, cuda: bool = True) -> Timing:
    """Return a timing whose kernel has this median, a fifth on either side of it."""
    kernel = Spread(tuple(kernel_ms * factor for factor in (0.9, 0.95, 1.0, 1.1, 1.3)))
    copies = Spread((0.21, 0.22, 0.23)) if cuda else None
    whole = kernel_ms + (0.45 if cuda else 0.0)
    return Timing(kernel, Spread((whole, whole * 1.1)), 412.0, 1.2, copies, copies, "device events")


def make_result(
    variant: str = "tiled",
    kernel_ms: float = 0.04,
    *,
    problem: Problem = PROBLEM,
    device: str | None = None,
    **fields: object,
) -> RunResult:
    """Return a verified run; `fields` replace whatever they name."""
    cpu = variant in {"cpu-serial", "cpu-parallel", "cpu-separable", "cpu-box", "cpu-fft"}
    default_fields: dict[str, object] = {
        "title": variant.capitalize(),
        "timing": make_timing(kernel_ms, cuda=not cpu),
        "verification": PROVED,
        "block": None if cpu else Block(16, 16),
        "layout": "" if cpu else "pitched",
        "mask_name": MASK.name,
        "weights_digest": MASK.weights_digest,
    }
    return RunResult(
        variant=variant,
        device=device or ("cpu" if cpu else "cuda:0"),
        problem=problem,
        environment=ENVIRONMENT,
        **(default_fields | fields),  # type: ignore[arg-type]
    )


def made_reason(text: str) -> Reason | None:
    """Return a reason of these words, the first sentence of which is its short form; None for no words."""
    short = text.split(". ", 1)[0].rstrip(".")
    return Reason("made", short, text) if text else None


def make_failure(variant: str = "cached", reason: str = "launch failed: out of resources") -> RunResult:
    """Return a run that failed."""
    return make_result(variant, timing=None, verification=None, failure=made_reason(reason))


def make_unverified(variant: str = "tiled") -> RunResult:
    """Return a run whose result was wrong."""
    return make_result(variant, timing=None, verification=REFUTED)


def make_simulated(variant: str = "naive") -> RunResult:
    """Return a verified run of the simulator; it has times on purpose, which must not be believed."""
    return make_result(variant, 900.0, device="simulator")


def made_recorded_runs(asked: RecordedRequest) -> RecordedRuns:
    """Return two runs of another machine for a problem, on a larger picture."""
    problem = structs.replace(asked.problem, height=4096, width=4096)
    times = {"cpu-serial": 900.0, "tiled": 0.3}
    runs = (
        make_result(key, ms, problem=problem, device=RECORDED, weights_digest=asked.mask.weights_digest)
        for key, ms in times.items()
    )
    return RecordedRuns(tuple(runs), f"Recorded of another problem: {problem.picture_text}")


_NO_CUDA = "No NVIDIA driver. Choose numpy, or the simulator."
BANDWIDTH_GB_S = 4000.0


def made_rows(
    product: MatrixProduct, tiles: tuple[int, ...], device: str = "auto", *, cuda: bool = False
) -> tuple[ProductResult, ...]:
    """Return what can be counted; without CUDA the kernels cannot run but in the simulator."""
    rows = []
    for variant in ("matmul-naive", "matmul-tiled"):
        for tile in tiles:
            loads = product.flops // (tile if variant == "matmul-tiled" else 1)
            row = ProductResult(
                variant=variant,
                title=variant.capitalize(),
                device="cuda:0" if device == "auto" else device,
                problem=product,
                block=Block(tile, tile),
                environment=Environment("NVIDIA H200", bandwidth_gb_s=BANDWIDTH_GB_S if cuda else None),
                failure=None if cuda or device == "simulator" else made_reason(_NO_CUDA),
                work=Work(product.flops, loads, product.values, 4 * loads, 4 * product.values, product.bytes),
            )
            rows.append(row)
    return (*rows, ProductResult("numpy", "numpy (BLAS)", "cpu", product, None, Environment("CPU, 2 cores")))


def made_product(row: ProductResult, kernel_ms: float = 2.0) -> ProductResult:
    """Return a row as it is when it has run: verified, and timed but in the simulator."""
    elements = row.problem.values
    timing = Timing(Spread(tuple(kernel_ms * f for f in (0.9, 1.0, 1.2))), Spread((kernel_ms,)), 80.0, 0.1)
    proof = Verification(True, 1.2e-6, 3e-5, elements, elements, exact=False)
    return replace(row, verification=proof, timing=None if row.device == "simulator" else timing)
