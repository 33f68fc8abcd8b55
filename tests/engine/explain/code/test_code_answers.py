"""What the window learns of a kernel's code: source, listings, diffs, slides."""

import pickle

import pytest

from engine.errors import Cancelled, FileWriteError
from engine.explain.code import answers
from engine.explain.code.listing import Form
from engine.explain.code.teaching_story import about_text, slides, teaching_story
from engine.explain.gpus import Architecture
from engine.explain.messages import CodeRequest, SaveSlides
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.mask.generators import gaussian
from tests.engine.variants.emitted import needs_nvvm
from tests.made_runs import make_result
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


def test_that_the_reply_can_be_sent_to_another_process(job_of):
    code = shown(job_of("tiled"), other="naive")
    assert pickle.loads(pickle.dumps(code)) == code


def test_that_slides_are_those_of_the_command(tmp_path, monkeypatch):
    # What a tap costs would need every kernel compiled.
    monkeypatch.setattr("engine.explain.code.teaching_story.missing", "not in this test")
    results = (make_result("naive", 2.0), make_result("tiled", 0.5))
    out = tmp_path / "slides.html"
    saved = answers.save_slides(SaveSlides(str(out), results), lambda step: None)
    request = SaveSlides("", results)
    chapters = teaching_story(results, request.architecture)
    assert out.read_text(encoding="utf-8") == slides(chapters, about_text(results, request.architecture))
    assert saved.path == str(out)


def test_that_slides_that_are_stopped_leave_no_file(tmp_path):
    def stop(step):
        raise Cancelled("The slides were stopped")

    with pytest.raises(Cancelled):
        answers.save_slides(SaveSlides(str(tmp_path / "slides.html")), stop)
    assert list(tmp_path.iterdir()) == []


def test_that_a_place_where_no_file_can_be_is_refused_before_anything_is_compiled(tmp_path):
    steps = []
    with pytest.raises(FileWriteError):
        answers.save_slides(SaveSlides(str(tmp_path / "gone" / "slides.html")), steps.append)
    assert steps == []
