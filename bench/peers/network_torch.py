"""The network in torch, a process that `bench.peers.network` starts; it needs NumPy and torch alone.

Reads a line of JSON for each request, answers with one. On a GPU TF32 is off and cuDNN chooses its fastest
algorithm by trying (`cudnn.benchmark`); "eager" is how people call it, "graph" is the same calls captured in
a CUDA graph and replayed, so that the host's part of a call is not in its time.
"""

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from torch.nn import functional

# A sample lasts at least this long: several runs, where one is shorter.
SAMPLE_MS = 5.0


class Network:
    """The report's network on one device."""

    def __init__(self, device: str, threads: int, weights: dict[str, np.ndarray]) -> None:
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.set_num_threads(threads)
        self.device = torch.device("cuda" if device == "gpu" else "cpu")
        first, second, hidden, output = (
            torch.from_numpy(weights[name]).to(self.device)
            for name in ("convolution_1", "convolution_2", "hidden", "output")
        )
        self._weights = first, second, hidden.T.contiguous(), output.T.contiguous()

    def forward(self, drawings: torch.Tensor) -> torch.Tensor:
        """Return the scores of drawings (batch, 1, 28, 28)."""
        first, second, hidden, output = self._weights
        maps = functional.avg_pool2d(functional.relu_(functional.conv2d(drawings, first)), 2)
        maps = functional.avg_pool2d(functional.relu_(functional.conv2d(maps, second)), 2)
        values = functional.relu_(functional.linear(maps.flatten(1), hidden))
        return functional.linear(values, output)


class Timed:
    """One batch, made ready to be timed."""

    def __init__(self, network: Network, drawings: np.ndarray) -> None:
        self._network = network
        self._drawings = torch.from_numpy(drawings).to(network.device)
        self._on_gpu = network.device.type == "cuda"
        for _ in range(5):
            self.scores = network.forward(self._drawings)
        self._graph: Any = None
        self._runs = {"eager": 1, "graph": 1}
        if self._on_gpu:
            torch.cuda.synchronize()
        for way in self.ways:
            once_ms = min(self.sample(way) for _ in range(3))
            self._runs[way] = max(1, min(256, round(SAMPLE_MS / max(once_ms, 1e-4))))
        if self._on_gpu:
            self._graph = self._captured(self._runs["graph"])

    @property
    def ways(self) -> tuple[str, ...]:
        return ("eager", "graph") if self._on_gpu else ("eager",)

    def _captured(self, runs: int) -> Any:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(runs):
                self._network.forward(self._drawings)
        return graph

    def sample(self, way: str) -> float:
        """Return the time of one forward pass, ms."""
        runs = self._runs[way]
        if not self._on_gpu:
            begin = time.perf_counter()
            for _ in range(runs):
                self._network.forward(self._drawings)
            return (time.perf_counter() - begin) * 1e3 / runs
        if way == "graph" and self._graph is None:
            self._graph = self._captured(runs)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        if way == "graph":
            self._graph.replay()
        else:
            for _ in range(runs):
                self._network.forward(self._drawings)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / runs


def main() -> None:
    """Answer requests until the input ends."""
    network, timed = None, None
    for line in sys.stdin:
        request = json.loads(line)
        with torch.inference_mode():
            if request["what"] == "open":
                with np.load(request["weights"]) as stored:
                    weights = {name: stored[name].astype(np.float32) for name in stored.files}
                network = Network(request["device"], request["threads"], weights)
                answer = {"torch": torch.__version__, "threads": torch.get_num_threads()}
                if request["device"] == "gpu":
                    answer |= {
                        "device": torch.cuda.get_device_name(),
                        "cudnn": torch.backends.cudnn.version(),
                    }
            elif request["what"] == "batch":
                assert network is not None
                timed = Timed(network, np.load(request["drawings"]))
                np.save(request["scores"], timed.scores.cpu().numpy())
                answer = {"ways": timed.ways}
            else:
                assert timed is not None
                answer = {"ms": timed.sample(request["way"])}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
