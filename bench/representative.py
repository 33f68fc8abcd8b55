"""What stands for a variant in `bench`: a mask that it takes; every kernel launched once, for the sanitizer.

python -m bench.representative     launches every CUDA kernel once, checks the results, prints one line a
kernel
"""

from itertools import product
from math import comb

import numpy as np

import engine
from bench.auto import mask_of
from engine.course.tables import bank_job
from engine.device.devices import backend
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.run.measure import NO_SAMPLES, measure
from engine.run.task import AnyJob, Job
from engine.tasks.network.operands import batch_of, trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS, network_job
from engine.work.filter_task import FILTERING, MaskJob, describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass, Variant
from engine.work.filtering.variants import variant as variant_named
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.problem import as_samples


def binomial(side: int) -> np.ndarray:
    """Return the row of Pascal's triangle with `side` numbers, its sum 1."""
    return np.array([comb(side - 1, k) for k in range(side)]) / 2.0 ** (side - 1)


def mask_for(variant: Variant, rows: int, columns: int) -> Mask:
    """Return a mask of about that size that the variant takes.

    Binomial (rank 1), of one row for the 1-D variants, of equal weights for running sums; a larger sum of two
    or three products for the variants of these, a larger random one where few cells are refused.
    """
    name = f"binomial {rows} × {columns}"
    if variant.masks is MaskClass.EQUAL_WEIGHTS:
        return Mask(np.full((rows, columns), 1 / (rows * columns)), name=f"box {rows} × {columns}")
    if variant.masks is MaskClass.ONE_ROW:
        return Mask(binomial(columns)[np.newaxis], name=f"binomial 1 × {columns}")
    if variant.rank > 1:
        kind = f"rank {variant.rank}" if variant.rank else "random"
        return mask_of(kind, max(rows, columns, variant.least_side + 2))
    return Mask(np.outer(binomial(rows), binomial(columns)), name=name)


def filter_job(
    variant: Variant,
    mask: Mask,
    samples: np.ndarray,
    border: str = "zero",
    cval: float = 0.0,
    out: str = "float32",
    block: Block | None = None,
) -> MaskJob:
    """Return the job of a variant, with its default block where none is given."""
    problem = describe_problem(samples, mask, border, cval, out)
    return Job(FILTERING, variant, block or variant.default_block, problem, samples, mask)


def launch_each_filter() -> None:
    """Filter small pictures by every CUDA variant, and by the kernels that some have for other masks."""
    random = np.random.default_rng(7)
    colours, grey = random.integers(0, 256, (97, 131, 3), np.uint8), random.random((67, 61), np.float32)
    for variant in (known for known in VARIANTS if known.has_kernels):
        mask = mask_for(variant, 5, 7)
        if variant.uint8_only:
            launched(variant, mask, colours, "constant", 7.0, out="uint8")
        else:
            if "uint8" in variant.picture_types:
                launched(variant, mask, colours, "mirror")
            launched(variant, mask, grey, "constant", 0.5)
        if variant.integer_output:
            launched(variant, mask_for(variant, 5, 5), colours, "wrap", out="uint8")
    fused = variant_named("separable-fused")
    launched(fused, mask_for(fused, 35, 3), colours, "reflect")
    # Only where there is work for all multiprocessors does a block take several steps.
    launched(fused, mask_for(fused, 27, 5), random.random((33_000, 40), np.float32), "zero")


def launched(
    variant: Variant, mask: Mask, picture: np.ndarray, border: str, cval: float = 0.0, *, out: str = "float32"
) -> None:
    """Filter a picture once and compare every pixel; `out` is the type of the result."""
    job = filter_job(variant, mask, as_samples(picture), border, cval, out)
    types = job.problem.dtype if out == "float32" else f"{job.problem.dtype} to {out}"
    measured(job, f"{variant.key}, {mask.name}, {job.problem.size_text}, {types}")


def measured(job: AnyJob, name: str) -> None:
    """Do a job once and print how it went; raises EngineError where there is no right result."""
    result = measure(job, backend("cuda:0"), NO_SAMPLES).result
    print(f"{name}: {result.status}", flush=True)
    if result.verification is None or not result.verification.passed:
        raise EngineError(name, result.status, "Run the tests of this variant.")


def launch_each_matrix_product() -> None:
    """Multiply 61 x 47 by 47 x 53 by every matrix kernel."""
    random = np.random.default_rng(8)
    a, b = random.standard_normal((61, 47), np.float32), random.standard_normal((47, 53), np.float32)
    for key in ("matmul-naive", "matmul-tiled"):
        engine.matmul(a, b, variant=key, device="cuda:0")
        print(f"{key}, 61 × 47 by 47 × 53: verified", flush=True)


def launch_bank() -> None:
    """Filter one picture with a bank of three masks in one launch."""
    random = np.random.default_rng(9)
    masks = tuple(Mask(random.standard_normal((3, 5))) for _ in range(3))
    samples = random.random((61, 67, 1), np.float32)
    problem = describe_problem(samples, masks[0], "zero", 0.0)
    measured(bank_job(masks, problem, samples), "implicit-gemm, bank of 3, 61 × 67 grey")


def launch_each_network() -> None:
    """Pass drawings through every CUDA stage."""
    problem = ForwardPass(3)
    for stage in (known for known in NETWORK_VARIANTS if known.has_kernels):
        job = network_job(stage, batch_of(problem), trained_weights())
        measured(job, f"{stage.key}, {problem.size_text}")


def launch_each_operation(device: str = "cuda:0") -> None:
    """Do every operation with every CUDA variant, on pictures whose blocks lie partly outside."""
    random = np.random.default_rng(10)
    colours = random.integers(0, 256, (43, 37, 3), np.uint8)
    pictures = colours, colours.astype(np.uint16) * 257, random.random((41, 35, 3), np.float32)
    settings: dict[str, tuple[dict[str, int], ...]] = {
        "median": ({"size": 3}, {"size": 5}),
        "find-patch": ({"width": 9, "height": 7}, {"width": 3, "height": 17}),
    }
    for variant in (known for known in OPERATION_VARIANTS if known.has_kernels):
        for picture, chosen in product(pictures, settings.get(variant.operation, ({},))):
            done = engine.operate(
                picture, variant.operation, variant=variant.key, device=device, budget_s=0, **chosen
            )
            problem = done.result.problem
            print(f"{variant.key}, {problem.size_text}, {picture.dtype}: {done.result.status}", flush=True)


if __name__ == "__main__":
    launch_each_filter()
    launch_each_network()
    launch_each_operation()
    launch_bank()
    launch_each_matrix_product()
