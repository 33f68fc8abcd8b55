"""Standard output of each command with `--json`: the document and nothing else, also in a fresh cache."""

import subprocess
import sys

import numpy as np
import pytest

from engine.commands import COMMANDS
from engine.image.samples import sample_path
from tests.engine.commands.conftest import strict_json
from tests.fresh_python import ROOT

# What each needs beside `--json`, and the ways that load other libraries.
ARGUMENTS = {
    "filter": (
        "in.png out.png --mask gaussian:5",
        "in.png out.tif --operation median --set size=3",
        "in.npy out.zarr --mask box:3 --memory 400M",
    ),
    "batch": ("in.png --out out --mask box:3",),
    "bench": ("--out r.json --sizes 64 --masks 3 --variants cpu-parallel --budget 0",),
    "explain": (
        "64x48 --mask gaussian:5 --variant cpu-parallel",
        "64x48 --mask box:3 --variant naive --device simulator --ablate",
    ),
    "devices": ("", "--limits"),
    "masks": ("sobel-x --as opencv",),
    "chains": ("unsharp --out chain.json",),
    "matmul": ("--size 16",),
    "network": ("--batch 1 --stage network-cpu",),
    "course": ("report --sizes 16 --device cpu --out tables",),
    "code": ("tiled --ptx", "cpu-parallel"),
    "judge": ("kernel.cu",),
    "install-desktop": ("", "--remove"),
}

KERNEL = ROOT / "tests" / "judge" / "kernels" / "right" / "naive.cu"


# Where these compile all that they need, and measure the limits of the CPU, libraries have the most to say.
IN_A_FRESH_CACHE = ("filter in.png out.png", "judge", "devices --limits")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [f"{name} {rest} --json" for name in COMMANDS for rest in ARGUMENTS.get(name, ("",))]
)
def test_that_standard_output_is_one_document(program, tmp_path, line):
    (tmp_path / "in.png").write_bytes(sample_path("impulse").read_bytes())
    (tmp_path / "kernel.cu").write_bytes(KERNEL.read_bytes())
    np.save(tmp_path / "in.npy", np.ones((300, 200), np.uint8))
    fresh = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    answer = program(line, folder=tmp_path, **(fresh if line.startswith(IN_A_FRESH_CACHE) else {}))
    assert answer.status == 0, answer.err
    assert strict_json(answer.out)


def test_that_what_libraries_print_is_no_part_of_an_answer():
    """Python's print, a descriptor, a child, and C, which keeps it in a buffer until the process ends."""
    noise = (
        "libc.printf(b'noise\\n'); os.write(1, b'noise\\n'); print('noise'); "
        "subprocess.run([sys.executable, '-c', 'print(\"noise\")'])"
    )
    code = (
        "import ctypes, os, subprocess, sys; import engine.commands.listing as listing, main\n"
        "libc = ctypes.CDLL(None)\nanswer = listing.print_entries\n"
        f"def noisy(*given):\n    {noise}\n    answer(*given)\n    {noise}\n"
        "listing.print_entries = noisy\nsys.argv[1:] = ['masks', '--json']\nsys.exit(main.run())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert strict_json(done.stdout)["masks"]
    assert done.stderr.count("noise") == 8
