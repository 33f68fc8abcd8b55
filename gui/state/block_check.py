"""Whether a block of threads is one at all: told at once, also where no kernel that has blocks can run.

What a kernel needs besides (shared memory for its tile) is the engine's to say.
"""

from engine.block import Block, Limits
from engine.host.protocol import Availability
from engine.machine import DeviceInfo


def refused_everywhere(block: Block, devices: tuple[DeviceInfo, ...]) -> Availability | None:
    """Return why no kernel can use a block, with the nearest one that can be used; None if it is a block."""
    limits = next((d.limits for d in devices if d.kind == "cuda" and d.times_mean_speed), Limits())
    if block.x < 1 or block.y < 1:
        reason = f"A block of {block} has no threads; each side must be at least 1."
    elif block.threads > limits.max_threads:
        reason = f"A block of {block} has {block.threads:,} threads; a block may have {limits.max_threads:,}."
    else:
        return None
    return Availability("", reason, _nearest(block, limits))


def _nearest(block: Block, limits: Limits) -> Block:
    """Return the block whose sides differ least in ratio from those asked for, as the engine does."""
    x, y = max(block.x, 1), max(block.y, 1)
    candidates = (
        Block(min(x, limits.max_threads // rows), rows) for rows in range(1, limits.max_threads + 1)
    )
    return min(candidates, key=lambda c: max(c.x / x, x / c.x) * max(c.y / y, y / c.y))
