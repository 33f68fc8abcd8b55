"""What limits filtering on 1, 10, 100 and 1,000 workers, simulated from what is measured here.

    python -m bench.scale --measure       measures this machine and writes bench/results/scale.json
    python -m bench.scale --cpu-hour 0.04 --gpu-hour 3       the cost of a terapixel at other prices

Measuring takes some minutes, and wants the machine for itself: of each point the shortest time counts. It
needs the extra `cluster`. `python -m bench.document` writes docs/scale.md from the file.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np

import engine
from bench.options import parser_of
from bench.scale.model import Cluster, Task, simulated
from bench.scale.points import RAW_BYTES, measured_points
from bench.scale.projection import gpu_call_ns, projected
from bench.scale.rates import measured_rates
from bench.scale.tables import cost_lines, error_lines
from engine.commands.output import print_answer
from engine.device.device_list import cpu_info

RESULTS = Path("bench/results")
CPU_HOUR, GPU_HOUR = 0.04, 3.0


def predicted_s(point: dict[str, Any], rates: dict[str, Any], costs: dict[str, float]) -> float:
    """Return the simulated time of a measured point."""
    core, worker_s = rates["core"], costs["worker_s"]
    cluster = Cluster(costs["scheduler_s"], rates["disk"]["read"])
    task = Task(0, worker_s, 0)
    if point["what"] == "disk":
        task = Task(point["bytes"], worker_s, 0)
    elif point["what"] == "chunk":
        ns = core["decode"]["zarr"] + core["kernel"][str(point["mask"])] + core["encode"]["zarr"]
        task = Task(0, worker_s + core["chunk_s"] + 1e-9 * ns * point["side"] ** 2, 0)
    return simulated(point["tasks"], point["workers"], task, cluster).elapsed_s


def graph_tasks_per_chunk() -> float:
    """Return how many tasks `engine.filter_dask` makes of each of 16 x 16 chunks."""
    array = dask.array.zeros((16 * 64, 16 * 64), chunks=(64, 64), dtype=np.float32)
    (optimised,) = dask.optimize(engine.filter_dask(array, np.ones((5, 5)), device="cpu"))
    return len(dict(optimised.__dask_graph__())) / 256


def main() -> None:
    """Measure if asked to, simulate, keep, print."""
    options = parser_of(__doc__)
    options.add_argument("--measure", action="store_true", help="measure anew")
    options.add_argument("--cpu-hour", type=float, default=CPU_HOUR, help="price of a core and hour")
    options.add_argument("--gpu-hour", type=float, default=GPU_HOUR, help="price of a GPU and hour")
    asked = options.parse_args()
    path = RESULTS / "scale.json"
    if asked.measure:
        lines = ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in measured().items())
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    kept = json.loads(path.read_text(encoding="utf-8"))
    shown = [*error_lines(kept), "", *cost_lines(kept, asked.cpu_hour, asked.gpu_hour)]
    print_answer("\n".join(shown))


def measured() -> dict[str, Any]:
    """Return all rates and points of this machine, with what the simulation says of them and of others."""
    begin_load = os.getloadavg()[0]
    rates = measured_rates()
    with tempfile.TemporaryDirectory(dir=".") as home:
        costs, points = measured_points(Path(home))
    for point in points:
        if point["what"] == "disk":
            point["bytes"] = RAW_BYTES
        point["simulated_s"] = predicted_s(point, rates, costs)
    facts = cpu_info().facts
    found = {
        "machine": f"{facts['model']}, {facts['cores']} cores",
        "load": [round(begin_load, 1), round(os.getloadavg()[0], 1)],
        "rates": rates,
        "task": costs,
        "tasks_per_chunk": graph_tasks_per_chunk(),
        "gpu_call_ns": gpu_call_ns(),
        "points": points,
    }
    return found | {"projected": projected(found)}


if __name__ == "__main__":
    main()
