import re

import numpy as np
import pytest

import engine.geometry.border
from engine.errors import UnknownName
from engine.geometry.border import Border

NUMPY_PAD = {
    Border.REPLICATE: "edge",
    Border.REFLECT: "symmetric",
    Border.MIRROR: "reflect",
    Border.WRAP: "wrap",
}
OWN = {border.value for border in Border}
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


@pytest.mark.parametrize("name", ["nearest", "grid-wrap", "BORDER_REFLECT_101", "cv2.BORDER_DEFAULT", "edge"])
def test_that_another_librarys_name_is_answered_with_ours(name: str) -> None:
    library, border = {
        "nearest": ("SciPy", "replicate"),
        "grid-wrap": ("SciPy", "wrap"),
        "BORDER_REFLECT_101": ("OpenCV", "mirror"),
        "cv2.BORDER_DEFAULT": ("OpenCV", "mirror"),
        "edge": ("NumPy", "replicate"),
    }[name]
    with pytest.raises(
        UnknownName, match=f"What {library} calls {name} is {border} here. Choose one of zero"
    ):
        Border.named(name)


def test_that_every_foreign_name_of_the_table_in_the_docs_is_answered_as_it_stands_there() -> None:
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


def test_that_scipys_and_numpys_reflect_stay_ours_whatever_numpy_means_by_it() -> None:
    assert Border.named("reflect") is Border.REFLECT
    assert NUMPY_PAD[Border.MIRROR] == "reflect"


def test_that_a_name_in_capitals_or_a_number_is_answered_in_words() -> None:
    with pytest.raises(UnknownName, match=r"border 'Mirror'.*Did you mean mirror\?"):
        Border.named("Mirror")
    with pytest.raises(UnknownName, match=r"border '4'.*A border is given by its name\. Choose one of zero"):
        Border.named(4)  # type: ignore[arg-type]
