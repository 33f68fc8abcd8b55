"""What the panel Launch says: a launch's numbers by name, and what limits the occupancy in a sentence."""

from collections.abc import Iterator
from typing import NamedTuple

from engine.explain.curves import CurvePoint, Curves
from engine.explain.launch import ExplainedLaunch
from engine.results.quantities import MISSING, count_text, percent_text, rate_text

_KIB = 1024
_LIMITS = {"threads": "the room for threads", "blocks": "the most blocks that fit"}


class Number(NamedTuple):
    """One number of a launch in words."""

    name: str
    text: str
    tip: str


def numbers_of(launch: ExplainedLaunch, *, is_compiling: bool) -> tuple[Number, ...]:
    """Return what is worth knowing of a launch, in the order of reading."""
    facts, found = launch.facts, launch.occupancy
    unknown = "compiling …" if is_compiling else "not known"
    across, down, deep = facts.grid
    sides = f"{across:,} × {down:,}" + (f" × {deep:,}" if deep > 1 else "")
    block = " × ".join(str(side) for side in facts.block if side > 1) or "1"
    return (
        Number("Blocks", count_text(facts.blocks), f"The grid: {sides} blocks."),
        Number(
            "Threads per block",
            f"{facts.threads:,}, {_several(found.block_warps, 'warp')}",
            f"{block} threads. A warp has 32, and a block takes whole warps.",
        ),
        Number(
            "Registers per thread",
            unknown if facts.registers is None else str(facts.registers),
            "That the compiled kernel takes for this architecture.",
        ),
        Number(
            "Shared memory",
            MISSING if facts.shared_bytes is None else f"{facts.shared_bytes:,} B",
            "That each block takes, bytes.",
        ),
        Number(
            "Local memory",
            unknown if facts.local_bytes is None else f"{facts.local_bytes:,} B",
            "Bytes of each thread that lie in global memory: registers that had no room, and its own arrays.",
        ),
        Number(
            "Resident blocks",
            str(found.blocks),
            "Blocks that a multiprocessor holds at once: "
            + ", ".join(f"{limit.what} allow {limit.blocks}" for limit in found.limits).replace(
                "shared memory allow ", "shared memory allows "
            )
            + ".",
        ),
        Number("Limited by", found.limited_by, "What allows no further block on a multiprocessor."),
        Number(
            "Occupancy",
            f"{'' if launch.is_compiled else 'at most '}{percent_text(found.share)}",
            f"{found.warps} of {found.most_warps} warps are resident. More of them hide more latency; "
            "a kernel need not be faster with more.",
        ),
        Number(
            "Waves",
            MISSING if facts.waves is None else rate_text(facts.waves),
            "How often all multiprocessors are filled until every block has run.",
        ),
        Number(
            "Last wave",
            MISSING if facts.last_wave is None else f"{percent_text(facts.last_wave)} full",
            "Multiprocessors stand idle while a last wave runs that is not full.",
        ),
        Number(
            "Halo redundancy",
            MISSING if facts.halo_redundancy is None else f"{rate_text(facts.halo_redundancy)} cells",
            "Cells of the input tile per result of the block: 1 would be without a halo.",
        ),
        Number(
            "Idle threads",
            MISSING if facts.idle_threads is None else percent_text(facts.idle_threads),
            "Threads of the grid that compute no result, such as those beyond the picture's edge.",
        ),
    )


def limit_sentence(launch: ExplainedLaunch, drawn: Curves) -> str:
    """Return what limits the occupancy of a launch, and what would change it."""
    found = launch.occupancy
    if found.refusal:
        return f"No block can be launched: {found.refusal}."
    at_most = "" if launch.is_compiled else "at most "
    if not found.blocks:
        said = f"Not one block fits on a multiprocessor, because of {_limiters(found.limited_by)}."
    elif found.share >= 1:
        full = f"all {found.most_warps} warps that a multiprocessor has room for are resident."
        return f"Occupancy is {at_most}{percent_text(1.0)}: {full}"
    else:
        said = (
            f"Occupancy is {at_most}{percent_text(found.share)}, limited by {_limiters(found.limited_by)}: "
            f"{_several(found.blocks, 'block')} of {_several(found.block_warps, 'warp')}, "
            f"{found.warps} of {found.most_warps} warps."
        )
    ways = list(_ways(launch, drawn))
    if not ways:
        return f"{said} No change of threads, registers or shared memory alone would raise it."
    return f"{said} It would be {', or '.join(ways)}."


def _ways(launch: ExplainedLaunch, drawn: Curves) -> Iterator[str]:
    """Yield the least changes that raise the occupancy, each with what it would be."""
    facts, share = launch.facts, launch.occupancy.share
    fewer = _nearest_better(drawn.registers, facts.registers or 0, share, only_below=True)
    if fewer is not None:
        yield f"{percent_text(fewer.share)} with {fewer.at} registers per thread"
    less = _nearest_better(drawn.shared_bytes, facts.shared_bytes or 0, share, only_below=True)
    if less is not None:
        yield f"{percent_text(less.share)} with {less.at // _KIB} KiB of shared memory"
    other = _nearest_better(drawn.threads, facts.threads, share)
    if other is not None:
        same = " and the same shared memory" if facts.shared_bytes else ""
        yield f"{percent_text(other.share)} with {other.at:,} threads per block{same}"


def _nearest_better(
    curve: tuple[CurvePoint, ...], now: int, share: float, *, only_below: bool = False
) -> CurvePoint | None:
    better = [point for point in curve if point.share > share and (point.at < now or not only_below)]
    return min(better, key=lambda point: abs(point.at - now), default=None)


def _limiters(limited_by: str) -> str:
    return " and ".join(_LIMITS.get(what, what) for what in limited_by.split(", "))


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
