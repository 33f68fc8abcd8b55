"""Every line of shell and every block of Python in README and docs that needs no GPU does what it says.

They run in the order of their page, in a folder that has the files that they name; measurements on small
pictures.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile

import engine
from engine.commands import COMMANDS, NO_DEVICE, command_line
from tests.architecture.test_documents import PLACEHOLDER

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/variants/*.md")])
# Another machine, a cluster, a program that need not be installed, or every kernel for minutes.
NOT_HERE = re.compile(r"tcp://|/shared/|--sass|--gallery|--story|local:2|\bcourse --out tables$")
# Parts of one kernel, and of a call of the interpreter, which tests of their own run.
IN_PARTS = {"emission.md", "interpreter.md"}
SMALLER = [
    (re.compile(r"(--sizes?) \S+"), r"\1 48"),
    (re.compile(r"\b(4096x4096|1920x1080)\b"), "96x64"),
    (re.compile(r"(--batch) \S+"), r"\1 1"),
    (re.compile(r"(--blocks) \S+"), r"\1 8x8"),
    (re.compile(r"\b(size)=5\b"), r"\1=3"),
    (re.compile(r"\bbox:9\b"), "box:3"),
]
# Added to a command: what makes it short.
SHORT = {
    "bench": ["--budget", "0"],
    "matmul": ["--budget", "0"],
    "network": ["--budget", "0", "--batch", "1"],
    "course": ["--budget", "0", "--sizes", "48"],
}
KERNEL = ROOT / "tests" / "judge" / "kernels" / "right" / "naive.cu"
KERNEL_OF_NUMBA = """
from numba import cuda
# mask: 1 1

@cuda.jit
def scaled(image, mask, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = mask[0, 0] * image[y, x]
"""


def blocks_of(page):
    """Yield the kind and the text of each block of code."""
    yield from re.findall(r"(?ms)^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"))


def commands_of(page):
    """Return the commands of a page's blocks as they are typed after `python main.py`."""
    lines = [
        line.strip() for kind, block in blocks_of(page) if kind != "python" for line in block.splitlines()
    ]
    typed = [
        line.partition("main.py ")[2].partition("    #")[0]
        for line in lines
        if line.startswith("python main")
    ]
    found = [line for line in typed if line.split(" ")[0] in COMMANDS and not NOT_HERE.search(line.strip())]
    return [line for line in found if not PLACEHOLDER.search(f"python main.py {line}")]


def scripts_of(page):
    return [] if page.name in IN_PARTS else [text for kind, text in blocks_of(page) if kind == "python"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into a folder with the files that the documents name."""
    # 0.3 s in each process that collects tests.
    import zarr

    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    colours = np.random.default_rng(7).integers(0, 256, (72, 96, 3), np.uint8)
    pictures = "photo.png photo.jpg a.jpg b.jpg c.png small.png photos/one.png shots/one.tif scans/in/one.png"
    for name in pictures.split():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        engine.save_image(colours, name)
    engine.save_image(colours[8:20, 10:24], "eye.png")
    np.save("field.npy", colours[..., 0])
    tifffile.imwrite("slide.ome.tif", np.kron(colours, np.ones((4, 4, 1), np.uint8)), tile=(64, 64))
    Path("my-mask.json").write_text('{"format": "haloscope-mask", "version": 1, "weights": [[1, 2, 1]]}')
    for name in ("kernel.cu", "tiled.cu"):
        Path(name).write_text(KERNEL.read_text())
    Path("tiled.py").write_text(KERNEL_OF_NUMBA)
    for name in ("cells.zarr", "plate.zarr"):
        zarr.save_array(name, colours[..., 0])
    return tmp_path


def done(words, capsys):
    """Return the exit status of a command, and what it said on standard error."""
    if "--memory" not in words:
        return command_line.main(words), capsys.readouterr().err
    # The bound is that of a whole process, and this one has much else.
    ended = subprocess.run([sys.executable, ROOT / "main.py", *words], capture_output=True, text=True)
    return ended.returncode, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.name)
def test_that_every_command_of_a_page_runs(page, folder, capsys):
    failed = []
    for line in commands_of(page):
        for pattern, smaller in SMALLER:
            line = pattern.sub(smaller, line)
        words = shlex.split(line, comments=True)
        words += SHORT.get(words[0], []) if words != ["course"] else []
        words += ["--sizes", "48"] if words[0] == "bench" and "--sizes" not in words else []
        status, said = done(words, capsys)
        # A verdict of `judge` is an answer; a kernel for a GPU needs one.
        if status not in {0, NO_DEVICE} and not (words[0] == "judge" and status == 1):
            failed.append(f"{line}: {status}: {said[-300:]}")
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if scripts_of(page)], ids=lambda page: page.name)
def test_that_every_block_of_python_of_a_page_runs(page, folder):
    picture = engine.open_image("photo.png")
    names = {"picture": picture, "scene": picture, "eye": engine.open_image("eye.png"), "engine": engine}
    names["drawings"] = np.zeros((2, 28, 28), np.float32)
    names["drawings"][:, 4:24, 13:15] = 1
    for script in scripts_of(page):
        exec(compile(script, page.name, "exec"), names)
