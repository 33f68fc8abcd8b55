"""What a new border costs: one entry with its index rule. A toy one is found and obeyed everywhere."""

import json

import numpy as np
import pytest

import engine
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.image.open import sample_path
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound
from gui.explore.mask.mask_controls import ApplyControls
from gui.explore.workspace import Workspace
from gui.shell import command_line
from tests.engine.variants.case_lists import families, suited
from tests.engine.variants.cases import Case, result_of

HEIGHT, WIDTH = 7, 9
NAMES = list(Border)


def second(index, length):
    """Map every index outside to the second cell from the beginning, or to the only one."""
    if index < 0 or index >= length:
        return min(1, length - 1)
    return index


@pytest.fixture
def toy(monkeypatch):
    """A border that is an entry and a rule, and nothing else."""
    entry = second, False, "Cells outside repeat the second cell of the picture.", {}
    member = Border._new_member_(Border, "toy", *entry)
    member._name_ = "TOY"
    monkeypatch.setitem(Border._member_map_, "TOY", member)
    monkeypatch.setitem(Border._value2member_map_, "toy", member)
    monkeypatch.setattr(Border, "_member_names_", [*Border._member_names_, "TOY"])
    return member


def picture():
    return np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 1)).astype(np.float32)


def wanted(case, samples):
    """Return what the rule means, without the oracle: sums of products over cells that NumPy picks."""
    mask, (up, left) = case.mask(), case.mask().anchor
    rows = [second(row, samples.shape[0]) for row in range(-up, samples.shape[0] + mask.rows - 1 - up)]
    columns = [second(c, samples.shape[1]) for c in range(-left, samples.shape[1] + mask.columns - 1 - left)]
    cells = samples[np.ix_(rows, columns)][:, :, 0].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(cells, mask.shape)
    return np.einsum("rcmn,mn->rc", windows, mask.weights32.astype(np.float64)) + np.float32(mask.offset)


def of_every_module():
    """Yield the variants: one of each module, the others marked `matrix`; each compiles its kernels anew.

    Kernels whose threads look up one cell after the other do so alike: of these one.
    """
    first = [family[0] for family in families()]
    alike = [known for known in first if known.uses_block][1:]
    for known in (known for family in families() for known in family):
        is_tried = known in first and known not in alike
        yield pytest.param(known, marks=[] if is_tried else [pytest.mark.matrix], id=known.key)


@pytest.mark.slow
@pytest.mark.parametrize("known", list(of_every_module()))
def test_that_a_variant_agrees_with_the_oracle_at_a_new_border(toy, known):
    case = suited(known, Case("toy", HEIGHT, WIDTH, border=toy, mask_shape=(3, 5), block=Block(8, 4)))
    mask, samples = case.mask(), picture().astype(case.dtype)
    result = "uint8" if known.uint8_only else "float32"
    problem = describe_problem(samples, mask, toy, 0.0, result)
    right = oracle.correlate(samples, mask, toy)
    np.testing.assert_allclose(right[:, :, 0], wanted(case, samples), rtol=1e-12)
    out = result_of(known, problem, mask, case.block, samples)
    bound = rounding_bound(oracle.correlate(samples, mask, toy, absolute=True), mask.taps)
    added = known.added_error(problem, mask) * 255
    if result == "uint8":
        right, bound = np.clip(right, 0, 255), bound + 0.5
    assert np.all(np.abs(out - right) <= bound + added)


@pytest.mark.slow
def test_that_a_new_border_is_cut_into_bands_as_its_rule_says(toy):
    samples = np.random.default_rng(6).random((400, 30), np.float32)
    how = {"border": toy, "variant": "cpu-parallel", "device": "cpu"}
    mask = np.outer([1.0, 2.0, 3.0, 1.0], [1.0, -1.0, 2.0])
    whole = engine.correlate(samples, mask, **how)
    streamed = engine.filter_stream(samples, mask, chunk_bytes=60 * 30 * 4, **how)
    assert len(streamed.timeline.chunks) > 3
    np.testing.assert_array_equal(streamed.values, whole)


def test_that_both_user_interfaces_offer_a_new_border(toy, command, qtbot, tmp_path, capsys):
    workspace = Workspace(Mask([[1.0]]))
    controls = ApplyControls(workspace)
    qtbot.addWidget(controls)
    assert controls.border_box.itemText(controls.border_box.count() - 1) == "Toy"
    controls.border_box.activated.emit(controls.border_box.count() - 1)
    assert workspace.settings.border is toy
    assert controls.border_box.toolTip().startswith(toy.sentence)
    assert controls.value_field.isHidden()
    answer = command("filter", "--help")
    assert f"{NAMES[-1]}, toy" in " ".join(answer.out.split())
    out = tmp_path / "out.tif"
    answer = command("filter", sample_path("camera"), out, "--mask", "box:3", "--border", "toy", "--json")
    assert json.loads(answer.out)["border"] == "toy"
    with pytest.raises(SystemExit):
        command_line.parse(["screenshot", "--help"])
    assert f"{NAMES[-1]}, toy" in " ".join(capsys.readouterr().out.split())


def test_that_an_entry_without_a_rule_is_an_error():
    with pytest.raises(ValueError, match="not enough values"):
        Border._new_member_(Border, "toy", False, "No rule.", {})
