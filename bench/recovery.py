"""How soon a killed engine is noticed and how soon its successor works, with a warm cache of compiled code.

python -m bench.recovery [--repeats 5]
"""

import os
import signal
import statistics
import threading
import time

from bench.options import parser_of
from engine.errors import HostLost
from engine.host.client import EngineClient
from engine.host.protocol import FilterJob, OpenPicture, Preview, Run
from engine.mask.presets import preset


def kill_once() -> tuple[float, float]:
    """Kill the engine in the middle of a run; return ms until it is noticed, and replaced."""
    client = EngineClient()
    client.start()
    picture = client.submit(OpenPicture(sample="astronaut")).result(120)
    mask = preset("emboss")
    client.submit(Preview(FilterJob(picture=picture, mask=mask))).result(120)
    sampling = threading.Event()
    future = client.submit(
        Run(FilterJob(picture=picture, mask=mask, variant="cpu-serial"), budget_s=60.0),
        lambda progress: sampling.set() if progress.stage.startswith("sampling") else None,
    )
    sampling.wait(60)
    begin = time.perf_counter()
    os.kill(client.host_pid or 0, signal.SIGKILL)
    error = future.exception(60)
    noticed_ms = (time.perf_counter() - begin) * 1e3
    assert isinstance(error, HostLost), error
    client.submit(Preview(FilterJob(picture=picture, mask=mask))).result(60)
    replaced_ms = (time.perf_counter() - begin) * 1e3
    client.shutdown()
    return noticed_ms, replaced_ms


def main() -> None:
    """Kill it as often as asked and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    noticed_ms, replaced_ms = [], []
    for _ in range(repeats):
        noticed, replaced = kill_once()
        noticed_ms.append(noticed)
        replaced_ms.append(replaced)
    for name, values in (("noticed", noticed_ms), ("successor's first preview", replaced_ms)):
        print(f"{name:26} median {statistics.median(values):6.0f} ms, longest {max(values):6.0f} ms")


if __name__ == "__main__":
    main()
