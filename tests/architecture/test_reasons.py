"""Reasons are data: other words in all of them change what is read, and nothing else."""

import json
from itertools import chain

import numpy as np
import pytest

from engine.commands.command_line import main
from engine.errors import EngineError, Reason
from engine.geometry.block import Block, Limits, Refusal
from engine.host.request import Availability
from engine.image.save import save_image
from engine.mask.generators import box
from engine.mask.mask import Mask
from engine.work.filtering.variants import VARIANTS
from engine.work.problem import Problem
from gui.explore.explain.selection import Selection
from gui.explore.kernel.variants_model import VariantsModel
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from tests.gui.made_results import make_engine_state, make_workspace

# Every mark at which a sentence might be cut, and words that once were looked for.
TRAP = "Did; Give: variant 'x'. Use, and "


@pytest.fixture
def reworded(monkeypatch):
    """Let every reason and every error that is made from now on have other words."""

    def reword(kind, fields):
        made = kind.__init__

        def init(self, *given, **named):
            words = dict(zip(fields, given, strict=False)) | named
            for name in ("short", "detail", "remedy", "why"):
                if isinstance(words.get(name), str) and words[name]:
                    words[name] = TRAP + words[name]
            made(self, **words)

        monkeypatch.setattr(kind, "__init__", init)

    def begin():
        reword(Reason, ("code", "short", "detail", "remedy"))
        reword(Refusal, ("code", "short", "detail", "remedy", "nearest_block"))
        reword(EngineError, ("what", "why", "remedy"))

    return begin


def kernels():
    """Return what the list of kernels shows where masks, blocks and types are refused."""
    found = []
    for mask, block, result in (
        (Mask([[1, 2], [3, 4]]), None, "uint8"),
        (box(63, 63), None, "float32"),
        (box(3, 3), Block(64, 64), "float32"),
    ):
        problem = Problem(50, 40, 1, "uint8", mask.shape, mask.anchor, result_dtype=result)
        entries = []
        for variant in VARIANTS:
            wanted = block if block is not None and variant.uses_block else variant.default_block
            entries.append(
                Availability(variant.key, variant.why_not(problem, mask, wanted, Limits(), VARIANTS))
            )
        found.append(entries)
    return found


def shown(qapp, entries):
    workspace, state = make_workspace(), make_engine_state(cuda=True)
    assert isinstance(workspace, Workspace)
    state.set_availability(tuple(entries))
    results = ResultsModel()
    model = VariantsModel(Selection(workspace, state, results))
    return [(row.key, row.can_run, bool(row.under), row.time) for row in model.rows()]


def test_that_other_words_change_no_list_of_kernels(qapp, reworded):
    before = kernels()
    lists = [shown(qapp, entries) for entries in before]
    reworded()
    after = kernels()
    assert [shown(qapp, entries) for entries in after] == lists
    for old, new in zip(chain(*before), chain(*after), strict=True):
        assert old.nearest_block == new.nearest_block
        assert (old.reason and old.reason.code) == (new.reason and new.reason.code)
        assert new.reason is None or new.reason.short.startswith(TRAP)


def bench(capsys, tmp_path):
    """Return the table of a sweep in which some runs are refused, without its words, and its results."""
    path = tmp_path / "results.json"
    cells = [
        "--variants",
        "cpu-serial,cpu-box,tiled",
        "--sizes",
        "9x7",
        "--masks",
        "sobel-x",
        "--budget",
        "0",
    ]
    status = main(["bench", *cells, "--blocks", "64x64", "--device", "simulator", "--out", str(path)])
    lines = capsys.readouterr().out.splitlines()
    results = json.loads(path.read_text())["results"]
    return (
        status,
        len(lines),
        [(r["variant"], r["refused"], (r["reason"] or {}).get("code")) for r in results],
    )


@pytest.mark.slow
def test_that_other_words_change_no_table_and_no_file_of_results(capsys, tmp_path, reworded):
    before = bench(capsys, tmp_path)
    reworded()
    assert bench(capsys, tmp_path) == before


def batch(capsys, folder):
    names = ["good.png", "bad.png", "nowhere.png"]
    status = main(["batch", *(str(folder / name) for name in names), "--out", str(folder / "out"), "--mask",
                   "box:3", "--overwrite"])  # fmt: skip
    failed = capsys.readouterr().out.split("2 failed:\n")[1].splitlines()
    return status, [line.strip().count(str(folder)) for line in failed]


@pytest.mark.slow
def test_that_other_words_name_no_file_of_a_batch_twice(capsys, tmp_path, reworded):
    save_image(np.zeros((5, 5), np.uint8), tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"no picture")
    before = batch(capsys, tmp_path)
    reworded()
    assert batch(capsys, tmp_path) == before


def test_that_a_mask_that_is_misspelt_is_hinted_at_in_any_words(capsys, reworded):
    reworded()
    status = main(["bench", "--masks", "gausian:9", "--out", "-"])
    assert status == 2
    assert "Did you mean gaussian:9?" in capsys.readouterr().err
