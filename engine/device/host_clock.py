"""A clock for launches by the host's own: on the CPU, and in the simulator."""

import time
from dataclasses import dataclass

from engine.device.backend import Buffers
from engine.device.launches import Prepared

# Below this the host's clock (about 0.1 us a reading) would show in the result: several launches make one
# sample.
SHORTEST_SAMPLE_S = 200e-6


@dataclass
class HostClock:
    """Times launches with the host's monotonic clock; times of the simulator are never shown as speed."""

    prepared: Prepared
    buffers: Buffers
    launches: int = 1
    name: str = "host clock"

    def calibrate(self) -> None:
        """Choose how many launches make one sample."""
        once_s = self.sample_ms() / 1e3
        self.launches = max(1, round(SHORTEST_SAMPLE_S / max(once_s, 1e-7)))

    def sample_ms(self) -> float:
        """Return the time of one launch, ms."""
        begin = time.perf_counter()
        for _ in range(self.launches):
            self.prepared.launch(self.buffers.image, self.buffers.out)
        return (time.perf_counter() - begin) * 1e3 / self.launches
