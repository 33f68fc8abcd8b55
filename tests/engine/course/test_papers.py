import subprocess
import sys
from pathlib import Path

import pytest

from engine.course.counted import counted_tables
from engine.course.papers import PAPERS, paper
from engine.errors import UnknownName
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.problem import MatrixProduct
from engine.variants.registry import MATMUL_VARIANTS, matmul_variant, variant

ROOT = Path(__file__).resolve().parents[3]
KERNELS = [(one.key, kernel) for one in PAPERS for kernel in one.kernels]
every_paper = pytest.mark.parametrize("one", PAPERS, ids=lambda one: one.key)


def test_that_the_keys_are_stable():
    assert [one.key for one in PAPERS] == ["report", "cnn", "lab", "convolution", "performance"]


@pytest.mark.parametrize(
    ("key", "hint"), [("reprot", "report"), ("Lab", "lab"), ("lecture", ""), ("convolutions", "convolution")]
)
def test_that_an_unknown_paper_is_refused_with_the_nearest_one(key, hint):
    with pytest.raises(UnknownName) as caught:
        paper(key)
    assert f"paper '{key}'" in caught.value.what
    assert caught.value.remedy.endswith("Choose one of report, cnn, lab, convolution, performance.")
    assert caught.value.remedy.startswith(f"Did you mean {hint}?" if hint else "")


def test_that_the_papers_are_known_without_numba():
    code = (
        "import sys; from engine.course.papers import PAPERS; assert 'numba' not in sys.modules, len(PAPERS)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@every_paper
def test_that_the_tables_are_those_that_the_paper_lists(one):
    assert tuple(table.title for table in counted_tables(one.key)) == one.tables


@every_paper
def test_that_every_row_has_a_cell_for_each_heading_and_first_ones_that_name_it(one):
    for table in counted_tables(one.key):
        assert all(len(row) == len(table.headings) for row in table.rows)
        assert all(row[0].printed and not row[0].here and not row[0].reason for row in table.rows)
        for cell in (cell for row in table.rows for cell in row[1:]):
            assert not (cell.here and cell.reason)


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
