"""Multiplies in one way: refuse or prepare, verify, warm up, sample.

Called on: the main thread of the engine's process, or of a script.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.device.backend import Backend
from engine.device.devices import SIMULATOR_SIDE, device_named
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo, Environment
from engine.errors import (
    BadValue,
    Cancelled,
    DeviceFault,
    DeviceUnavailable,
    EngineError,
    UnsupportedVariant,
)
from engine.geometry.block import Block
from engine.results.measurement import ProductResult
from engine.run.plan import SamplingPlan
from engine.run.sampling import Checkpoint, Sampler, Step, timed
from engine.tasks.product.agreement import verify
from engine.tasks.product.operands import Matrix, product_of
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import FLOAT_BYTES
from engine.variants.matmul.contract import MatmulVariant


@dataclass(frozen=True, slots=True)
class MatmulOutcome:
    """The product (None if it failed), the result that tells about it, and the error behind a failure."""

    values: np.ndarray | None
    result: ProductResult
    error: EngineError | None = None


def device_for(variant: MatmulVariant, wanted: str) -> DeviceInfo:
    """Return the device that a variant runs on when `wanted` is chosen: one for the CPU always runs on the CPU.

    Raises
    ------
    DeviceUnavailable
        A CUDA variant, and no CUDA device that works; the reason says why.
    """
    if variant.device is DeviceKind.CPU:
        return device_named("cpu")
    if wanted != AUTO:
        return device_named(wanted)
    try:
        return device_named("cuda")
    except DeviceUnavailable as error:
        remedy = f"Choose numpy, or the simulator (matrices up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE})."
        raise DeviceUnavailable(f"variant '{variant.key}' needs a CUDA device", error.why, remedy) from error


def refuse_unsuitable(variant: MatmulVariant, product: MatrixProduct, tile: int, device: DeviceInfo) -> None:
    """Refuse what a variant cannot do on a device.

    Raises
    ------
    UnsupportedVariant
        Another kind of device, or a tile that is not legal there.
    BadValue
        Matrices too large for the simulator.
    """
    if variant.device.value != device.kind:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            f"it is written for {variant.device.value.upper()} devices",
            "Choose another variant, or another device.",
        )
    if device.key == "simulator" and max(product.rows, product.inner, product.columns) > SIMULATOR_SIDE:
        raise BadValue(
            f"matrices of {product.size_text} in the simulator",
            f"Python threads play the GPU's, so it takes sides up to {SIMULATOR_SIDE}",
            "Choose smaller matrices, or another device.",
        )
    refusal = variant.unsupported(product, tile, device.limits)
    if refusal is not None:
        nearest = refusal.nearest_tile
        raise UnsupportedVariant(
            f"variant '{variant.key}' with a tile of {tile}",
            refusal.reason,
            refusal.remedy,
            None if nearest is None else Block(nearest, nearest),
        )


def expected_launch_s(variant: MatmulVariant, product: MatrixProduct, tile: int, device: DeviceInfo) -> float:
    """Estimate one launch before any was seen, seconds: the slowest CPU makes 1 G multiply-adds a second."""
    if device.key != "simulator":
        return 0.5 + product.multiply_adds / 1e9
    # Python threads that meet at a barrier take about 0.7 ms each time, two times a phase and two stores a phase.
    barriers = variant.work(product, tile).shared_stores if variant.work else 0
    return 0.5 + product.multiply_adds / 1e5 + barriers / 1e3


def counted(
    variant: MatmulVariant,
    product: MatrixProduct,
    tile: int,
    device: DeviceInfo | None,
    *,
    seed: int = 0,
    failure: str = "",
    refused: bool = False,
) -> ProductResult:
    """Return the result as far as it is known without running anything: the work, the limit, or why it cannot run.

    Parameters
    ----------
    variant : MatmulVariant
    product : MatrixProduct
    tile : int
        Ignored where the variant has none.
    device : DeviceInfo, optional
        None: there is none; `failure` says why.
    seed : int
    failure : str
    refused : bool
        Whether the failure is a refusal: nothing was tried.
    """
    return ProductResult(
        variant=variant.key,
        title=variant.title,
        device=device.key if device else "cuda:0",
        problem=product,
        block=Block(tile, tile) if variant.uses_tile else None,
        environment=Environment(device.title, bandwidth_gb_s=device.bandwidth_gb_s)
        if device
        else Environment(""),
        failure=failure,
        refused=refused,
        seed=seed,
        work=variant.work(product, tile) if variant.work else None,
    )


def multiply_once(variant: MatmulVariant, tile: int, a: Matrix, b: Matrix, backend: Backend) -> np.ndarray:
    """Multiply, unverified and untimed.

    Returns
    -------
    ndarray of shape (rows of A, columns of B), float32

    Raises
    ------
    EngineError
    """
    product = product_of(a, b)
    refuse_unsuitable(variant, product, tile, backend.info)
    backend.activate()
    prepared = variant.prepare(product, tile)
    buffers = backend.allocate_matrices(a, b)
    backend.upload_matrices(a, b, buffers)
    backend.run(prepared, buffers)
    return backend.download(buffers)


def measure(
    variant: MatmulVariant,
    tile: int,
    a: Matrix,
    b: Matrix,
    backend: Backend,
    plan: SamplingPlan,
    *,
    checkpoint: Checkpoint = lambda step: None,
    seed: int = 0,
) -> MatmulOutcome:
    """Multiply in one way: verify, warm up, sample.

    Parameters
    ----------
    variant : MatmulVariant
    tile : int
        Ignored where the variant has none.
    a, b : ndarray, float32, C-contiguous
    backend : Backend
    plan : SamplingPlan
    checkpoint : callable of Step
        Called before each step.
    seed : int
        Of the rectangles that are verified where the whole product is too much.

    Returns
    -------
    MatmulOutcome
        A failure is a result with its reason; nothing is raised for it.

    Raises
    ------
    BadValue
        The inner sizes differ.
    Cancelled
        By the checkpoint.
    DeviceFault
        The process is lost for CUDA; whoever owns it has to end it.
    """
    product = product_of(a, b)
    result = counted(variant, product, tile, backend.info, seed=seed)
    result = replace(result, environment=backend.environment())
    try:
        return _measured(variant, tile, a, b, backend, plan, checkpoint, result)
    except (Cancelled, DeviceFault):
        raise
    except EngineError as error:
        return MatmulOutcome(None, replace(result, failure=str(error), refused=error.is_refusal), error)


def _measured(
    variant: MatmulVariant,
    tile: int,
    a: Matrix,
    b: Matrix,
    backend: Backend,
    plan: SamplingPlan,
    checkpoint: Checkpoint,
    result: ProductResult,
) -> MatmulOutcome:
    product = result.problem
    refuse_unsuitable(variant, product, tile, backend.info)
    backend.activate()
    checkpoint(Step("compiling", 0.0, 2.0))
    prepared, compile_ms = timed(lambda: variant.prepare(product, tile))
    buffers, allocate_ms = timed(lambda: backend.allocate_matrices(a, b))
    backend.upload_matrices(a, b, buffers)
    backend.poison(buffers)
    checkpoint(Step("first launch", 0.1, expected_launch_s(variant, product, tile, backend.info)))
    _, launch_ms = timed(lambda: backend.run(prepared, buffers))
    values = backend.download(buffers)
    verification = verify(
        values,
        a,
        b,
        product,
        variant.roundings(product, tile),
        seed=result.seed,
        checkpoint=lambda fraction: checkpoint(
            Step("verifying against the float64 oracle", 0.2 + 0.4 * fraction, 4.0)
        ),
    )
    result = replace(result, verification=verification)
    if not verification.passed or not backend.info.times_mean_speed:
        return MatmulOutcome(values, result)
    timing = Sampler(backend, plan, checkpoint).timing(
        prepared,
        buffers,
        lambda: backend.upload_matrices(a, b, buffers),
        launch_ms / 1e3,
        # Pageable memory is copied at 1 GB/s or more.
        0.1 + product.elements * FLOAT_BYTES / 1e9,
    )
    # On the CPU the sampler overwrites C with the very same product.
    return MatmulOutcome(
        values, replace(result, timing=replace(timing, compile_ms=compile_ms, allocate_ms=allocate_ms))
    )
