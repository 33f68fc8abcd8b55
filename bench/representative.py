"""What stands for a variant in `bench`: a mask that it takes, and every kernel launched once for the sanitizer.

python -m bench.representative     launches every CUDA kernel once, checks the results, prints one line a kernel
"""

import numpy as np

from bench.auto_grid import mask_of
from engine.device.devices import backend
from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.timing.plan import NO_SAMPLES
from engine.timing.request import as_samples, describe_problem
from engine.timing.runner import measure
from engine.variants.contract import DeviceKind, Variant
from engine.variants.planner import Choice
from engine.variants.registry import VARIANTS


def binomial(side: int) -> np.ndarray:
    """Return the row of Pascal's triangle with `side` numbers, its sum 1."""
    row = np.array([1.0])
    for _ in range(side - 1):
        row = np.convolve(row, [0.5, 0.5])
    return row


def mask_for(variant: Variant, rows: int, columns: int) -> Mask:
    """Return a mask of about that size that the variant takes.

    Binomial (rank 1), of one row for the 1-D variants, of equal weights for running sums; a larger sum of two or three
    products for the variants of these.
    """
    name = f"binomial {rows} x {columns}"
    if variant.key.endswith("box"):
        return Mask(np.full((rows, columns), 1 / (rows * columns)), name=f"box {rows} x {columns}")
    if variant.key.startswith("row"):
        return Mask(binomial(columns)[np.newaxis], name=f"binomial 1 x {columns}")
    if variant.key.startswith("low-rank"):
        terms = int(variant.key[-1])
        return mask_of(f"rank {terms}", max(rows, columns, 3 * terms))
    return Mask(np.outer(binomial(rows), binomial(columns)), name=name)


def launch_each_filter() -> None:
    """Filter 131 x 97 RGB, 8 bit, mirrored border, and 61 x 67 float32 with ghost cells, by every CUDA variant."""
    machine = backend("cuda:0")
    random = np.random.default_rng(7)
    pictures = (
        (random.integers(0, 256, (97, 131, 3), np.uint8), "mirror", 0.0),
        (random.random((67, 61), np.float32), "constant", 0.5),
    )
    for variant in (known for known in VARIANTS if known.device is DeviceKind.CUDA and not known.library):
        for picture, border, cval in pictures:
            mask, samples = mask_for(variant, 5, 7), as_samples(picture)
            problem = describe_problem(samples, mask, border, cval)
            choice = Choice(variant, variant.default_block)
            result = measure(choice, problem, mask, samples, machine, NO_SAMPLES).result
            print(f"{variant.key}, {problem.size_text}, {problem.dtype}: {result.status}", flush=True)
            if result.verification is None or not result.verification.passed:
                raise EngineError(variant.key, result.status, "Run the tests of this variant.")


def launch_each_matrix_product() -> None:
    """Multiply 61 x 47 by 47 x 53 by every matrix kernel."""
    import engine

    random = np.random.default_rng(8)
    a, b = random.standard_normal((61, 47), np.float32), random.standard_normal((47, 53), np.float32)
    for key in ("matmul-naive", "matmul-tiled"):
        engine.matmul(a, b, variant=key, device="cuda:0")
        print(f"{key}, 61 x 47 by 47 x 53: verified", flush=True)


def launch_bank() -> None:
    """Filter one picture with a bank of three masks."""
    import engine

    random = np.random.default_rng(9)
    masks = [Mask(random.standard_normal((3, 5))) for _ in range(3)]
    engine.apply_bank(random.random((61, 67), np.float32), masks, device="cuda:0")
    print("implicit-gemm, bank of 3, 61 x 67 grey: verified", flush=True)


if __name__ == "__main__":
    launch_each_filter()
    launch_bank()
    launch_each_matrix_product()
