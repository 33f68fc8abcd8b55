"""The source of every kernel, diffs of kernels, and the teaching order as a story of them."""

import re
from html.parser import HTMLParser

import pytest

from engine.device_info import RECORDED
from engine.explain import kernel_code
from engine.explain.code_diff import Change, diff_of, measured_difference
from engine.explain.code_lines import SAVES, Role, SourceFunction, story_in, story_of
from engine.explain.examples import example_of, variant_named
from engine.explain.kernel_code import ptx_listing, sass_listing, source_of
from engine.explain.teaching_story import compared_with, slides, teaching_story
from engine.tasks.registry import TASKS
from engine.work.filtering.variants import VARIANTS
from tests.fresh_python import ROOT
from tests.made_runs import make_failure, make_result

EVERY = [variant.key for task in TASKS.values() for variant in task.variants]


def source(key):
    return source_of(example_of(variant_named(key)))


def named(key, role):
    return [one.name for one in source(key).functions if one.role is role]


@pytest.mark.slow
def test_that_every_variant_has_source_that_stands_in_its_files_and_a_story():
    for key in EVERY:
        variant, found = variant_named(key), source(key)
        for one in found.functions:
            lines = (ROOT / one.path).read_text(encoding="utf-8").split("\n")
            first = one.first_line - 1
            assert tuple(lines[first : first + len(one.lines)]) == one.lines
            assert "def " in one.text
            # The words of the emission layer are left out.
            assert not one.path.startswith(("engine/variants/emit/", "engine/device/thread_"))
        first, library = found.functions[0], variant.library
        assert first.role is (Role.HOST if library else Role.KERNEL)
        assert first.path.startswith("engine/variants/")
        assert (library in found.remark) if library else found.kernels
        story = story_of(variant)
        assert key in story.title
        assert all(section.text for section in story.sections)


def test_that_kernels_stand_with_their_factory_emitters_with_what_calls_them():
    (kernel,) = source("naive").kernels
    assert (kernel.name, kernel.path) == ("correlate_naive", "engine/variants/ladder/naive.py")
    assert (kernel.lines[0], kernel.lines[-1]) == ("@kernel_factory", "    return correlate_naive")
    assert named("separable-l1", Role.KERNEL) == ["separable_l1_horizontal", "separable_l1_vertical"]
    assert named("register-blocked", Role.EMITTER) == ["accumulator", "tile_loader", "result_storer"]
    assert "row_sums" in named("register-blocked", Role.HELPER)
    # Compiled functions of the CPU are kernels.
    assert named("cpu-separable-serial", Role.KERNEL) == ["along_rows_serial", "down_columns_serial"]
    assert "no PTX" in source("cpu-serial").remark


# What computes the steps of a chain is only known where their passes can be made.
_WITH_A_FACTORY = [key for key in EVERY if variant_named(key).has_kernels and key != "cuda-chain"]


@pytest.mark.slow
def test_that_without_numba_cuda_the_factory_of_a_kernel_is_shown(monkeypatch):
    made = {key: {one.path for one in source(key).kernels} for key in _WITH_A_FACTORY}
    monkeypatch.setattr(kernel_code, "missing", "numba-cuda is not installed")
    for key, paths in made.items():
        found = source(key)
        assert paths <= {one.path for one in found.kernels}, key
        assert all("@kernel_factory" in one.text for one in found.kernels)
        assert found.remark.endswith("numba-cuda is not installed.")


def test_that_a_docstring_is_read_in_its_parts():
    story = story_in("`a`: b.\n\nIdea\n    One.\n    Two.\n\n    Three.\nLimit\n    Four.\n\nSource: C.\n")
    assert story.title == "`a`: b."
    parts = [(one.heading, one.text) for one in story.sections]
    assert parts == [("Idea", "One.\nTwo.\n\nThree."), ("Limit", "Four."), ("", "Source: C.")]


NAMES = ("a", "b")


def diff(left, right, names=("f", "f")):
    """Return the diff of two kernels, whose lines stand apart by semicolons."""
    sides = []
    for name, body in zip(names, (left, right), strict=True):
        lines = f"def {name}():", *(f"    {line.strip()}" for line in body.split(";"))
        sides.append([SourceFunction(Role.KERNEL, name, "engine/variants/a.py", 10, lines)])
    return diff_of(*sides, NAMES)


def test_that_lines_keep_their_numbers_and_changed_ones_stand_side_by_side_or_removed_ones_first():
    found = diff("a = 1; return a", "return a")
    rows = [(row.change, row.left_number, row.right_number) for row in found.rows]
    assert rows == [(Change.SAME, 10, 10), (Change.REMOVED, 11, None), (Change.SAME, 12, 11)]
    found = diff("a = 1; c = 1; return a", "a = 2; b = 3; d = 4; return a")
    changes = [Change.SAME, Change.CHANGED, Change.CHANGED, Change.ADDED, Change.SAME]
    assert [row.change for row in found.rows] == changes
    assert (found.removed, found.added) == (2, 3)
    assert [line.marked for line in found.unified()] == [
        " def f():", "-    a = 1", "-    c = 1", "+    a = 2", "+    b = 3", "+    d = 4", "     return a"
    ]  # fmt: skip


def test_that_equal_lines_far_from_a_difference_are_left_out_for_a_gap():
    lines = [f"x{number} = 1" for number in range(20)]
    left, right = list(lines), list(lines)
    left[3], right[16] = "y = 1", "z = 1"
    shown = diff("; ".join(left), "; ".join(right)).unified(around=1)
    gaps = [at for at, line in enumerate(shown) if line.left_number is line.right_number is None]
    assert (len(shown), len(gaps)) == (9, 1)


def test_that_functions_that_both_kernels_call_are_left_out_and_all_of_a_kernel_is_there():
    left, right = source("naive").functions, source("tiled").functions
    assert "ghost" in {one.name for one in left} & {one.name for one in right}
    found = diff_of(left, right, NAMES)
    assert not [row for row in found.rows if "def ghost" in row.left + row.right]
    right = [row.right for row in found.rows if row.right_number is not None]
    (kernel,) = [one for one in source("tiled").functions if one.role is Role.KERNEL]
    assert right == [line for line in kernel.lines if '"""' not in line]


def test_that_registers_labels_addresses_docstrings_and_names_are_no_difference():
    for found in (
        diff("return x", "return x", ("correlate_a", "correlate_b")),
        diff('"""One.;; Two.;"""; return 1', '"""Three."""; return 1'),
    ):
        assert {row.change for row in found.rows} == {Change.SAME}
    code = (
        "\n.visible .entry _ZN1{0}E(\n)\n{{\n$L__BB{1}_2:\n\tadd.s64 \t%rd{1}, %rd{1}, 8;\n"
        "\tbra.uni \t$L__BB{1}_2;\n}}"
    )
    left, right = (
        ptx_listing(code.format(name, number), f"kernel_{name}", "sm_90") for name, number in ("a1", "b2")
    )
    found = diff_of([left], [right], NAMES)
    assert (found.removed, found.added) == (0, 0)
    assert [row.right for row in found.rows if "add" in row.right] == ["\tadd.s64 \t%rd2, %rd2, 8;"]
    code = "        /*{1}0*/                   IADD3 R{0}, P0, R{0}, UR{0}, RZ ;\n"
    left, right = (sass_listing(code.format(number, f"00{number}"), "k", "sm_90") for number in (1, 2))
    assert diff_of([left], [right], NAMES).removed == 0


def test_that_of_measured_blocks_the_fastest_counts_and_recorded_times_give_way_to_measured_ones():
    runs = [make_result(*one) for one in (("naive", 3.0), ("naive", 2.0), ("tiled", 1.0), ("tiled", 4.0))]
    recorded = [make_result(key, ms, device=RECORDED) for key, ms in (("naive", 9.0), ("tiled", 3.0))]
    found = measured_difference([*recorded, *runs], "naive", "tiled")
    assert (found.before_ms, found.after_ms, found.saved) == (2.0, 1.0, 0.5)
    assert "Gaussian" in found.problem
    assert "recorded" not in found.sentence
    assert "recorded, " in measured_difference(recorded, "naive", "tiled").sentence
    # Without both times on one device nothing was saved.
    for others in ([], [make_failure("tiled")], [make_result("tiled", 1.0, device="cuda:1")]):
        assert measured_difference([make_result("naive", 1.0), *others], "naive", "tiled") is None


RUNS = [make_result("naive", 2.0), make_result("tiled", 0.5)]


@pytest.fixture(scope="module")
def chapters():
    return teaching_story(RUNS)


class Outline(HTMLParser):
    """What a page refers to, and whether its elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.anchors, self.links = [], set(), set()

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.anchors |= {value for name, value in attrs if name == "id"}
        self.links |= {value for name, value in attrs if name in ("href", "src")}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


BEFORE = {
    "tiled": "naive", "constant": "naive", "cached": "tiled", "cached-constant": "cached",
    "separable-l2": "separable-l1", "register-blocked": "tiled", "separable-fused": "register-blocked",
    "row-naive": "naive", "naive": None, "digit-sums": None,
}  # fmt: skip


@pytest.mark.slow
def test_that_steps_are_in_teaching_order_each_with_its_idea_its_lines_and_what_it_saved(chapters):
    kernels = [one for one in VARIANTS if one.has_kernels]
    found = {key: compared_with(variant_named(key), kernels) for key in BEFORE}
    assert {key: one and one.key for key, one in found.items()} == BEFORE
    steps = {step.key: step for step in next(iter(chapters.values()))}
    assert list(steps) == [one.key for one in kernels]
    tiled = steps["tiled"]
    assert "shared memory" in tiled.idea
    assert tiled.source.story.part(SAVES).startswith("Against `naive`")
    assert (tiled.diff.left, tiled.diff.right, tiled.measured.saved) == ("naive", "tiled", 0.75)
    # Variants of one kernel are compared with the first.
    assert (steps["low-rank-3"].before, steps["low-rank-3"].diff.removed) == ("separable-fused", 0)


def test_that_slides_need_nothing_from_elsewhere_and_show_what_was_saved(chapters):
    page = slides(chapters, "Measured here & now.")
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert all(link.startswith("#") for link in outline.links)
    assert {link[1:] for link in outline.links} <= outline.anchors
    assert not re.search(r"<script|<link|@import|url\(", page)
    slide = page.partition('<section id="tiled">')[2].partition("</section>")[0]
    assert "0.500 ms instead of 2.00 ms, 75 % less than naive" in slide
    assert '<span class="added">+' in slide
    assert "Measured here &amp; now." in page
