"""Filters in the simulator with both layouts, and checks how the rows were stored."""

import numpy as np

import engine
from engine.device.interpreter import InterpreterBackend
from engine.geometry.layout import ROW_BYTES

# Small widths that are as awkward as 1001, and two that are boundaries already.
PICTURES = (
    (13, 1, "float32"), (13, 3, "uint8"), (33, 1, "uint16"), (41, 3, "uint8"), (32, 1, "float32"),
    (64, 1, "uint16"),
)  # fmt: skip
HEIGHT = 2


def checked(monkeypatch):
    """Check the rows of picture and result, and that results are equal with each layout; return how many."""
    made = []
    allocate = InterpreterBackend.allocate

    def noted(*given, **named):
        made.append(allocate(*given, **named))
        return made[-1]

    monkeypatch.setattr(InterpreterBackend, "allocate", noted)
    random, packed_bytes = np.random.default_rng(5), []
    for width, channels, dtype in PICTURES:
        picture = random.integers(0, 200, (HEIGHT, width, channels)).astype(dtype)
        # Every other column of a larger array: the copies cannot take its memory as it is.
        spread = np.repeat(picture, 2, axis=1)[:, ::2]
        results = []
        for layout in ("pitched", "packed"):
            options = {"variant": "naive", "device": "simulator", "block": (32, 2), "border": "wrap"}
            applied = engine.apply(spread, [[1, 2, 3]], layout=layout, **options)
            results.append(applied.values)
            image, out = made[-1].image, made[-1].out
            case = [width, channels, dtype, layout]
            assert applied.result.layout == layout, case
            assert "every pixel" in applied.result.status, (case, applied.result.status)
            assert "exactly" in applied.result.status, (case, applied.result.status)
            assert np.array_equal(image[:, :width], picture), case
            assert np.array_equal(results[0], results[-1]), case
            rows = [image.strides[0], out.strides[0]]
            dense = [picture[0].nbytes, picture[0].size * 4]
            if layout == "packed":
                assert rows == dense, case
                packed_bytes += rows
            else:
                assert all(row % ROW_BYTES == 0 for row in rows), case
                assert all(row >= least for row, least in zip(rows, dense, strict=True)), case
    assert any(row % ROW_BYTES for row in packed_bytes)
    return len(packed_bytes)
