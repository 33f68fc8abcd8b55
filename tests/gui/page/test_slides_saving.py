"""Slides: written by the engine with the results of the page, as a run that Esc stops."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.explain.messages import SaveSlides
from gui.page.slides_saving import save_slides
from tests.made_runs import make_result

PLACE = Path("somewhere", "kernels.html")


@pytest.fixture
def save(slow_bench):
    """Return a function that saves the slides of a bench, and its bench."""
    files = SimpleNamespace(ask_to_save=lambda title, filters, name, chosen: chosen(PLACE, ""))
    services = SimpleNamespace(files=files, jobs=slow_bench.jobs, state=slow_bench.state)

    def save():
        save_slides(
            services, [run.result for run in slow_bench.results.tried()], slow_bench.messages.everywhere
        )
        slow_bench.settle()

    save.bench = slow_bench
    return save


def test_that_slides_get_the_results_of_the_page(save):
    result = make_result("tiled", 0.5)
    save.bench.results.add(result)
    save()
    (asked,) = save.bench.fake.waiting(SaveSlides)
    assert asked.request == SaveSlides(str(PLACE), (result,))


def test_that_it_is_said_where_the_slides_are(save):
    save()
    save.bench.answer(SaveSlides)
    assert save.bench.messages.newest.what == f"Slides saved as {PLACE}"


def test_that_slides_can_be_stopped(save):
    save()
    save.bench.jobs.cancel()
    save.bench.settle()
    assert not save.bench.state.running


def test_that_slides_are_not_saved_during_a_run(save):
    save.bench.state.set_running(True)
    save()
    assert not save.bench.fake.waiting(SaveSlides)
    assert save.bench.messages.newest.what == "The slides are not saved"
