"""Our fastest network beside torch's: same weights, same batch, every score verified first, samples in turn.

python -m bench.peers.network --device gpu [--batches 1,100,10000] [--stages KEYS] [--json FILE]
python -m bench.peers.network --device cpu [--threads N] [--peer-python PYTHON] ...

torch runs in a process of its own (`bench/peers/network_torch.py`): TF32 off, cuDNN's fastest algorithm; on a
GPU called as people do ("eager") and captured in a CUDA graph ("graph"), as ours is timed. On the CPU each
round's turns are one sample of ours and one of torch's; other programs disturb both.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bench.options import parser_of
from engine.device.core_count import cores
from engine.device.devices import backend, device_named
from engine.device.versions import commit
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.run.network import stage_job
from engine.tasks.network.agreement import verify
from engine.tasks.network.weights import WEIGHTS_FILE
from engine.variants.registry import NETWORK_VARIANTS, network_variant

TORCH = Path(__file__).with_name("network_torch.py")
ROUNDS = 30


class Torch:
    """The process with torch in it."""

    def __init__(self, python: str, device: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [python, str(TORCH)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        request = {"what": "open", "device": device, "threads": threads, "weights": str(WEIGHTS_FILE)}
        self.about = self.ask(**request)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            self.close()
            raise EngineError("torch", "its process ended", "See what it printed above.")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        self._process.wait()


def contenders(
    job: Any, key: str, torch: Torch | None, folder: Path, scores_of: dict[str, np.ndarray]
) -> dict[str, Callable[[], float]]:
    """Return a sampler for our stage and each way of torch, all warm; their scores go to `scores_of`."""
    machine = backend(key)
    machine.activate()
    prepared = job.task.prepare(job)
    buffers = job.task.allocate(machine, job)
    job.task.upload(machine, job.operands, buffers)
    machine.poison(buffers)
    machine.run(prepared, buffers)
    scores_of[job.variant.key] = machine.download(buffers).copy()
    clock = machine.clock(prepared, buffers)
    found: dict[str, Callable[[], float]] = {job.variant.key: clock.sample_ms}
    if torch is None:
        return found
    drawings, scores = folder / "drawings.npy", folder / "scores.npy"
    np.save(drawings, job.operands.maps)
    answer = torch.ask(what="batch", drawings=str(drawings), scores=str(scores))
    for way in answer["ways"]:
        name = f"torch {way}"
        scores_of[name] = np.load(scores)
        found[name] = lambda way=way: torch.ask(what="sample", way=way)["ms"]
    return found


def measure_batch(job: Any, key: str, torch: Torch | None, rounds: int) -> dict[str, Any]:
    """Verify everyone's scores, then sample them in turn."""
    with tempfile.TemporaryDirectory() as name:
        scores_of: dict[str, np.ndarray] = {}
        samplers = contenders(job, key, torch, Path(name), scores_of)
        results: dict[str, Any] = {}
        for who, scores in scores_of.items():
            operands = job.operands
            # Ours by its own bound; of torch's order of summation nothing is known.
            how = {"roundings": job.variant.roundings} if who == job.variant.key else {}
            found = verify(scores, operands.drawings, operands.weights, job.problem, **how)
            results[who] = {
                "verified": found.passed,
                "max_error": found.max_error,
                "proof": found.sentence("score"),
            }
        samples: dict[str, list[float]] = {who: [] for who in samplers}
        for _ in range(rounds):
            for who, sample in samplers.items():
                samples[who].append(sample())
    for who, times in samples.items():
        results[who] |= {"minimum_ms": min(times), "median_ms": statistics.median(times), "samples_ms": times}
    return results


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what came of the run, as plain data."""
    device = device_named("cpu" if arguments.device == "cpu" else "cuda")
    keys = arguments.stages.split(",") if arguments.stages else [NETWORK_VARIANTS.on(device.kind)[-1].key]
    torch: Torch | None = None
    about: dict[str, Any] = {"absent": "left out"}
    if not arguments.without_torch:
        try:
            torch = Torch(arguments.peer_python, arguments.device, arguments.threads)
            about = torch.about
        except (OSError, EngineError) as error:
            about = {"absent": str(error)}
    print(f"{device.title}; torch: {about}", flush=True)
    cells = []
    try:
        for batch in map(int, arguments.batches.split(",")):
            for key in keys:
                job = stage_job(network_variant(key), batch)
                results = measure_batch(job, device.key, torch, arguments.rounds)
                cells.append({"batch": batch, "stage": key, "results": results})
                print("\n".join(lines_of(cells[-1])), flush=True)
    finally:
        if torch is not None:
            torch.close()
    return {"device": device.title, "torch": about, "commit": commit(), "cells": cells}


def lines_of(cell: dict[str, Any]) -> list[str]:
    """Return a cell in words: each contender's time, and ours over its."""
    ours = cell["results"][cell["stage"]]
    lines = [f"batch {cell['batch']}"]
    for who, found in cell["results"].items():
        ratio = ours["median_ms"] / found["median_ms"]
        proof = "verified" if found["verified"] else found["proof"]
        times = f"median {found['median_ms']:.4f} ms, minimum {found['minimum_ms']:.4f} ms"
        lines.append(f"  {who:16} {times}, ours takes {ratio:.2f} times as long; {proof}")
    return lines


def main() -> int:
    """Measure, print, and keep."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("gpu", "cpu"), required=True)
    parser.add_argument("--batches", default="1,100,10000")
    parser.add_argument("--stages", default="", help="our stages; default: the fastest of the device")
    parser.add_argument("--threads", type=int, default=cores(), help="of torch on the CPU")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="samples of each, in turn")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has torch")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    try:
        run = measured(arguments)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 3
    if arguments.json:
        atomic_write(arguments.json, (json.dumps(run, indent=1, allow_nan=False) + "\n").encode())
    wrong = [who for cell in run["cells"] for who, found in cell["results"].items() if not found["verified"]]
    return 4 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
