import numpy as np
import pytest

from engine.border import Border
from engine.errors import UnknownName

NUMPY_PAD = {
    Border.REPLICATE: "edge",
    Border.REFLECT: "symmetric",
    Border.MIRROR: "reflect",
    Border.WRAP: "wrap",
}
FAR = 40


@pytest.mark.parametrize("length", range(1, 8))
@pytest.mark.parametrize("border", NUMPY_PAD)
def test_that_a_rule_is_what_numpy_pad_does_far_outside(border: Border, length: int) -> None:
    wanted = np.pad(np.arange(length), FAR, mode=NUMPY_PAD[border])
    assert [border.rule(index, length) for index in range(-FAR, length + FAR)] == wanted.tolist()


@pytest.mark.parametrize("length", range(1, 8))
@pytest.mark.parametrize("border", [Border.ZERO, Border.CONSTANT])
def test_that_ghost_cells_are_minus_one_and_the_others_themselves(border: Border, length: int) -> None:
    wanted = np.pad(np.arange(length), FAR, constant_values=-1)
    assert [border.rule(index, length) for index in range(-FAR, length + FAR)] == wanted.tolist()
    assert border.has_ghost_cells


@pytest.mark.parametrize("border", list(Border))
def test_that_a_name_leads_to_its_border_and_is_explained(border: Border) -> None:
    assert Border.named(border.value) is border
    assert Border.named(border) is border
    assert border.sentence.endswith(".")
    assert border.has_ghost_cells == (border in (Border.ZERO, Border.CONSTANT))


def test_that_an_unknown_border_is_refused_with_those_that_exist() -> None:
    with pytest.raises(
        UnknownName, match=r"border 'edge'.*zero, constant, replicate, reflect, mirror, wrap\."
    ):
        Border.named("edge")
