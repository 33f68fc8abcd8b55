"""Products of matrices in the CUDA simulator for scripts and the command line: a child process multiplies once and ends."""

import io
from typing import BinaryIO

from engine.device.devices import backend, device_named
from engine.device_info import SIMULATOR
from engine.results.read import result_from_json
from engine.run.measure_product import MatmulOutcome, expected_launch_s, measure, refuse_unsuitable
from engine.run.plan import NO_SAMPLES
from engine.simulator.process import (
    STARTING_S,
    ask_child,
    error_as_json,
    error_from_json,
    pack,
    serve,
    unpack,
)
from engine.tasks.product.operands import Matrix, product_of
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.matmul.registry import matmul_variant

# A machine may be that many times as slow as the one that the estimate was made on.
PATIENCE = 10.0


def multiply_in_simulator(
    variant: MatmulVariant, tile: int, a: Matrix, b: Matrix, *, seed: int = 0
) -> MatmulOutcome:
    """Multiply with one CUDA variant in the simulator and verify it; nothing is timed.

    Parameters
    ----------
    variant : MatmulVariant
    tile : int
    a, b : ndarray, float32
    seed : int

    Raises
    ------
    UnsupportedVariant, BadValue
        The variant, the tile or the sizes are not for the simulator; known without starting it.
    HostLost
        The child ended without an answer.
    """
    product = product_of(a, b)
    device = device_named(SIMULATOR)
    refuse_unsuitable(variant, product, tile, device)
    request = pack({"variant": variant.key, "tile": tile, "seed": seed}, {"a": a, "b": b})
    timeout_s = STARTING_S + PATIENCE * expected_launch_s(variant, product, tile, device)
    header, arrays = unpack(io.BytesIO(ask_child(__name__, request, timeout_s)))
    result = result_from_json(header["result"])
    return MatmulOutcome(arrays.get("values"), result, error_from_json(header["error"]))


def _answer(request: BinaryIO) -> bytes:
    """Do one request. Called on: the main thread of the child."""
    header, arrays = unpack(request)
    outcome = measure(
        matmul_variant(header["variant"]),
        header["tile"],
        arrays["a"],
        arrays["b"],
        backend(SIMULATOR),
        NO_SAMPLES,
        seed=header["seed"],
    )
    return pack(
        {"result": outcome.result.as_json(), "error": error_as_json(outcome.error)},
        {} if outcome.values is None else {"values": outcome.values},
    )


def main() -> None:
    """Answer the one request on standard input, on standard output."""
    serve(_answer)


if __name__ == "__main__":
    main()
