"""What the kernels share: the grid of T x T blocks over P, and the one pass with its arguments."""

from collections.abc import Callable
from typing import Any

from engine.device.launches import DeviceKind, Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, Limits, Refusal, SharedBytes
from engine.tasks.product.problem import MatmulVariant, MatrixProduct, refuse_tile
from engine.variants.matmul.operands import Matrix
from engine.variants.passes import Types, made_pass, prepare_passes


def cuda_variant(
    kernel_of: Callable[[Block], Kernel], shared_bytes: SharedBytes = lambda block: 0, **traits: Any
) -> MatmulVariant:
    """Return the variant of a kernel that takes M, N and P, a thread per element of P.

    `shared_bytes` gives the static shared memory of a block.
    """

    def plan(product: MatrixProduct, block: Block) -> tuple[Launch, ...]:
        return (Launch.of_threads(product.rows, product.columns, 1, block, shared_bytes(block)),)

    def passes(product: MatrixProduct, constant: None, block: Block) -> tuple[Pass, ...]:
        arguments = (Matrix.LEFT, Matrix.RIGHT, Operand.OUT)
        types: Types = dict.fromkeys(arguments, ("float32", 2))
        (launch,) = plan(product, block)
        return (made_pass(kernel_of(block), launch, arguments, types),)

    def refuse(product: MatrixProduct, constant: None, block: Block, limits: Limits) -> Refusal | None:
        return refuse_tile(product, block, limits, shared_bytes)

    return MatmulVariant(
        device=DeviceKind.CUDA,
        prepare=prepare_passes(passes),
        plan=plan,
        unsupported=refuse,
        passes=passes,
        **traits,
    )
