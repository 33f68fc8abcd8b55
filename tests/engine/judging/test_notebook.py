"""The magic `%%judge`, and the notebook of the documents, cell by cell as IPython runs them."""

import json
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

import engine
from engine.judging.notebook import judged_cell
from tests.fresh_python import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "colab.ipynb"
COPY = """
from numba import cuda

@cuda.jit
def copied(image, mask, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = image[y, x]
"""


def test_that_an_option_that_is_none_is_refused_and_a_kernel_that_is_none_is_judged_so():
    for line in ("--fast", "--require", "blur.cu"):
        with pytest.raises(engine.EngineError) as refused:
            judged_cell(line, COPY)
        assert refused.value.code == "bad-value"
        assert refused.value._render_traceback_() == [str(refused.value)]
    assert judged_cell("", "x = 1").judgement.verdict == "refused"


@pytest.mark.slow
def test_that_a_wrong_kernel_is_shown_with_its_lines_and_the_picture_of_its_wrong_pixels():
    judged = judged_cell('--require "loads per result <= 0.5"', COPY)
    assert judged.judgement.verdict == "wrong"
    assert not judged.judgement.passed
    assert judged.judgement.wrong.dtype == bool
    shown = judged._repr_html_()
    assert all(line.strip() in shown for line in COPY.splitlines() if "<" not in line)
    assert "data:image/png;base64," in shown


@pytest.mark.slow
def test_that_every_cell_of_the_notebook_runs():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["source"]]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert texts[0].startswith("%pip install")
    program = f"""
import json, sys
import engine
from IPython.core.interactiveshell import InteractiveShell
sys.modules["haloscope"] = engine
shell, verdicts = InteractiveShell.instance(), []
for text in json.loads(sys.argv[1]):
    ran = shell.run_cell(text.replace("!haloscope", "!{sys.executable} main.py"))
    ran.raise_error()
    if text.startswith("%%judge"):
        verdicts.append(str(ran.result.judgement.verdict))
    assert shell.user_ns.get("_exit_code", 0) == 0, text
print(*verdicts, file=sys.stderr)
"""
    command = [sys.executable, "-c", program, json.dumps(texts[1:])]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr.split()[-3:] == ["wrong", "right", "right"]


def test_that_ipython_loads_the_magic():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "engine")
    assert shell.run_cell_magic("judge", "", COPY).judgement.kernel == "copied"
