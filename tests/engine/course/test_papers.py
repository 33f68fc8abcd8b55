import pytest

from engine.course.papers import PAPERS, paper
from engine.errors import UnknownName
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.problem import MatrixProduct
from engine.variants.registry import MATMUL_VARIANTS, matmul_variant, variant
from tests.fresh_python import fresh_python

KERNELS = [(one.key, kernel) for one in PAPERS for kernel in one.kernels]


NEAREST = {"reprot": "Did you mean report? ", "Lab": "Did you mean lab? ", "lecture": ""}


@pytest.mark.parametrize(("key", "hint"), NEAREST.items())
def test_that_an_unknown_paper_is_refused_with_the_nearest_one(key, hint):
    with pytest.raises(UnknownName) as caught:
        paper(key)
    assert f"paper '{key}'" in caught.value.what
    assert caught.value.remedy == f"{hint}Choose one of report, cnn, lab, convolution, performance."


def test_that_papers_need_no_numba_and_drawing_needs_no_window():
    # Agg and SVG need no screen; a GUI backend would need Qt.
    code = (
        "import sys; from engine.course.papers import PAPERS; from engine.course.figures import svg_of;"
        "from engine.course.paper import Figure, Series; assert 'matplotlib' not in sys.modules;"
        "svg_of(Figure('t', 'x', 'y', (Series('a', (1.0, 2.0), (1.0, 2.0)),)));"
        "assert not {'numba', 'PySide6', 'matplotlib.pyplot', 'tkinter'} & set(sys.modules), len(PAPERS)"
    )
    fresh_python("-c", code)


@pytest.mark.parametrize(("key", "kernel"), KERNELS, ids=[f"{key}-{kernel.name}" for key, kernel in KERNELS])
def test_that_every_kernel_is_found_here_and_can_be_run_as_configured(key, kernel):
    here = kernel.here
    assert kernel.place
    assert Layout.named(here.layout) == here.layout
    assert here.is_product == (here.variant in {known.key for known in MATMUL_VARIANTS})
    if here.is_product:
        assert here.block.x == here.block.y
        product = MatrixProduct(100, 100, 100)
        assert matmul_variant(here.variant).unsupported(product, None, here.block, Limits()) is None
        return
    mask = resolve_mask(here.mask)
    problem = Problem(100, 120, mask_shape=mask.shape, anchor=mask.anchor, border=Border.named(here.border))
    chosen = variant(here.variant)
    assert chosen.unsupported(problem, mask, here.block or chosen.default_block, Limits()) is None
