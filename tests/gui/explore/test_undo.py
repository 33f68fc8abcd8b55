"""Every setting is on one stack, and undo brings the very state back."""

import random
from dataclasses import replace

from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.presets import preset
from gui.explore.state import PictureSource
from gui.runs.state import ExchangeRuns
from tests.made_runs import make_result

SETTINGS = {
    "border": Border.CONSTANT, "cval": 7.5, "flip": True, "normalise": True, "variant": "tiled",
    "block": Block(8, 8), "device": "cpu", "layout": Layout.PACKED, "result_type": "same",
    "range_mode": "absolute", "baseline": "naive", "blocks": (Block(8, 8), Block(16, 16)),
    "patch_path": "/p/eye.png",
}  # fmt: skip


def test_that_undo_takes_back_the_setting_that_was_edited_last_and_numbers_in_a_row_as_one(workspace):
    for name in SETTINGS:
        workspace.set_mask(preset("box-3"), "Choose Box")
        before = workspace.state
        workspace.change(**{name: SETTINGS[name]})
        assert ": " in workspace.undo_stack.undoText()
        workspace.undo_stack.undo()
        assert workspace.state == before
    workspace.undo_stack.clear()
    for value in (1.0, 2.0, 3.0):
        workspace.change(cval=value)
    assert [workspace.undo_stack.text(at) for at in range(workspace.undo_stack.count())] == [
        "Border value: 3"
    ]
    workspace.change(cval=0.0)
    assert workspace.undo_stack.count() == 0
    workspace.adopt(baseline="naive")
    assert (workspace.settings.baseline, workspace.undo_stack.count()) == ("naive", 0)


def test_that_undo_opens_the_earlier_picture_and_one_that_is_gone_leaves_what_is_shown(bench):
    bench.open("other.png")
    assert bench.workspace.undo_stack.undoText() == "Open other.png"
    bench.fake.automatic = True
    for step, name in (("undo", "photo.png"), ("redo", "other.png")):
        getattr(bench.workspace.undo_stack, step)()
        bench.settle()
        assert bench.workspace.picture.title == name
        assert bench.workspace.undo_stack.count() == 1
    bench.open("other.png")
    missing = replace(bench.workspace.state, source=PictureSource(sample="missing"))
    bench.workspace.edit(missing, "Open session")
    bench.fake.automatic = True
    bench.settle()
    assert bench.messages.newest.what == "missing cannot be opened"
    assert bench.workspace.picture.title == "other.png"
    assert bench.workspace.state.source == PictureSource(sample="other.png")


def test_that_200_random_edits_are_undone_and_redone_to_equal_states(workspace):
    dice = random.Random(5)
    presets = [preset(name) for name in ("box-3", "sobel-x", "sharpen", "gaussian-3")]
    states = [workspace.state]
    for _ in range(200):
        match dice.randrange(6):
            case 0:
                workspace.set_mask(dice.choice(presets), "Preset")
            case 1:
                cell = dice.randrange(3), dice.randrange(3)
                mask = workspace.mask if workspace.mask.shape == (3, 3) else presets[0]
                workspace.set_mask(mask.with_weight(*cell, dice.randrange(9)), "Cell", merge_key=cell[0])
            case 2:
                workspace.choose(dice.choice(("", "median", "compress")))
            case 3:
                workspace.set_parameter("size", dice.choice((3, 5, 7)))
            case 4:
                workspace.set_mask(Mask([[dice.random()]]).with_offset(dice.randrange(3)), flip=True)
            case _:
                name = dice.choice(list(SETTINGS))
                workspace.change(
                    **{name: dice.choice((SETTINGS[name], getattr(type(workspace.settings)(), name)))}
                )
        if workspace.undo_stack.count() < len(states):
            states = states[: workspace.undo_stack.count()]
        states.append(workspace.state)
    stack = workspace.undo_stack
    assert stack.count() > 100
    for at in range(stack.count() - 1, -1, -1):
        stack.undo()
        assert workspace.state == states[at]
    for at in range(1, stack.count() + 1):
        stack.redo()
        assert workspace.state == states[at]


def test_that_cleared_results_come_back_among_later_ones_with_what_they_were_asked_for(workspace, results):
    for number, variant in enumerate(("naive", "tiled", "cached")):
        results.add(make_result(variant, 2.0), ("problem", number))
    rows = results.kept
    workspace.undo_stack.push(ExchangeRuns(results, "Delete 2 results", results.kept[:2]))
    assert [row.result.variant for row in results.kept] == ["cached"]
    results.add(make_result("cpu-serial", 9.0))
    workspace.undo_stack.undo()
    assert results.kept[:3] == rows
    assert results.results()[3].variant == "cpu-serial"
