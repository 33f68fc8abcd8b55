"""The recorder of what comes with the program, without a GPU."""

from types import SimpleNamespace

import pytest

from bench import recorded
from bench.recorded import PICTURES, compact, jobs, read, record_runs, write
from engine.geometry.block import Limits
from engine.image.samples import SAMPLES
from engine.mask.presets import preset_names
from engine.tasks.filtering.variants import VARIANTS
from gui.explore.page import FIRST_MASK
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
    monkeypatch.setattr(recorded, "gpu_limits", lambda machine: SimpleNamespace(as_json=dict))
    monkeypatch.setattr(recorded, "measure", measure)
    monkeypatch.setattr(recorded, "jobs", lambda limits: made)
    monkeypatch.setattr(
        recorded, "_key", lambda run: (run.variant, run.problem, made[0].operands.mask.weights_digest)
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
    assert (first.problem.width, first.problem.height) == (sample.width, sample.height)


def test_that_a_second_call_measures_only_what_is_lacking(measured):
    before = record_runs({}, 1.0)
    assert len(measured) == 3
    record_runs(before, 1.0)
    assert len(measured) == 3


def test_that_what_was_recorded_is_kept_where_the_time_is_over(measured):
    before = record_runs({}, 1.0)
    assert record_runs(before, 0.0)["results"] == before["results"]


def test_that_runs_of_another_gpu_are_not_kept(measured):
    other = {"gpu": "NVIDIA L4", "results": [compact(make_result())]}
    assert record_runs(other, 0.0)["results"] == []


def test_that_the_same_document_makes_the_same_bytes(tmp_path):
    files = [tmp_path / name for name in ("a.json.gz", "b.json.gz")]
    for file in files:
        write(file, {"results": [compact(make_result())]})
    assert files[0].read_bytes() == files[1].read_bytes()
    assert read(files[0]) == {"results": [compact(make_result())]}
