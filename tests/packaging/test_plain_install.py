"""What works where only the packages of a plain `pip install haloscope` are: no command ends unexpectedly."""

import json

import pytest

from tests.fresh_python import fresh_python

pytestmark = pytest.mark.slow

OPTIONAL = (
    "numba_cuda",
    "_numba_cuda_redirector",
    "cuda",
    "nvidia",
    "PySide6",
    "pyqtgraph",
    "qtawesome",
    "matplotlib",
    "dask",
    "zarr",
)
PICTURE, KERNELS = "assets/samples/astronaut.png", "tests/judge/kernels/right"
COMMANDS = (
    (0, "devices"),
    (0, "variants"),
    (0, f"filter {PICTURE} OUT/filtered.png --mask sharpen"),
    (3, f"filter {PICTURE} OUT/other.png --mask sharpen --variant tiled"),
    (3, f"filter {PICTURE} OUT/other.png --mask sharpen --device simulator"),
    (0, "explain 64x64 --mask sharpen --variant tiled"),
    (0, "code tiled"),
    (2, "code tiled --ptx"),
    (0, "matmul --size 32"),
    (0, "network --batch 2 --budget 0.001"),
    *(
        (0, f"course {paper} --sizes 16 --budget 0.001")
        for paper in ("report", "cnn", "lab", "convolution", "performance")
    ),
    (2, f"judge {KERNELS}/naive.py"),
    (2, f"judge {KERNELS}/naive.cu"),
    (2, "screenshot OUT/window.png"),
)
SCRIPT = f"""
import importlib.abc, json, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path[:] = [one for one in sys.meta_path if "numba_cuda" not in type(one).__module__]
sys.meta_path.insert(0, Hidden())
import importlib.util
whole = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name.split(".")[0] in {OPTIONAL!r} else whole(name, package)
)
from engine.commands.command_line import main
from engine.course import cnn
# To verify a hundred takes 6 s of the processor.
cnn.FEW_DIGITS = 3
statuses = [main(command.replace("OUT", sys.argv[1]).split()) for _, command in {COMMANDS!r}]
print(json.dumps(statuses), file=sys.stderr)
"""


def test_that_every_command_works_or_is_refused(tmp_path):
    statuses = json.loads(fresh_python("-c", SCRIPT, str(tmp_path)).splitlines()[-1])
    assert dict(zip(COMMANDS, statuses, strict=True)) == {one: one[0] for one in COMMANDS}
