"""A batch of which a decoder ends the process."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from tests.fresh_python import ROOT

DEADLY_WIDTH = 77
# Decoding a picture of that width ends the process, as an overflow of the heap does.
CODE = f"""
import signal, sys
import imagecodecs
decode = imagecodecs.png_decode
def decode_or_die(data, *, out):
    if {DEADLY_WIDTH} in out.shape:
        signal.raise_signal(signal.SIGSEGV)
    return decode(data, out=out)
imagecodecs.png_decode = decode_or_die
import main
sys.exit(main.run())
"""


def batch(folder, out, *options):
    """Run the command in a process of its own, with such a decoder."""
    command = [sys.executable, "-c", CODE, "batch", str(folder), "--out", str(out)]
    return subprocess.run(
        [*command, "--mask", "box:3", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be forked")
def test_that_a_batch_goes_on_and_names_the_files_whose_decoder_ends_the_process(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(6):
        width = DEADLY_WIDTH if number in (2, 3) else 40
        Image.fromarray(np.full((30, width), 9 * number, np.uint8)).save(folder / f"{number}.png")
    (folder / "6.png").write_bytes(b"no picture")
    done = batch(folder, out, "--json")
    assert done.returncode == 2, done.stderr
    document = json.loads(done.stdout)
    assert (document["pictures"], document["done"], document["failed"]) == (7, 4, 3)
    files = {one["input"][-5:]: one for one in document["files"]}
    assert list(files) == [f"{number}.png" for number in range(7)]
    for number in (2, 3):
        assert "ended the process (SIG" in files[f"{number}.png"]["failure"]
    assert sorted(one.name for one in out.iterdir()) == ["0.png", "1.png", "4.png", "5.png"]


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be forked")
def test_that_a_process_that_opens_nothing_and_ends_leaves_its_signal_as_the_status(tmp_path):
    code = (
        "import os, sys, main; main.main = lambda given: os.abort()\n"
        "sys.argv[1:] = ['batch']; sys.exit(main.run())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGABRT
