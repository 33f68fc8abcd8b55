"""What the window learns of a kernel's code: source, listings, diffs."""

import pytest

from engine.explain.code import answers
from engine.explain.code.listing import Form
from engine.explain.gpus import Architecture
from engine.explain.messages import CodeRequest
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.mask.generators import gaussian
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import mask_job, operation_job

AMPERE = Architecture(8, 6)


@pytest.fixture
def picture():
    """A picture of 200 x 130 pixels, 8 bit and in colour, in shared memory."""
    (pixels,) = shared.create(((130, 200, 3), "uint8"))
    yield PictureHandle(pixels, None, ScreenLevels(()), "made", "made")
    shared.unlink(pixels.name)


@pytest.fixture
def job_of(picture):
    """Return a function that makes a job of a variant with a Gaussian of 5 x 5."""

    def job(key, **fields):
        return mask_job(picture=picture, variant=key, **{"mask": gaussian(5)} | fields)

    return job


def shown(job, **fields):
    return answers.describe(CodeRequest(job, architecture=AMPERE, **fields), lambda step: None)


def test_that_the_source_is_that_of_the_job(job_of):
    code = shown(job_of("tiled", block=Block(16, 8), border=Border.MIRROR))
    assert code.source.kernels[0].name == "correlate_tiled"
    assert {one.name for one in code.source.functions[1:]} == {"mirror"}
    assert "border mirror, picture uint8, 3 channels" in code.compiled_for
    assert (code.block, code.note) == (Block(16, 8), "")


def test_that_a_kernel_that_cannot_do_the_job_is_shown_for_what_it_takes(job_of):
    code = shown(job_of("row-tiled"))
    assert code.source.kernels[0].name == "correlate_row_tiled"
    assert code.note.startswith("row-tiled: ")
    assert "So it is shown for mask gaussian 1 × 5" in code.note


def test_that_the_kernels_of_other_operations_have_source(picture):
    job = operation_job(operation="median", settings={"size": 5}, variant="median-tiled", picture=picture)
    code = shown(job, other="median-naive")
    assert code.compiled_for.startswith("operation median (size=5)")
    assert (code.diff.left, code.diff.right) == ("median-tiled", "median-naive")


def test_that_of_another_operation_automatic_is_what_would_run(picture):
    job = operation_job(operation="median", picture=picture, device="cpu")
    assert shown(job).variant == "cpu-median"


def test_that_two_sources_are_compared(job_of):
    diff = shown(job_of("naive"), other="tiled").diff
    assert (diff.left, diff.right) == ("naive", "tiled")
    assert any("cuda.shared.array" in row.right for row in diff.rows if not row.left)


@pytest.mark.slow
@needs_nvvm
def test_that_two_listings_are_compared(job_of):
    code = shown(job_of("naive"), form=Form.PTX, other="constant")
    assert any("ld.const" in row.right for row in code.diff.rows)
