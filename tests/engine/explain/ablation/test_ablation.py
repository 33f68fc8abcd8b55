"""An ablation: its steps, its words and its data; estimated without a device, stopped between siblings."""

import json

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.explain.ablation import running
from engine.explain.ablation.results import (
    ON_PURPOSE,
    OVERLAPPING,
    Ablation,
    Altered,
    Cost,
    ablation_document,
    ablation_sentences,
    most_sentence,
)
from engine.explain.ablation.running import rows_around
from engine.explain.messages import AblationJob
from engine.geometry.block import Block, UnsupportedVariant
from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.host.request import Run
from engine.mask.generators import gaussian
from engine.results.measurement import Spread
from tests.engine.explain.jobs import filtering
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import mask_request


def made(whole_ms, **without_ms):
    """Return an ablation with these medians, by the names of the costs."""
    siblings = [
        Altered(cost, kernel=Spread((without_ms[cost.name],)))
        if cost.name in without_ms
        else Altered(cost, cost.absent)
        for cost in Cost
    ]
    whole = Altered(kernel=Spread((whole_ms,)))
    return Ablation("naive", "Naive", Block(32, 8), "cuda:0", "Made GPU", whole, tuple(siblings))


MADE = made(4.0, BORDER_TEST=3.0, STORES=3.5)


# Words and data.


def test_that_a_step_is_the_kernels_time_less_that_of_its_sibling():
    assert [(step.begin, step.end) for step in MADE.steps()] == [(4.0, 0.0), (4.0, 3.0), (3.0, 2.5), (2.5, 0)]


def test_that_the_words_name_the_cost_that_takes_most_and_say_what_is_hidden_or_overlaps():
    assert most_sentence(MADE) == "Most is taken by the border test: 1.00 ms of 4.00 ms, 25.0 %."
    assert "each is hidden behind another" in most_sentence(made(4.0, BORDER_TEST=4.5, STORES=4.0))
    assert OVERLAPPING in ablation_sentences(made(4.0, BORDER_TEST=1.0, STORES=2.0))
    assert OVERLAPPING not in ablation_sentences(MADE)
    assert ablation_sentences(MADE)[-1] == ON_PURPOSE


def test_that_json_has_every_sample_and_what_each_cost_takes():
    document = json.loads(json.dumps(ablation_document(MADE)))
    assert document["saves"] == {"border-test": 1.0, "stores": 0.5}
    assert (document["unit"], document["whole"]["kernel"]["samples_ms"]) == ("ms", [4.0])
    assert {one["without"]: one["why_not"] for one in document["siblings"]}["barrier"] == "It has no barrier."


def test_that_instructions_stand_where_there_are_no_times():
    whole = Altered(instructions=50.0)
    siblings = (Altered(Cost.STORES, instructions=49.0),)
    found = Ablation("naive", "Naive", Block(8, 8), "", "sm_90", whole, siblings)
    assert [(step.begin, step.end) for step in found.steps()] == [(50.0, 0.0), (50.0, 49.0), (49.0, 0.0)]


# What there is no sibling of, and no variant.


def test_that_a_narrow_picture_has_more_rows_around_it():
    narrow, broad = (filtering("naive", (16, 16), side=64, width=width) for width in (1, 4096))
    assert rows_around(narrow.problem, narrow.block) > rows_around(broad.problem, broad.block)


# What the window asks.


@pytest.fixture
def picture():
    """A picture of 40 x 30 pixels, float32 and grey, in shared memory."""
    (pixels,) = shared.create(((30, 40, 1), "float32"))
    shared.attach(pixels)[...] = np.random.default_rng(2).random((30, 40, 1))
    yield PictureHandle(pixels, None, ScreenLevels(()), "made", "made")
    shared.unlink(pixels.name)


@pytest.fixture
def without_gpu(monkeypatch):
    """Let there be no device but the CPU."""
    cpu = [one for one in running.devices() if one.key == "cpu"]
    monkeypatch.setattr(running, "devices", lambda: cpu)
    monkeypatch.setattr("engine.device.devices.devices", lambda: cpu)


def job_of(picture, key, **more):
    return mask_request(AblationJob, picture=picture, variant=key, mask=gaussian(5), **more)


def asked(job, report=lambda step: None):
    return running.run(Run(job), report)


@needs_nvvm
@pytest.mark.slow
def test_that_instructions_are_counted_where_no_gpu_is(picture, without_gpu):
    found = asked(job_of(picture, "naive"))
    assert (found.device, found.is_timed) == ("", False)
    amounts = {step.altered.cost: step.amount for step in list(found.steps())[:-1]}
    # The border is tested at each of the 25 taps.
    assert amounts.pop(Cost.BORDER_TEST) > max(one for cost, one in amounts.items() if cost is not None)


@needs_nvvm
@pytest.mark.slow
def test_that_a_kernel_is_looked_at_while_the_cpu_is_chosen(picture, without_gpu):
    assert list(asked(job_of(picture, "naive", device="cpu")).steps())


@needs_nvvm
@pytest.mark.slow
def test_that_an_ablation_is_stopped_between_two_siblings(picture, without_gpu):
    def stop(step):
        if step.stage == "counting without picture loads":
            raise Cancelled("The run was stopped")

    with pytest.raises(Cancelled):
        asked(job_of(picture, "naive"), stop)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("cpu-serial", "has no CUDA kernels of ours"),
        ("register-blocked", "are emitted instruction by instruction"),
    ],
)
def test_that_a_variant_without_siblings_says_why(picture, without_gpu, key, words):
    found = asked(job_of(picture, key))
    assert words in found.reason
    assert not found.siblings


def test_that_an_illegal_block_is_refused(picture, without_gpu):
    with pytest.raises(UnsupportedVariant, match="1,024 threads per block"):
        asked(job_of(picture, "naive", block=Block(64, 64)))
