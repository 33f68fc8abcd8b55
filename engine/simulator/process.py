"""A child process of the CUDA simulator that answers one request and ends.

Numba decides for a whole process whether it simulates, so the caller's process cannot. The child is a plain
`python -m MODULE` and not `multiprocessing`, which would demand a `__main__` guard of every script that uses it. Both
directions are one NumPy archive (no pickle): the arrays, and the rest as JSON.
"""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine import errors
from engine.errors import EngineError, HostLost
from engine.geometry.block import Block
from engine.results.strict_json import strict

STARTING_S = 120.0

Arrays = dict[str, np.ndarray]


def ask_child(module: str, request: bytes, timeout_s: float) -> bytes:
    """Return what a module's `main` answers to a request in a process that simulates.

    Parameters
    ----------
    module : str
        Its `main` calls `serve`.
    request : bytes
        As `pack` makes it.
    timeout_s : float
        When to give up, seconds.

    Raises
    ------
    HostLost
        The child ended without an answer, or cannot be started.
    """
    # -P: a folder named "engine" where the caller happens to stand must not be taken for ours.
    command = [sys.executable, "-P", "-m", module]
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    what, remedy = "The CUDA simulator", "Try again, or choose another device."
    try:
        child = subprocess.run(
            command, input=request, capture_output=True, env=environment, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise HostLost(
            what, f"it gave no answer in {timeout_s:.0f} s", "Choose a smaller problem."
        ) from error
    except (OSError, ValueError) as error:
        raise HostLost(what, f"its process cannot be started ({error})", remedy) from error
    if child.returncode != 0:
        last_words = child.stderr.decode(errors="replace").strip().splitlines()[-1:]
        reason = "; ".join([f"its process ended with status {child.returncode}", *last_words])
        raise HostLost(what, reason, remedy)
    return child.stdout


def serve(answer: Callable[[BinaryIO], bytes]) -> None:
    """Answer the one request on standard input, on standard output. Called on: the main thread of the child."""
    # Ctrl+C reaches the whole group; the caller ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer_to = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not stand in the answer.
    os.dup2(2, 1)
    with answer_to:
        answer_to.write(answer(io.BytesIO(sys.stdin.buffer.read())))


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return a header and arrays as one archive."""
    buffer = io.BytesIO()
    text = json.dumps(strict(header), allow_nan=False).encode()
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(text, np.uint8), **arrays)
    return buffer.getvalue()


def unpack(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of an archive."""
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header: dict[str, Any] = json.loads(arrays.pop("header").tobytes())
    return header, arrays


def error_as_json(error: EngineError | None) -> dict[str, Any] | None:
    """Return an error as plain data."""
    if error is None:
        return None
    block = getattr(error, "nearest_block", None)
    return {
        "class": type(error).__name__,
        "sentences": [error.what, error.why, error.remedy],
        "nearest_block": [block.x, block.y] if block else None,
    }


def error_from_json(data: dict[str, Any] | None) -> EngineError | None:
    """Return an error of the class that it had in the child."""
    if data is None:
        return None
    kind = getattr(errors, data["class"])
    extra = [Block(*data["nearest_block"])] if data["nearest_block"] else []
    error: EngineError = kind(*data["sentences"], *extra)
    return error
