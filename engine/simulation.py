"""The CUDA simulator for scripts and the command line: a child process that runs one request and ends.

Numba decides for a whole process whether it simulates, so the caller's process cannot. The child is a plain
`python -m engine.simulation` and not `multiprocessing`, which would demand a `__main__` guard of every script that
uses it. Both directions are one NumPy archive (no pickle): the arrays, and the rest as JSON.
"""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine import errors
from engine.block import Block
from engine.border import Border
from engine.device.devices import backend, device_named
from engine.errors import EngineError, HostLost
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.results_json import result_from_json
from engine.timing.plan import NO_SAMPLES
from engine.timing.runner import Outcome, measure, refuse_unsuitable
from engine.variants.planner import Choice
from engine.variants.registry import variant

SIMULATOR = "simulator"

# The slowest kernels with barriers make 5e4 multiply-adds a second here; a machine may be five times as slow.
STARTING_S = 120.0
MULTIPLY_ADDS_PER_SECOND = 1e4

Arrays = dict[str, np.ndarray]


def measure_in_simulator(
    choice: Choice, problem: Problem, mask: Mask, samples: np.ndarray, *, seed: int = 0
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

    Returns
    -------
    Outcome
        As from `engine.timing.runner.measure`.

    Raises
    ------
    UnsupportedVariant, BadValue
        The variant, the block or the picture's size is not for the simulator; known without starting it.
    HostLost
        The child ended without an answer.
    """
    refuse_unsuitable(choice.variant, problem, mask, choice.block, device_named(SIMULATOR))
    request = _pack(
        {
            "variant": choice.variant.key,
            "chosen_because": choice.reason,
            "block": [choice.block.x, choice.block.y],
            "border": str(problem.border),
            "cval": problem.cval,
            "anchor": list(mask.anchor),
            "offset": mask.offset,
            "mask_name": mask.name,
            "seed": seed,
        },
        {"samples": samples, "weights": mask.weights},
    )
    timeout_s = STARTING_S + problem.multiply_adds / MULTIPLY_ADDS_PER_SECOND
    header, arrays = _unpack(io.BytesIO(_ask_child(request, timeout_s)))
    return Outcome(arrays.get("values"), result_from_json(header["result"]), _error(header["error"]))


def _ask_child(request: bytes, timeout_s: float) -> bytes:
    # -P: a folder named "engine" where the caller happens to stand must not be taken for ours.
    command = [sys.executable, "-P", "-m", "engine.simulation"]
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    what, remedy = "The CUDA simulator", "Try again, or choose another device."
    try:
        child = subprocess.run(
            command, input=request, capture_output=True, env=environment, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise HostLost(
            what, f"it gave no answer in {timeout_s:.0f} s", "Choose a smaller picture."
        ) from error
    except (OSError, ValueError) as error:
        raise HostLost(what, f"its process cannot be started ({error})", remedy) from error
    if child.returncode != 0:
        last_words = child.stderr.decode(errors="replace").strip().splitlines()[-1:]
        reason = "; ".join([f"its process ended with status {child.returncode}", *last_words])
        raise HostLost(what, reason, remedy)
    return child.stdout


def _pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    text = json.dumps(header, allow_nan=False).encode()
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(text, np.uint8), **arrays)
    return buffer.getvalue()


def _unpack(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header: dict[str, Any] = json.loads(arrays.pop("header").tobytes())
    return header, arrays


def _error_as_json(error: EngineError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    block = getattr(error, "nearest_block", None)
    return {
        "class": type(error).__name__,
        "sentences": [error.what, error.why, error.remedy],
        "nearest_block": [block.x, block.y] if block else None,
    }


def _error(data: dict[str, Any] | None) -> EngineError | None:
    """Return an error of the class that it had in the child."""
    if data is None:
        return None
    kind = getattr(errors, data["class"])
    extra = [Block(*data["nearest_block"])] if data["nearest_block"] else []
    error: EngineError = kind(*data["sentences"], *extra)
    return error


def _answer(request: BinaryIO) -> bytes:
    """Do one request. Called on: the main thread of the child."""
    header, arrays = _unpack(request)
    samples = arrays["samples"]
    mask = Mask(arrays["weights"], tuple(header["anchor"]), header["offset"], header["mask_name"])
    height, width, channels = samples.shape
    problem = Problem(
        height,
        width,
        channels,
        samples.dtype.name,
        mask.shape,
        mask.anchor,
        Border(header["border"]),
        header["cval"],
    )
    choice = Choice(variant(header["variant"]), Block(*header["block"]), header["chosen_because"])
    outcome = measure(choice, problem, mask, samples, backend(SIMULATOR), NO_SAMPLES, seed=header["seed"])
    return _pack(
        {"result": outcome.result.as_json(), "error": _error_as_json(outcome.error)},
        {} if outcome.values is None else {"values": outcome.values},
    )


def main() -> None:
    """Answer the one request on standard input, on standard output."""
    # Ctrl+C reaches the whole group; the caller ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer_to = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not stand in the answer.
    os.dup2(2, 1)
    with answer_to:
        answer_to.write(_answer(io.BytesIO(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
