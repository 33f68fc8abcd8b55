"""Filtering in the CUDA simulator for scripts and the command line: a child process runs one request and ends."""

import io
from typing import BinaryIO

import numpy as np

from engine.device.devices import backend, device_named
from engine.device_info import SIMULATOR
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.results.read import result_from_json
from engine.run.bank import measure_bank
from engine.run.measure import Outcome, expected_launch_s, measure, refuse_unsuitable
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
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import Choice
from engine.variants.ladder.implicit_gemm import for_bank
from engine.variants.registry import variant

# A machine may be that many times as slow as the one that the estimate was made on.
PATIENCE = 10.0


def measure_in_simulator(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    *,
    seed: int = 0,
    layout: Layout = Layout.PITCHED,
) -> Outcome:
    """Run one CUDA variant in the simulator and verify it; nothing is timed.

    Parameters
    ----------
    choice : Choice
        Variant and block.
    problem : Problem
    mask : Mask
    samples : ndarray of shape (H, W, C), of the problem's dtype
    seed : int
        Of the rectangles that are verified where the whole picture is too much.
    layout : Layout
        Of the rows on the simulated device.

    Returns
    -------
    Outcome
        As from `engine.run.measure.measure`.

    Raises
    ------
    UnsupportedVariant, BadValue
        The variant, the block or the picture's size is not for the simulator; known without starting it.
    HostLost
        The child ended without an answer.
    """
    return _measure(choice, problem, Bank((mask,)), samples, seed, layout, is_bank=False)


def measure_bank_in_simulator(
    choice: Choice,
    problem: Problem,
    bank: Bank,
    samples: np.ndarray,
    *,
    seed: int = 0,
    layout: Layout = Layout.PITCHED,
) -> Outcome:
    """Apply all masks of a bank in the simulator and verify every result; nothing is timed.

    Parameters
    ----------
    choice : Choice
        `for_bank` of the bank, and its block.
    problem, samples, seed, layout
        As for `measure_in_simulator`.
    bank : Bank

    Returns
    -------
    Outcome
        As from `engine.run.bank.measure_bank`.

    Raises
    ------
    UnsupportedVariant, BadValue, HostLost
        As `measure_in_simulator`.
    """
    return _measure(choice, problem, bank, samples, seed, layout, is_bank=True)


def _measure(
    choice: Choice,
    problem: Problem,
    bank: Bank,
    samples: np.ndarray,
    seed: int,
    layout: Layout,
    *,
    is_bank: bool,
) -> Outcome:
    """Ask the child; one mask travels as a bank of one."""
    device = device_named(SIMULATOR)
    refuse_unsuitable(choice.variant, problem, bank.masks[0], choice.block, device)
    request = pack(
        {
            "variant": choice.variant.key,
            "chosen_because": choice.reason,
            "block": [choice.block.x, choice.block.y],
            "border": str(problem.border),
            "cval": problem.cval,
            "result_dtype": problem.result_dtype,
            "is_bank": is_bank,
            "anchor": list(bank.anchor),
            "offsets": [mask.offset for mask in bank.masks],
            "mask_names": [mask.name for mask in bank.masks],
            "seed": seed,
            "layout": str(layout),
        },
        {"samples": samples, "weights": np.stack([mask.weights for mask in bank.masks])},
    )
    timeout_s = STARTING_S + PATIENCE * len(bank) * expected_launch_s(choice, problem, device)
    header, arrays = unpack(io.BytesIO(ask_child(__name__, request, timeout_s)))
    return Outcome(arrays.get("values"), result_from_json(header["result"]), error_from_json(header["error"]))


def _answer(request: BinaryIO) -> bytes:
    """Do one request. Called on: the main thread of the child."""
    header, arrays = unpack(request)
    samples = arrays["samples"]
    cells = zip(arrays["weights"], header["offsets"], header["mask_names"], strict=True)
    anchor = tuple(header["anchor"])
    bank = Bank(tuple(Mask(weights, anchor, offset, name) for weights, offset, name in cells))
    height, width, channels = samples.shape
    problem = Problem(
        height,
        width,
        channels,
        samples.dtype.name,
        bank.shape,
        bank.anchor,
        Border(header["border"]),
        header["cval"],
        header["result_dtype"],
    )
    asked = for_bank(bank) if header["is_bank"] else variant(header["variant"])
    choice = Choice(asked, Block(*header["block"]), header["chosen_because"])
    machine, seed, layout = backend(SIMULATOR), header["seed"], Layout(header["layout"])
    if header["is_bank"]:
        outcome = measure_bank(choice, problem, bank, samples, machine, NO_SAMPLES, seed=seed, layout=layout)
    else:
        outcome = measure(
            choice, problem, bank.masks[0], samples, machine, NO_SAMPLES, seed=seed, layout=layout
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
