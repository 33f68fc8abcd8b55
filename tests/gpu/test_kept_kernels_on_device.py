"""The kernel cache on a real device: fresh processes, with and without cached kernels."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.device.kernel_cache import SWITCH

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, time
import numpy as np
import engine
from engine.device.devices import backend
from engine.variants.register_blocked import register_blocked
backend("cuda:0").activate()
picture = np.random.default_rng(1).integers(0, 99, (300, 200)).astype(np.float32)
mask = np.arange(25.0).reshape(5, 5)
begin = time.perf_counter()
values = engine.correlate(picture, mask, device="cuda:0", variant="register-blocked")
took = time.perf_counter() - begin
right = np.array_equal(values, engine.correlate(picture, mask, device="cpu", variant="cpu-serial"))
print(json.dumps({"s": took, "right": bool(right)}))
"""


def first_launch(folder, **environment):
    """Filter in a fresh process; return whether it was right, and the seconds that it took."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def kept(folder):
    return sorted(folder.glob("*/*.cuda"))


def test_that_a_second_process_loads_what_the_first_compiled(device, tmp_path):
    first = first_launch(tmp_path)
    files = {path: path.read_bytes() for path in kept(tmp_path)}
    second = first_launch(tmp_path)
    assert (first["right"], second["right"], bool(files)) == (True, True, True)
    assert {path: path.read_bytes() for path in kept(tmp_path)} == files
    assert second["s"] < first["s"]


@pytest.mark.parametrize("damage", ["cut", "other code"])
def test_that_damaged_files_are_compiled_anew(device, tmp_path, damage):
    first_launch(tmp_path)
    for path in kept(tmp_path):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else content[:200] + bytes(500))
    assert first_launch(tmp_path)["right"]
    assert all(len(path.read_bytes()) > 1000 for path in kept(tmp_path))


def test_that_the_switch_keeps_nothing(device, tmp_path):
    assert first_launch(tmp_path, **{SWITCH: "0"})["right"]
    assert kept(tmp_path) == []


def test_that_code_the_driver_refuses_is_compiled_anew(device, tmp_path):
    from engine.device.code_store import _packed, _unpacked
    from engine.device.kernel_cache import KeptKernel

    first_launch(tmp_path)
    for path in kept(tmp_path):
        key = path.read_bytes()[32:].partition(b"\0")[0].decode()
        content = _unpacked(path.read_bytes(), key)
        bad = KeptKernel(b"no code at all" * 100, KeptKernel.unpacked(content).entry_name)
        path.write_bytes(_packed(key, bad.packed()))
    assert first_launch(tmp_path)["right"]
