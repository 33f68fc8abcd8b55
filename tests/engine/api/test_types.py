"""What a type checker says of the Python calls."""

import subprocess
import sys

import pytest

from tests.fresh_python import ROOT

CALLS = """
import numpy as np
import engine

class OfGpu:
    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {}

picture, gpu = engine.Picture(np.eye(3, dtype=np.float32)), OfGpu()
host: np.ndarray = engine.correlate(picture, "sobel-x", border="wrap")
host = engine.convolve([[1.0]], [[1.0]], result="same")
host = engine.matmul([[1.0]], host)
there: OfGpu = engine.correlate(gpu, "sobel-x")
there = engine.matmul(gpu, gpu, tile=8)
found: engine.Operated = engine.operate(picture, "median", size=3)
"""
WRONG = (
    'number: int = engine.correlate(picture, "sobel-x")',
    'host = engine.correlate(picture, "sobel-x", bordr="wrap")',
    'there = engine.convolve(picture, "sobel-x")',
    "number: int = engine.matmul(host, host)",
)


@pytest.mark.slow
def test_that_the_calls_say_what_they_return(tmp_path):
    (tmp_path / "calls.py").write_text(CALLS + "\n".join(WRONG) + "\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", tmp_path / "calls.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line}
    first = len(CALLS.splitlines()) + 1
    assert lines == set(range(first, first + len(WRONG))), ran.stdout
