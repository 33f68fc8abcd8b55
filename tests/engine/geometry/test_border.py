import re

import numpy as np
import pytest

import engine.geometry.border
from engine.errors import UnknownName
from engine.geometry.border import Border

GHOSTS = {Border.ZERO: {"constant_values": -1}, Border.CONSTANT: {"constant_values": -1}}
NUMPY_PAD = GHOSTS | {
    Border.REPLICATE: {"mode": "edge"},
    Border.REFLECT: {"mode": "symmetric"},
    Border.MIRROR: {"mode": "reflect"},
    Border.WRAP: {"mode": "wrap"},
}
OWN = {border.value for border in Border}
FAR = 40


@pytest.mark.parametrize("border", Border)
def test_that_a_rule_is_what_numpy_pad_does_far_outside(border):
    for length in range(1, 8):
        wanted = np.pad(np.arange(length), FAR, **NUMPY_PAD[border])
        assert [border.rule(index, length) for index in range(-FAR, length + FAR)] == wanted.tolist()


@pytest.mark.parametrize("border", Border)
def test_that_a_name_leads_to_its_border_and_is_explained(border):
    assert Border.named(border.value) is border
    assert Border.named(border) is border
    assert border.sentence.endswith(".")
    assert border.has_ghost_cells == (border in GHOSTS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("edge", r"border 'edge'.*zero, constant, replicate, reflect, mirror, wrap\."),
        ("BORDER_REFLECT_101", "What OpenCV calls BORDER_REFLECT_101 is mirror here. Choose one of zero"),
        ("cv2.BORDER_DEFAULT", "What OpenCV calls cv2.BORDER_DEFAULT is mirror here. Choose one of zero"),
        ("Mirror", r"border 'Mirror'.*Did you mean mirror\?"),
        (4, r"border '4'.*A border is given by its name\. Choose one of zero"),
    ],
)
def test_that_another_name_is_refused_with_ours(name, words):
    with pytest.raises(UnknownName, match=words):
        Border.named(name)


def test_that_every_foreign_name_of_the_table_in_the_docs_is_answered_as_it_says():
    assert engine.geometry.border.__doc__
    rows = [line for line in engine.geometry.border.__doc__.splitlines() if line.split(" ")[0] in OWN]
    assert len(rows) == len(OWN)
    asked = set()
    for row in rows:
        own, _, *others = re.split(r" {2,}", row)
        for name in (cell.split(",")[0] for cell in others):
            # Zero is the constant border whose constant is 0.
            meant = "constant" if own == "zero" else own
            if name not in OWN:
                asked.add(name)
                with pytest.raises(UnknownName, match=rf"calls {name} is {meant} here\."):
                    Border.named(name)
    assert asked >= {"nearest", "grid-wrap", "BORDER_REFLECT_101", "edge", "symmetric"}
