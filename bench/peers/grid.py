"""The cells that are measured: a main table and one axis at a time around it.

Small cells come first, so that a slow library's larger ones can be foreseen.
"""

from dataclasses import dataclass, replace

from bench.peers.cells import Cell

MASKS = (3, 5, 7, 9, 11, 13, 15, 17, 21, 25, 31)
SIDES = (256, 512, 1024, 2048, 4096, 8192, 16384)
SOME = (3, 5, 9, 15)


@dataclass(frozen=True)
class Table:
    """Cells that differ in one thing.

    Parameters
    ----------
    name : str
        "main" is drawn too, and so is "gaussian".
    title : str
    axis : str
        What differs: a field of `Cell`.
    cells : tuple of Cell
    """

    name: str
    title: str
    axis: str
    cells: tuple[Cell, ...]


def _along(name: str, title: str, axis: str, start: Cell, values: tuple[object, ...]) -> Table:
    cells = []
    for value in values:
        fields = {"height": value, "width": value} if axis == "height" else {axis: value}
        cells.append(replace(start, **fields))  # type: ignore[arg-type]
    return Table(name, title, axis, tuple(cells))


def gpu_tables(*, quick: bool) -> tuple[Table, ...]:
    """Return the tables of a GPU: around 4096 x 4096, float32, one channel."""
    base = Cell(4096, 4096, 5)
    grey, rgb = (replace(base, dtype="uint8", kind="integer", channels=c) for c in (1, 3))
    shape = "4096 x 4096"
    masks = SOME if quick else MASKS
    tables = [
        _along("main", f"Mask size: {shape} float32, one channel", "mask_side", base, masks),
        _along(
            "gaussian",
            f"Gaussian masks (rank 1): {shape} float32, one channel",
            "mask_side",
            replace(base, kind="gaussian"),
            (5, 15) if quick else (3, 5, 7, 9, 11, 15, 21, 31),
        ),
        _along("grey", f"8-bit grey, {shape}", "mask_side", grey, (5,) if quick else SOME),
        _along("rgb", f"8-bit RGB, {shape}", "mask_side", rgb, (5,) if quick else SOME),
    ]
    small = (1024,) if quick else SIDES
    for cache in ("warm", "cold"):
        title = f"Picture size, 5 x 5 float32, one channel, {cache} L2"
        tables.append(_along(f"size-{cache}", title, "height", replace(base, cache=cache), small))
    if not quick:
        tables += [
            _along("channels", f"Channels: {shape} float32, 5 x 5", "channels", base, (1, 2, 3, 4)),
            _along(
                "batch",
                "Batch: 1024 x 1024 float32, 5 x 5, one channel",
                "batch",
                replace(base, height=1024, width=1024),
                (1, 4, 16, 64),
            ),
        ]
    return tuple(tables)


def cpu_tables(*, quick: bool) -> tuple[Table, ...]:
    """Return the tables of a CPU: around 2048 x 2048, float32, one channel."""
    base = Cell(2048, 2048, 5)
    grey, rgb = (replace(base, dtype="uint8", kind="integer", channels=c) for c in (1, 3))
    shape = "2048 x 2048"
    to_15 = SOME if quick else (3, 5, 7, 9, 11, 13, 15)
    tables = [
        _along(
            "main",
            f"Mask size: {shape} float32, one channel",
            "mask_side",
            base,
            SOME if quick else MASKS,
        ),
        _along(
            "gaussian",
            f"Gaussian masks (rank 1): {shape} float32, one channel",
            "mask_side",
            replace(base, kind="gaussian"),
            (5, 15) if quick else (3, 5, 7, 9, 11, 15, 21, 31),
        ),
        _along("grey", f"8-bit grey, {shape}", "mask_side", grey, (5,) if quick else to_15),
        _along("rgb", f"8-bit RGB, {shape}", "mask_side", rgb, (5,) if quick else to_15),
    ]
    if not quick:
        gaussian_sides = (3, 5, 7, 9, 15, 31)
        tables += [
            _along(
                f"gaussian-{name}",
                f"Gaussian masks (rank 1): 8-bit {words}, {shape}",
                "mask_side",
                replace(bytes_, kind="gaussian"),
                gaussian_sides,
            )
            for name, words, bytes_ in (("grey", "grey", grey), ("rgb", "RGB", rgb))
        ]
        tables += [
            _along("size-warm", "Picture size, 5 x 5 float32, one channel", "height", base, SIDES),
            _along("channels", f"Channels: {shape} float32, 5 x 5", "channels", base, (1, 2, 3, 4)),
            _along(
                "batch",
                "Batch: 1024 x 1024 float32, 5 x 5, one channel",
                "batch",
                replace(base, height=1024, width=1024),
                (1, 4, 16, 64),
            ),
        ]
    return tuple(tables)


def tables_of(device: str, *, quick: bool) -> tuple[Table, ...]:
    """Return the tables of "gpu" or "cpu"."""
    return gpu_tables(quick=quick) if device == "gpu" else cpu_tables(quick=quick)


def check_cells(device: str) -> tuple[Cell, ...]:
    """Return the few cells of `bench.check`: part of both grids, quick and full."""
    tables = {table.name: table.cells for table in tables_of(device, quick=True)}
    return (*tables["main"], tables["gaussian"][-1], tables["grey"][0], tables["rgb"][0])
