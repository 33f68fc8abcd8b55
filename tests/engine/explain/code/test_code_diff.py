"""Diffs of kernels: what is equal is shown as equal, and both sides are whole."""

from engine.device_info import RECORDED
from engine.explain.code.code_diff import (
    Change,
    listing_diff,
    measured_difference,
    source_diff,
)
from engine.explain.code.kernel_listing import ptx_listing, sass_listing
from engine.explain.code.kernel_source import source_of
from engine.explain.code.source import Role, SourceFunction
from engine.explain.examples import example_of, variant_named
from tests.made_runs import make_failure, make_result

NAMES = ("a", "b")


def function(text, name="correlate", path="engine/variants/a.py", first_line=10, role=Role.KERNEL):
    return SourceFunction(role, name, path, first_line, tuple(text.split("\n")))


def diff(left, right):
    return source_diff([function(left, "correlate_a")], [function(right, "correlate_b")], NAMES)


def source(key):
    return source_of(example_of(variant_named(key))).functions


def test_that_kernels_that_differ_in_their_names_alone_are_equal():
    found = diff("def correlate_a(x):\n    return x", "def correlate_b(x):\n    return x")
    assert (found.removed, found.added) == (0, 0)
    assert {row.change for row in found.rows} == {Change.SAME}


def test_that_docstrings_are_no_difference():
    found = diff(
        'def f():\n    """One.\n\n    Two.\n    """\n    return 1', 'def f():\n    """Three."""\n    return 1'
    )
    assert (found.removed, found.added) == (0, 0)


def test_that_lines_keep_their_numbers_in_their_files():
    found = diff("def f():\n    a = 1\n    return a", "def f():\n    return a")
    rows = [(row.change, row.left_number, row.right_number) for row in found.rows]
    assert rows == [(Change.SAME, 10, 10), (Change.REMOVED, 11, None), (Change.SAME, 12, 11)]


def test_that_changed_lines_stand_side_by_side():
    found = diff("def f():\n    a = 1\n    return a", "def f():\n    a = 2\n    b = 3\n    return a")
    changes = [row.change for row in found.rows]
    assert changes == [Change.SAME, Change.CHANGED, Change.ADDED, Change.SAME]
    assert (found.removed, found.added) == (1, 2)


def test_that_in_one_column_removed_lines_come_before_added_ones():
    found = diff(
        "def f():\n    a = 1\n    c = 1\n    return a", "def f():\n    a = 2\n    b = 3\n    return a"
    )
    assert [line.marked for line in found.unified()] == [
        " def f():", "-    a = 1", "-    c = 1", "+    a = 2", "+    b = 3", "     return a"
    ]  # fmt: skip


def test_that_equal_lines_far_from_a_difference_are_left_out_for_a_gap():
    lines = [f"    x{number} = 1" for number in range(20)]
    left, right = list(lines), list(lines)
    left[3], right[16] = "    y = 1", "    z = 1"
    found = diff("\n".join(["def f():", *left]), "\n".join(["def f():", *right]))
    shown = found.unified(around=1)
    gaps = [at for at, line in enumerate(shown) if line.left_number is line.right_number is None]
    assert (len(shown), len(gaps)) == (9, 1)


def test_that_functions_that_both_kernels_call_are_left_out():
    rule = function(
        "def mirror():\n    return 1", "mirror", "engine/geometry/border.py", 60, Role.DEVICE_FUNCTION
    )
    left = [function("def f():\n    return 1", "correlate_a"), rule]
    right = [function("def f():\n    return 2", "correlate_b", "engine/variants/b.py"), rule]
    found = source_diff(left, right, NAMES)
    assert not [row for row in found.rows if "mirror" in row.left + row.right]


def test_that_each_side_of_a_diff_is_the_whole_kernel():
    found = source_diff(source("naive"), source("tiled"), NAMES)
    right = [row.right for row in found.rows if row.right_number is not None]
    (kernel,) = [one for one in source("tiled") if one.is_kernel]
    without_docstring = [line for line in kernel.lines if '"""' not in line]
    assert right == without_docstring


def test_that_registers_labels_and_names_are_no_difference_in_ptx():
    code = (
        "\n.visible .entry _ZN1{0}E(\n)\n{{\n$L__BB{1}_2:\n\tadd.s64 \t%rd{1}, %rd{1}, 8;\n"
        "\tbra.uni \t$L__BB{1}_2;\n}}"
    )
    left, right = (
        ptx_listing(code.format(name, number), f"kernel_{name}", "sm_90") for name, number in ("a1", "b2")
    )
    found = listing_diff([left], [right], NAMES)
    assert (found.removed, found.added) == (0, 0)
    assert [row.right for row in found.rows if "add" in row.right] == ["\tadd.s64 \t%rd2, %rd2, 8;"]


def test_that_registers_and_addresses_are_no_difference_in_sass():
    code = "        /*{1}0*/                   IADD3 R{0}, P0, R{0}, UR{0}, RZ ;\n"
    left, right = (sass_listing(code.format(number, f"00{number}"), "k", "sm_90") for number in (1, 2))
    assert listing_diff([left], [right], NAMES).removed == 0


def test_that_of_measured_blocks_the_fastest_counts():
    runs = [
        make_result("naive", 3.0),
        make_result("naive", 2.0),
        make_result("tiled", 1.0),
        make_result("tiled", 4.0),
    ]
    found = measured_difference(runs, "naive", "tiled")
    assert (found.before_ms, found.after_ms, found.saved) == (2.0, 1.0, 0.5)
    assert "Gaussian" in found.problem


def test_that_without_both_times_on_one_device_nothing_was_saved():
    assert measured_difference([make_result("naive", 1.0)], "naive", "tiled") is None
    assert measured_difference([make_result("naive", 1.0), make_failure("tiled")], "naive", "tiled") is None
    elsewhere = make_result("tiled", 1.0, device="cuda:1")
    assert measured_difference([make_result("naive", 1.0), elsewhere], "naive", "tiled") is None


def test_that_recorded_times_are_marked_and_give_way_to_measured_ones():
    recorded = [make_result(key, ms, device=RECORDED) for key, ms in (("naive", 9.0), ("tiled", 3.0))]
    assert "recorded, " in measured_difference(recorded, "naive", "tiled").sentence
    here = [make_result("naive", 2.0), make_result("tiled", 0.5)]
    found = measured_difference([*recorded, *here], "naive", "tiled")
    assert (found.before_ms, found.after_ms) == (2.0, 0.5)
    assert "recorded" not in found.sentence
