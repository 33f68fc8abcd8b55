import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.course.paper import Configuration
from engine.geometry.block import Block
from gui.course.kernels_model import (
    SECOND_ROLE,
    VARIANT_ROLE,
    Column,
    KernelsModel,
    configuration_text,
    why_not_loadable,
)
from gui.engine_link.engine_state import EngineState
from tests.gui.made_course import PAPER
from tests.gui.made_results import make_engine_state

VARIANTS = ("cpu-serial", "naive")
PRODUCT = Configuration("matmul-tiled", block=Block(16, 16), task="product")


@pytest.mark.parametrize(
    ("here", "variants", "reason"),
    [
        (Configuration("naive", "gaussian:5:1"), VARIANTS, ""),
        (PRODUCT, VARIANTS, ""),
        (Configuration("lost", "box-3"), VARIANTS, "no variant lost"),
        (Configuration("naive", "no such mask"), VARIANTS, "no such mask"),
        (Configuration("naive", "box-3", border="round"), VARIANTS, "no border called round"),
        (Configuration("naive", "box-3", layout="loose"), VARIANTS, "no layout called loose"),
        (Configuration("naive", "box-3"), (), "starting"),
    ],
    ids=lambda given: getattr(given, "variant", given),
)
def test_that_a_configuration_can_be_loaded_or_the_reason_names_what_is_missing(here, variants, reason):
    found = why_not_loadable(here, variants)
    assert reason in found
    assert bool(found) == bool(reason)


def test_that_a_configuration_is_described_in_a_line():
    here = Configuration("naive", "box-3", Block(32, 8), "replicate", "packed")
    assert configuration_text(here) == "box-3, 32 x 8, border replicate, rows packed"
    assert configuration_text(Configuration("cpu-serial", "box-3")) == "box-3, border zero"
    assert configuration_text(PRODUCT) == "tile 16 x 16"


def test_that_a_row_says_what_is_which_what_differs_and_why_it_cannot_be_loaded(course):
    kernels = KernelsModel(course, make_engine_state())
    kernels.tester = QAbstractItemModelTester(kernels, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert kernels.rowCount() == len(PAPER.kernels)
    paper, here, difference = (kernels.index(1, column) for column in list(Column)[:3])
    assert (paper.data(), paper.data(SECOND_ROLE)) == ("ConvolutionKernel", "2.) Device Function")
    assert paper.data(Qt.ItemDataRole.AccessibleTextRole) == "ConvolutionKernel, 2.) Device Function"
    assert here.data() == here.data(VARIANT_ROLE) == "naive"
    assert here.data(SECOND_ROLE) == "gaussian:5:1, 32 x 8, border replicate"
    assert here.data(Qt.ItemDataRole.AccessibleTextRole) == f"naive, {here.data(SECOND_ROLE)}"
    assert difference.data() == "Sums are float32, not double."
    assert kernels.index(0, Column.DIFFERENCE).data() == "Nothing."
    assert [bool(kernels.reason(row)) for row in range(4)] == [False, False, True, True]
    assert "no variant lost" in kernels.index(2, Column.DIFFERENCE).data()
    assert "no such mask" in kernels.index(3, Column.PAPER).data(Qt.ItemDataRole.ToolTipRole)
    course.choose("lab")
    assert [kernels.kernel(row).name for row in range(kernels.rowCount())] == ["MatrixMul"]


def test_that_rows_can_be_loaded_as_soon_as_the_engine_names_its_variants(course):
    state = EngineState()
    kernels = KernelsModel(course, state)
    assert "starting" in kernels.reason(0)
    assert kernels.index(1, Column.DIFFERENCE).data() == PAPER.kernels[1].difference
    ready = make_engine_state()
    state.variants, state.devices = ready.variants, ready.devices
    state.set_status(ready.status)
    assert kernels.reason(0) == ""
