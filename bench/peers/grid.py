"""The cells that are measured: a main table and one axis at a time around it.

Small cells come first, so that a slow library's larger ones can be foreseen.
"""

from dataclasses import dataclass, replace

from bench.peers.cells import Cell

MASKS = (3, 5, 7, 9, 11, 13, 15, 17, 21, 25, 31)
SIDES = (256, 512, 1024, 2048, 4096, 8192, 16384)
SOME = (3, 5, 9, 15)
TO_15 = (3, 5, 7, 9, 11, 13, 15)
GAUSSIANS = (3, 5, 7, 9, 11, 15, 21, 31)


@dataclass(frozen=True)
class Table:
    """Cells that differ in one thing."""

    name: str  # "main" is drawn too, and so is "gaussian"
    title: str
    axis: str  # What differs: a field of `Cell`
    cells: tuple[Cell, ...]


def _along(name: str, title: str, axis: str, start: Cell, values: tuple[object, ...]) -> Table:
    cells = []
    for value in values:
        fields = {"height": value, "width": value} if axis == "height" else {axis: value}
        cells.append(replace(start, **fields))  # type: ignore[arg-type]
    return Table(name, title, axis, tuple(cells))


def _tables(
    base: Cell, masks: tuple[int, ...], bytes_masks: tuple[int, ...], *, quick: bool, suffix: str = ""
) -> list[Table]:
    """Return the tables of every device: around pictures of one size, float32 with one channel, or 8-bit."""
    shape, gaussian = f"{base.width} × {base.height}", replace(base, kind="gaussian")
    rank_1 = f"Gaussian masks (rank 1): {shape} float32, one channel"
    gaussians, bytes_masks = ((5, 15), (5,)) if quick else (GAUSSIANS, bytes_masks)
    return [
        _along(f"main{suffix}", f"Mask size: {shape} float32, one channel", "mask_side", base, masks),
        _along(f"gaussian{suffix}", rank_1, "mask_side", gaussian, gaussians),
        *(
            _along(words.lower() + suffix, f"8-bit {words}, {shape}", "mask_side", cell, bytes_masks)
            for words, cell in _bytes_cells(base)
        ),
    ]


def _bytes_cells(base: Cell) -> tuple[tuple[str, Cell], ...]:
    return tuple(
        (words, replace(base, dtype="uint8", kind="integer", channels=channels))
        for words, channels in (("grey", 1), ("RGB", 3))
    )


def _channels_and_batches(side: int) -> list[Table]:
    base = Cell(side, side, 5)
    small = replace(base, height=1024, width=1024)
    return [
        _along("channels", f"Channels: {side} × {side} float32, 5 × 5", "channels", base, (1, 2, 3, 4)),
        _along("batch", "Batch: 1024 × 1024 float32, 5 × 5, one channel", "batch", small, (1, 4, 16, 64)),
    ]


def gpu_tables(*, quick: bool) -> tuple[Table, ...]:
    """Return the tables of a GPU: around 4096 × 4096 and a photograph's 4000 × 3000, float32, one channel."""
    masks = SOME if quick else MASKS
    tables = _tables(Cell(4096, 4096, 5), masks, SOME, quick=quick)
    if not quick:
        tables += _tables(Cell(3000, 4000, 5), masks, SOME, quick=quick, suffix="-photograph")
    for cache in ("warm", "cold"):
        title = f"Picture size, 5 × 5 float32, one channel, {cache} L2"
        start = Cell(4096, 4096, 5, cache=cache)
        tables.append(_along(f"size-{cache}", title, "height", start, (1024,) if quick else SIDES))
    return tuple(tables if quick else [*tables, *_channels_and_batches(4096)])


def cpu_tables(*, quick: bool) -> tuple[Table, ...]:
    """Return the tables of a CPU: around 2048 × 2048, float32, one channel."""
    base = Cell(2048, 2048, 5)
    tables = _tables(base, SOME if quick else MASKS, TO_15, quick=quick)
    if quick:
        return tuple(tables)
    for words, cell in _bytes_cells(base):
        name, title = f"gaussian-{words.lower()}", f"Gaussian masks (rank 1): 8-bit {words}, 2048 × 2048"
        tables.append(_along(name, title, "mask_side", replace(cell, kind="gaussian"), (3, 5, 7, 9, 15, 31)))
    photograph = replace(base, height=2000, width=3000)
    title = "Mask size: 3000 × 2000 float32, one channel"
    tables.append(_along("photograph", title, "mask_side", photograph, TO_15))
    tables.append(_along("size-warm", "Picture size, 5 × 5 float32, one channel", "height", base, SIDES))
    return (*tables, *_channels_and_batches(2048))


def tables_of(device: str, *, quick: bool) -> tuple[Table, ...]:
    """Return the tables of "gpu" or "cpu"."""
    return gpu_tables(quick=quick) if device == "gpu" else cpu_tables(quick=quick)


def check_cells(device: str) -> tuple[Cell, ...]:
    """Return the few cells of `bench.check`: part of both grids, quick and full."""
    tables = {table.name: table.cells for table in tables_of(device, quick=True)}
    return (*tables["main"], tables["gaussian"][-1], tables["grey"][0], tables["rgb"][0])
