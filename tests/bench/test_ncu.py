"""What `bench.ncu` reads of Nsight Compute's rows, and how it compares them."""

import pytest

from bench import ncu
from engine.geometry.block import Limits
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.explain.jobs import zeros

LOG = """==PROF== Connected to process 7
"ID","Kernel Name","gpu__time_duration.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sm__x.sum"
"","","nsecond","sector",""
"0","correlate_naive","12,345","4","n/a"
"1","correlate_naive","1.5","8",""
==PROF== Disconnected
"""


def test_that_rows_are_read_past_the_units_without_what_is_not_there():
    first, second = ncu.read_rows(LOG)
    assert first == {"gpu__time_duration.sum": 12345.0, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4.0}
    assert second["gpu__time_duration.sum"] == 1.5


def test_that_a_metric_that_is_not_known_is_left_out():
    text = "==ERROR== Failed to find metric sm__x.sum.\n==PROF== sm__y.sum"
    assert ncu.not_known(text, ["sm__x.sum", "sm__x", "sm__y.sum"]) == ["sm__x.sum"]


def test_that_every_teaching_kernel_has_nine_cells_that_it_takes():
    samples = zeros(256, 256, 1)
    for key in ncu.TEACHING:
        cells = list(ncu.cells_of(key))
        assert len(cells) == 9
        for cell in cells:
            job = ncu.job_of(cell, samples)
            assert variant(key).why_not(job.problem, job.constant, job.block, Limits()) is None


def test_that_the_teaching_kernels_are_those_of_the_ladder():
    ladder = [name for modules in VARIANTS.modules.values() for name in modules if name.startswith("ladder.")]
    assert len(ncu.TEACHING) == len(ladder) == 17


OURS = dict.fromkeys(ncu.COMPARED, 100.0)
THEIRS = dict.fromkeys(ncu.COMPARED.values(), 100.0)


@pytest.mark.parametrize(
    ("theirs", "wanted", "alike"), [(100.0, 1.0, True), (98.5, 1.0152, True), (90.0, 1.1111, False)]
)
def test_that_a_ratio_within_two_percent_needs_no_explanation(theirs, wanted, alike):
    name, metric = next(iter(ncu.COMPARED.items()))
    found = ncu.ratios(OURS, THEIRS | {metric: theirs})[name]
    assert (found, ncu.is_alike(found)) == (wanted, alike)


def test_that_what_only_one_counts_has_no_ratio():
    name, metric = next(iter(ncu.COMPARED.items()))
    assert ncu.ratios(OURS, THEIRS | {metric: 0.0})[name] is None
    assert ncu.ratios(OURS | {name: 0.0}, THEIRS | {metric: 0.0})[name] == 1.0


def test_that_the_last_line_says_how_many_launches_are_alike():
    good = {"variant": "naive", "ratios": dict.fromkeys(ncu.COMPARED, 1.0)}
    bad = {"variant": "naive", "ratios": dict.fromkeys(ncu.COMPARED, 1.5)}
    *_, kernel, last = ncu.summary([good, bad])
    assert kernel.endswith("1 of 2")
    assert last == "within 2% in everything: 1 of 2 launches"
