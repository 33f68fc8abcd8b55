"""The recorder of what comes with the program, without a GPU."""

from types import SimpleNamespace

import pytest

from bench import recorded
from bench.recorded import FOLDER, PICTURES, course_documents, faults_of, jobs, record_runs
from engine.compiled.code_store import source_digest
from engine.explain.device_limits import DeviceLimits
from engine.geometry.block import Limits
from engine.image.open import SAMPLES
from engine.mask.presets import preset_names
from engine.results.columns import COURSE, RUNS, recorded_document
from engine.work.filtering.variants import VARIANTS
from gui.explore.parts import FIRST_MASK
from tests.made_runs import make_result

H200 = Limits(compute_capability=(9, 0))


@pytest.fixture
def measured(monkeypatch):
    """The keys of the variants that are measured, in a stand-in for the GPU."""
    found = []

    def measure(job, on, plan):
        found.append(job.variant.key)
        result = make_result(job.variant.key, problem=job.problem)
        return SimpleNamespace(result=result)

    gpu = SimpleNamespace(info=SimpleNamespace(title="NVIDIA H200", limits=H200))
    made = [job for _, job in zip(range(3), jobs(H200), strict=False)]
    monkeypatch.setattr(recorded, "backend", lambda key: gpu)
    monkeypatch.setattr(recorded, "gpu_limits", lambda machine: DeviceLimits("GPU", None, None, None))
    monkeypatch.setattr(recorded, "measure", measure)
    monkeypatch.setattr(recorded, "jobs", lambda limits: made)
    monkeypatch.setattr(
        recorded, "_key", lambda run: (run.variant, run.problem, made[0].constant.weights_digest)
    )
    return found


def test_that_every_kernel_is_recorded(monkeypatch):
    # The shapes do not matter, and large pictures take a while to make.
    monkeypatch.setattr(
        recorded, "PICTURES", [(512, 512, channels, dtype) for *_, channels, dtype in PICTURES]
    )
    kernels = {known.key for known in VARIANTS if known.has_kernels}
    assert kernels <= {job.variant.key for job in jobs(H200)}


def test_that_the_picture_that_the_window_opens_with_comes_first():
    first = next(iter(jobs(H200)))
    sample = SAMPLES[0]
    assert sample.key == recorded.FIRST_SAMPLE
    assert FIRST_MASK in preset_names()
    assert (first.problem.width, first.problem.height) == (sample.side, sample.side)


def test_that_a_second_call_measures_only_what_is_lacking(measured):
    before = record_runs({}, 1.0)
    assert len(measured) == 3
    record_runs(before, 1.0)
    assert len(measured) == 3


def test_that_what_was_recorded_is_kept_where_the_time_is_over(measured):
    before = record_runs({}, 1.0)
    assert record_runs(before, 0.0)["results"] == before["results"]


def test_that_runs_of_another_gpu_are_not_kept(measured):
    other = record_runs({}, 1.0) | {"gpu": "NVIDIA L4"}
    assert record_runs(other, 0.0)["results"] == []


def test_that_runs_of_another_commit_are_not_kept(measured, monkeypatch):
    before = record_runs({}, 1.0)
    monkeypatch.setattr(recorded, "commit", lambda: "another")
    assert record_runs(before, 0.0)["results"] == []


@pytest.mark.parametrize("commit", ["", "0123456789ab + changes"])
def test_that_nothing_is_recorded_of_an_uncommitted_tree(commit, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "commit", lambda: commit)
    monkeypatch.setattr("sys.argv", ["recorded", "runs", "--out", str(tmp_path / "runs.json.gz")])
    assert recorded.main() == 1
    assert not list(tmp_path.iterdir())


CLEAN = {"commit": "0123456789ab", "gpu": "NVIDIA H200", "sources": source_digest(), "complete": True}


def test_that_two_files_of_one_clean_commit_are_taken():
    assert faults_of({"runs": CLEAN, "course": CLEAN}, "0123456789ab") == []


def test_that_files_of_different_or_unfinished_measurements_are_refused():
    for name, value in [
        ("commit", ""),
        ("commit", "0123456789ab + changes"),
        ("commit", "ba9876543210"),
        ("gpu", "NVIDIA H100"),
        ("sources", "b"),
        ("complete", False),
    ]:
        assert faults_of({"runs": CLEAN, "course": CLEAN | {name: value}}, "0123456789ab")


def test_that_what_is_recorded_is_of_one_commit_and_complete():
    assert faults_of({what: recorded_document(what) for what in (RUNS, COURSE)}) == []


def figures_of(paper):
    """Return the recorded numbers of a paper; whole ones have other separators in a document."""
    figures = {one for table in paper["tables"] for _, row in table["rows"] for one in row.values()}
    return {one for one in figures if one.replace(".", "").isdigit()}


@pytest.mark.slow
def test_that_a_page_has_the_figures_that_the_window_shows():
    documents = course_documents()
    for key, paper in recorded_document(COURSE)["papers"].items():
        text = documents[f"{FOLDER}/{key}.md"].decode()
        assert f"- Made: {paper['machine']['Made']}" in text
        assert f"- Commit: {paper['machine']['Commit']}" in text
        assert paper["machine"]["Commit"] == recorded_document(RUNS)["commit"]
        assert [one for one in figures_of(paper) if one not in text] == []
