"""The real window with the real engine in a process of its own."""

import json
import os
import subprocess
import sys

import pytest
from PIL import Image

ROOT = os.getcwd()


def haloscope(*arguments: str, timeout_s: float = 90) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "main.py", *arguments], capture_output=True, text=True, timeout=timeout_s, cwd=ROOT
    )


def test_that_the_window_opens_with_a_first_result_and_never_loads_numba():
    code = (
        "import sys, main\n"
        "if __name__ == '__main__':\n"
        "    status = main.main(['--measure-startup'])\n"
        "    assert 'numba' not in sys.modules\n"
        "    sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    times = json.loads(done.stdout)
    # The targets are 1000 and 2000 ms on an idle machine; tests share theirs.
    assert 0 < times["first_paint_ms"] < 5_000
    assert times["first_paint_ms"] < times["first_result_ms"] < 30_000


def test_that_a_screenshot_is_the_window_in_the_size_asked_for(tmp_path):
    done = haloscope("screenshot", str(tmp_path / "out.png"), "--size", "1280x800", "--mask", "sobel-x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with Image.open(tmp_path / "out.png") as picture:
        assert picture.size == (1280, 800)
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 1000


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["{out}", "{bad}"], "bad.png"),
        (["{out}", "--variant", "no-such-variant"], "no-such-variant"),
        (["{folder}/none/out.png"], "folder"),
    ],
    ids=["not a picture", "variant", "folder"],
)
def test_that_a_screenshot_that_cannot_be_made_is_one_line_and_status_2(tmp_path, arguments, word):
    (tmp_path / "bad.png").write_text("no picture")
    names = {"out": tmp_path / "out.png", "bad": tmp_path / "bad.png", "folder": tmp_path}
    done = haloscope("screenshot", *(argument.format(**names) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert word in done.stderr
    assert not (tmp_path / "out.png").exists()
