"""The command `code`: sources, listings, diffs and slides, and what it refuses."""

import pytest

from engine.device.device_list import missing
from engine.results.columns import results_document
from engine.results.metrics import compared
from engine.results.text_forms import json_text
from tests.fresh_python import ROOT
from tests.made_runs import make_result


@pytest.fixture(autouse=True)
def _own_code(monkeypatch):
    """Keep no code: the person's store is not the tests'."""
    monkeypatch.setenv("HALOSCOPE_KEEP_KERNELS", "0")


@pytest.fixture
def results(tmp_path):
    """A file of results, as `bench` writes it."""
    runs = compared([make_result("naive", 2.0), make_result("tiled", 0.5)], "naive")
    path = tmp_path / "results.json"
    path.write_text(json_text(results_document(runs, "naive", {})), encoding="utf-8")
    return path


def test_that_a_kernel_is_shown_with_its_story_and_the_numbers_of_its_lines(command):
    answer = command("code naive")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("`naive`: one thread per result")
    assert "engine/variants/ladder/naive.py, line " in answer.out
    assert "      def correlate_naive(image, weights" in answer.out
    document = command("code tiled --border mirror --json").document
    head = document["format"], document["variant"], document["task"]
    assert head == ("haloscope-code", "tiled", "filtering")
    functions = [(one["role"], one["name"]) for one in document["functions"]]
    assert functions == [("kernel", "correlate_tiled"), ("device function", "mirror")]
    assert [one["heading"] for one in document["story"]["sections"]][:2] == ["Idea", "Who loads what"]
    answer = command("code numpy")
    assert "the package numpy computes" in answer.out
    assert "np.matmul(a, b, out=out)" in answer.out


def test_that_an_option_that_changes_nothing_is_noted(command):
    for words, note in [
        ("matmul-tiled --border mirror", "--border was not used: matmul-tiled does not depend on it."),
        ("digit-sums --arch sm_75", "--arch was not used: it is for --ptx and --sass."),
    ]:
        answer = command(f"code {words}")
        assert (answer.status, answer.err) == (0, f"note: {note}\n")


@pytest.mark.slow
@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason="needs the CUDA compiler")
def test_that_ptx_has_counts_and_the_lines_of_the_source(command, refused, monkeypatch):
    answer = command("code cached --ptx --arch sm_86")
    assert "correlate_cached: PTX for sm_86" in answer.out
    assert "per multiply-add" in answer.out
    assert "cached.py:" in answer.out
    document = command("code cached --ptx --arch sm_86 --json").document
    (kernel,) = document["kernels"]
    assert kernel["counts"]["per_multiply_add"]["multiply_adds"] == 5
    lines = [line for line in kernel["lines"] if line["class"] == "float32 multiply-add"]
    assert {line["source"]["path"] for line in lines} == {"engine/variants/ladder/cached.py"}
    # What a kernel depends on can be chosen.
    for mask, taps in (("--mask '1 2 1'", 3), ("", 5)):
        (kernel,) = command("code row-naive --ptx --json", mask).document["kernels"]
        assert kernel["counts"]["per_multiply_add"]["multiply_adds"] == taps
    monkeypatch.setattr("engine.device.kernel_code.disassembler", lambda: None)
    refused("code row-naive --sass", says="pip install nvidia-cuda-nvdisasm")


def test_that_a_diff_has_the_measured_difference_as_its_heading_and_rows_with_both_sides(command, results):
    answer = command("code naive --diff tiled --results", results)
    assert answer.out.startswith("naive → tiled: 0.500 ms instead of 2.00 ms, 75 % less than naive (")
    assert "\n+    TILE_ROWS, TILE_COLUMNS = tile_shape(mask_shape, block)\n" in answer.out
    lines = command("code naive --diff constant --side-by-side").out.split("\n")
    assert [line for line in lines if "partial += value * weights[m, n]" in line and " | " in line]
    document = command("code naive --diff tiled --json --results", results).document
    assert document["measured"]["saved"] == 0.75
    first = document["rows"][0]
    assert (first["change"], first["left"], first["right"]) == ("same", "@kernel_factory", "@kernel_factory")
    for key, side in (("naive", "left_line"), ("tiled", "right_line")):
        source = (ROOT / "engine" / "variants" / "ladder" / f"{key}.py").read_text(encoding="utf-8")
        assert source.split("\n")[first[side] - 1] == "@kernel_factory"
    assert {row["change"] for row in document["rows"]} <= {"same", "changed", "removed", "added"}


@pytest.mark.slow
def test_that_the_story_is_written_as_slides(command, results, tmp_path):
    path = tmp_path / "slides.html"
    answer = command("code --story", path, "--results", results, "--json")
    assert answer.status == 0
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    steps = {step["variant"]: step for chapter in answer.document["chapters"] for step in chapter["steps"]}
    assert steps["tiled"]["compared_with"] == "naive"
    assert steps["tiled"]["measured"]["saved"] == 0.75


def test_that_bad_use_is_refused_in_a_line(refused):
    for arguments, says in [
        ("code", "no kernel is named"),
        ("code tild", "Did you mean tiled?"),
        ("code tiled --ptx --sass", "one listing is shown at a time"),
        ("code tiled --story s.html", "the slides show every kernel"),
        ("code --story s.html --ptx", "--ptx with --story"),
        ("code tiled --side-by-side", "without --diff"),
        ("code tiled --arch sm_70", "Choose one of sm_75"),
        ("code cpu-serial --ptx", "it has no CUDA kernel of ours"),
        ("code --story nowhere/s.html", "its folder does not exist"),
        ("code naive --diff tiled --results nowhere.json", "cannot be read: there is no such file"),
        ("code box --mask '1 2 1'", "equal"),
    ]:
        refused(arguments, says=says)


def test_that_a_file_that_is_no_result_is_refused(refused, tmp_path):
    for text, says in (("{", "it is not JSON"), ('{"format": "other"}', "this is not a file of results")):
        (tmp_path / "r.json").write_text(text)
        refused("code naive --diff tiled --results", tmp_path / "r.json", says=says)
