"""Standard output of each command with `--json`: the document and nothing else."""

import subprocess
import sys

import numpy as np
import pytest

from engine.commands import COMMANDS
from engine.image.open import sample_path
from tests.engine.commands.conftest import strict_json
from tests.fresh_python import ROOT

# Where libraries have the most to say: those that load what others do not. One that compiles what it needs:
# `test_that_damaged_compiled_code_is_replaced_without_a_word`.
AS_A_PROGRAM = (
    "filter in.npy out.zarr --mask box:3 --memory 400M",
    "course report --sizes 16 --device cpu --out tables",
    "code tiled --ptx",
    "judge kernel.cu",
)
# What each of the others needs beside `--json`.
ARGUMENTS = {
    "batch": "in.png --out out --mask box:3",
    "bench": "--out r.json --sizes 64 --masks 3 --variants cpu-parallel --budget 0",
    "explain": "64x48 --mask gaussian:5 --variant cpu-parallel",
    "masks": "sobel-x --as opencv",
    "chains": "unsharp --out chain.json",
    "matmul": "--size 16",
    "network": "--batch 1 --stage network-cpu",
}
KERNEL = ROOT / "tests" / "judge" / "kernels" / "right" / "naive.cu"


@pytest.fixture
def folder(tmp_path):
    """A folder with what the commands read."""
    (tmp_path / "in.png").write_bytes(sample_path("impulse").read_bytes())
    (tmp_path / "kernel.cu").write_bytes(KERNEL.read_bytes())
    np.save(tmp_path / "in.npy", np.ones((300, 200), np.uint8))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("line", AS_A_PROGRAM)
def test_that_standard_output_of_a_program_is_one_document(program, folder, line):
    answer = program(line, "--json", folder=folder)
    assert answer.status == 0, answer.err
    assert strict_json(answer.out)


@pytest.mark.slow
def test_that_every_other_command_answers_with_one_document(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in set(COMMANDS) - {line.split()[0] for line in AS_A_PROGRAM}:
        answer = command(name, ARGUMENTS.get(name, ""), "--json")
        assert answer.status == 0, (name, answer.err)
        assert answer.document, name


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
