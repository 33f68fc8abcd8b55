import pytest

from engine.course.paper import Configuration
from engine.course.papers import PAPERS
from engine.geometry.block import Block
from gui.course.course_loading import configuration_text, why_not_loadable

VARIANTS = ("cpu-serial", "naive")


def test_that_a_known_variant_with_its_mask_can_be_loaded():
    assert why_not_loadable(Configuration("naive", "gaussian:5:1"), VARIANTS) == ""


@pytest.mark.parametrize(
    ("here", "named"),
    [
        (Configuration("lost", "box-3"), "no variant lost"),
        (Configuration("naive", "no such mask"), "no such mask"),
        (Configuration("naive", "box-3", border="round"), "no border called round"),
        (Configuration("naive", "box-3", layout="loose"), "no layout called loose"),
    ],
)
def test_that_what_cannot_be_loaded_has_a_reason(here, named):
    assert named in why_not_loadable(here, VARIANTS)


def test_that_before_the_engine_is_up_the_reason_is_that_it_starts():
    assert "starting" in why_not_loadable(Configuration("naive", "box-3"), ())


def test_that_a_matrix_product_can_be_loaded():
    assert (
        why_not_loadable(Configuration("matmul-tiled", block=Block(16, 16), task="product"), VARIANTS) == ""
    )


def test_that_every_kernel_of_every_paper_has_a_mask_and_a_border_that_there_are():
    kernels = [kernel.here for paper in PAPERS for kernel in paper.kernels]
    assert len(kernels) > 10
    for here in kernels:
        assert why_not_loadable(here, [here.variant]) == "", here


def test_that_a_configuration_is_told_in_a_line():
    here = Configuration("naive", "box-3", Block(32, 8), "replicate", "packed")
    assert configuration_text(here) == "box-3, 32 x 8, border replicate, rows packed"
    assert configuration_text(Configuration("cpu-serial", "box-3")) == "box-3, border zero"
    assert (
        configuration_text(Configuration("matmul-tiled", block=Block(16, 16), task="product"))
        == "tile 16 x 16"
    )
