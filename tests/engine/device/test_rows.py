"""How the rows of a picture lie on a device, pitched and packed, seen in the simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.geometry.layout import ROW_BYTES

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.device.rows_in_simulator"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    entries: list[dict[str, Any]] = json.loads(done.stdout)
    return entries


def test_that_pitched_rows_begin_at_multiples_of_128_bytes(found: list[dict[str, Any]]) -> None:
    pitched = [entry for entry in found if entry["layout"] == "pitched"]
    assert len(pitched) == len(found) / 2
    for entry in pitched:
        for row_bytes, dense_bytes in zip(entry["row_bytes"], entry["dense_bytes"], strict=True):
            assert row_bytes % ROW_BYTES == 0, entry
            assert row_bytes >= dense_bytes, entry


def test_that_packed_rows_begin_where_the_row_before_ends(found: list[dict[str, Any]]) -> None:
    packed = [entry for entry in found if entry["layout"] == "packed"]
    assert len(packed) == len(found) / 2
    assert all(entry["row_bytes"] == entry["dense_bytes"] for entry in packed)
    assert any(row_bytes % ROW_BYTES for entry in packed for row_bytes in entry["row_bytes"])


def test_that_a_picture_arrives_exactly_and_its_result_does_not_depend_on_the_layout(
    found: list[dict[str, Any]],
) -> None:
    for entry in found:
        assert entry["uploaded"], entry
        assert entry["same"], entry
        assert entry["verified"].startswith("verified on every pixel, equal"), entry
