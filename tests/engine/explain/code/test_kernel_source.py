"""The source of every kernel: which functions of which files, and what is said where there is none."""

import pytest

from engine.explain.code import kernel_source
from engine.explain.code.kernel_source import source_of
from engine.explain.code.source import Role, story_in, story_of
from engine.explain.examples import Asked, example_of, variant_named
from engine.tasks.registry import TASKS
from tests.fresh_python import ROOT

EVERY = [variant.key for task in TASKS.values() for variant in task.variants]


def source(key, **asked):
    return source_of(example_of(variant_named(key), Asked(**asked)))


def named(key, role):
    return [one.name for one in source(key).functions if one.role is role]


def test_that_every_variant_has_source_that_stands_in_its_files():
    for key in EVERY:
        found = source(key)
        assert found.functions
        for one in found.functions:
            lines = (ROOT / one.path).read_text(encoding="utf-8").split("\n")
            first = one.first_line - 1
            assert tuple(lines[first : first + len(one.lines)]) == one.lines
            assert "def " in one.text


@pytest.mark.slow
def test_that_a_source_begins_with_a_kernel_unless_a_library_computes():
    for key in EVERY:
        found, library = source(key), variant_named(key).library
        first = found.functions[0]
        assert first.role is (Role.HOST if library else Role.KERNEL)
        assert first.path.startswith("engine/variants/")
        assert (library in found.remark) if library else found.kernels


@pytest.mark.slow
def test_that_every_variant_tells_its_story():
    for key in EVERY:
        variant = variant_named(key)
        story = story_of(variant)
        assert key in story.title
        assert all(section.text for section in story.sections)


def test_that_a_kernel_is_shown_with_the_factory_around_it():
    (kernel,) = source("naive").kernels
    assert (kernel.name, kernel.path) == ("correlate_naive", "engine/variants/ladder/naive.py")
    assert kernel.lines[0] == "@kernel_factory"
    assert kernel.lines[-1] == "    return correlate_naive"


def test_that_two_passes_have_two_kernels():
    assert named("separable-l1", Role.KERNEL) == ["separable_l1_horizontal", "separable_l1_vertical"]


def test_that_emitters_belong_to_what_calls_them():
    assert named("register-blocked", Role.EMITTER) == ["accumulator", "tile_loader", "result_storer"]
    assert "row_sums" in named("register-blocked", Role.HELPER)


@pytest.mark.slow
def test_that_the_words_of_the_emission_layer_are_left_out():
    paths = {one.path for key in EVERY for one in source(key).functions}
    assert not [path for path in paths if path.startswith(("engine/variants/emit/", "engine/device/thread_"))]


def test_that_compiled_functions_of_the_cpu_are_kernels():
    assert named("cpu-separable-serial", Role.KERNEL) == ["along_rows_serial", "down_columns_serial"]
    assert "no PTX" in source("cpu-serial").remark


# What computes the steps of a chain is only known where their passes can be made.
_WITH_A_FACTORY = [key for key in EVERY if variant_named(key).has_kernels and key != "cuda-chain"]


@pytest.mark.slow
@pytest.mark.parametrize("key", _WITH_A_FACTORY)
def test_that_without_numba_cuda_the_factory_of_a_kernel_is_shown(key, monkeypatch):
    made = {one.path for one in source(key).kernels}
    monkeypatch.setattr(kernel_source, "missing", "numba-cuda is not installed")
    found = source(key)
    assert made <= {one.path for one in found.kernels}
    assert all("@kernel_factory" in one.text for one in found.kernels)
    assert found.remark.endswith("numba-cuda is not installed.")


def test_that_a_docstring_is_read_in_its_parts():
    story = story_in("`a`: b.\n\nIdea\n    One.\n    Two.\n\n    Three.\nLimit\n    Four.\n\nSource: C.\n")
    assert story.title == "`a`: b."
    parts = [(one.heading, one.text) for one in story.sections]
    assert parts == [("Idea", "One.\nTwo.\n\nThree."), ("Limit", "Four."), ("", "Source: C.")]
