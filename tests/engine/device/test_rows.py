"""How the rows of a picture are stored on a device, pitched and packed, seen in the simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.geometry.layout import ROW_BYTES

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_that_rows_are_stored_as_asked_and_results_do_not_depend_on_it():
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.device.rows_in_simulator"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    packed = [entry for entry in found if entry["layout"] == "packed"]
    pitched = [entry for entry in found if entry["layout"] == "pitched"]
    assert len(packed) == len(pitched) == len(found) / 2 > 0
    assert all(entry["row_bytes"] == entry["dense_bytes"] for entry in packed)
    assert any(row_bytes % ROW_BYTES for entry in packed for row_bytes in entry["row_bytes"])
    for entry in pitched:
        for row_bytes, dense_bytes in zip(entry["row_bytes"], entry["dense_bytes"], strict=True):
            assert row_bytes % ROW_BYTES == 0, entry
            assert row_bytes >= dense_bytes, entry
    for entry in found:
        assert entry["uploaded"], entry
        assert entry["same"], entry
        assert "every pixel" in entry["verified"], entry
        assert "exactly" in entry["verified"] or "equal" in entry["verified"], entry
