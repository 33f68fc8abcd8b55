"""A host without faults: open, preview, run, check, save, count, multiply, cancel."""

import json
from concurrent.futures import CancelledError

import numpy as np
import pytest

from engine.course.papers import CourseRequest, MeasureCourse
from engine.course.tables import counted_tables
from engine.device.launches import DeviceKind
from engine.errors import BadValue, Cancelled, EngineError, FileWriteError, ImageReadError, UnknownName
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.host import shared
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture, Saved, SaveResult
from engine.host.request import Check, Preview, Run, answer, segments_of
from engine.image.open import open_image, open_sample
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct, ProductGrid, ProductRequest, tile_of
from engine.work.filtering import oracle
from engine.work.filtering.variants import VARIANTS
from tests.engine.host.conftest import PATIENCE_S, SHARED_MEMORY, shared_memory_of
from tests.picture_jobs import mask_job

SMOOTH = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).divided_by(16)
ON_CUDA = [known.device is DeviceKind.CUDA for known in VARIANTS]
# A sample of it takes 70 ms in plain loops: a run of the most samples that are taken lasts 14 s.
LONG = Mask([[1.0] * 9] * 9)
SMALL = MatrixProduct(5, 7, 6)


@pytest.fixture(scope="module")
def picture(calm):
    return calm.open_sample("camera")


@pytest.fixture(scope="module")
def tiny(calm, tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.png"
    save_image(np.arange(12 * 20, dtype=np.uint8).reshape(12, 20), path)
    return calm.ask(OpenPicture(str(path)))


def job_of(picture, mask=SMOOTH, **more):
    how = {"border": Border.MIRROR, "variant": "cpu-parallel", "device": "cpu", **more}
    return mask_job(picture=picture, mask=mask, **how)


def reasons(calm, job):
    """Return for each variant why it cannot do a job."""
    found = {availability.variant: str(availability.reason or "") for availability in calm.ask(Check(job))}
    assert list(found) == [known.key for known in VARIANTS]
    return found


def test_that_a_sample_is_opened_into_shared_memory(picture):
    original = open_sample("camera")
    assert np.array_equal(shared.attach(picture.pixels)[:, :, 0], original.pixels)
    assert picture.sample == "camera"
    level = shared.attach(picture.screen.levels[0])
    assert np.array_equal(level[:, :, :3], np.repeat(original.pixels[:, :, np.newaxis], 3, 2))
    assert (level[:, :, 3] == 255).all()


def test_that_a_preview_is_saved_as_it_is_shown(calm, picture, tmp_path):
    reply = calm.ask(Preview(job_of(picture)))
    assert (reply.variant, reply.device, reply.result) == ("cpu-parallel", "cpu", None)
    wanted = oracle.correlate(shared.attach(picture.pixels), SMOOTH, Border.MIRROR).astype(np.float32)
    assert np.array_equal(shared.attach(reply.values), wanted)
    path = str(tmp_path / "out.png")
    assert calm.ask(SaveResult(picture, reply.values, path)) == Saved(path)
    assert np.array_equal(open_image(path).pixels, np.rint(np.clip(wanted, 0, 255))[:, :, 0])
    calm.client.release(*segments_of(reply))


def test_that_a_run_reports_its_steps(calm, picture):
    steps = []
    job = job_of(picture, variant="auto")
    reply = calm.client.submit(Run(job, 0.02), steps.append).result(PATIENCE_S)
    assert reply.result.variant in {"cpu-parallel", "cpu-separable", "cpu-box"}
    assert "estimated" in reply.result.chosen_because
    assert reply.result.verification.passed
    assert reply.result.kernel_ms is not None
    assert [step.stage for step in steps[:2]] == ["compiling", "first launch"]
    json.dumps(reply.result.as_json(), allow_nan=False)
    calm.client.release(*segments_of(reply))
    steps.clear()
    request = Run(ProductRequest(MatrixProduct(40, 30, 20), "numpy", seed=3), budget_s=0.01)
    result = calm.client.submit(request, steps.append).result(PATIENCE_S)
    assert (result.is_proven, result.seed, result.device, tile_of(result)) == (True, 3, "cpu", None)
    assert number_of(result, "gflops") is not None
    assert {step.stage for step in steps} >= {"making the matrices", "verifying against the float64 oracle"}


@pytest.mark.slow
def test_that_a_kernel_writes_the_pictures_type_where_the_job_asks_for_it(calm, picture, tmp_path):
    job = job_of(picture, result_type="same")
    reply = calm.ask(Run(job, 0.02))
    assert reply.result.problem.result_dtype == reply.values.dtype == "uint8"
    assert reply.result.verification.in_steps
    values = shared.attach(reply.values)[:, :, 0]
    wanted = oracle.correlate(open_sample("camera").pixels, SMOOTH, Border.MIRROR)
    assert np.array_equal(values, np.rint(wanted))
    assert np.array_equal(shared.attach(reply.screen.levels[0])[:, :, 0], values)
    calm.ask(SaveResult(picture, reply.values, str(tmp_path / "out.png")))
    assert np.array_equal(open_image(tmp_path / "out.png").pixels, values)
    calm.client.release(*segments_of(reply))
    found = reasons(calm, job)
    assert found["cpu-parallel"] == ""
    assert all(found[known.key] for known in VARIANTS if not known.integer_output)


@pytest.mark.slow
def test_that_a_check_is_answered_while_something_runs(calm, picture):
    run = calm.begin(Run(job_of(picture, LONG, variant="cpu-serial"), 60.0), "sampling")
    found = reasons(calm, job_of(picture, block=Block(64, 32), device="cuda:99"))
    assert calm.ask(CourseRequest("lab"))
    assert calm.ask(ProductGrid(SMALL, (4,)))
    assert not run.done()
    assert found["cpu-serial"] == found["cpu-parallel"] == ""
    assert "no such device" in found["naive"]
    calm.client.cancel(run)
    with pytest.raises(Cancelled):
        run.result(PATIENCE_S)


def test_that_what_a_variant_cannot_do_is_reported_before_it_runs(calm, tiny, tmp_path):
    pixels = np.ones((12, 20), np.float32)
    pixels[3, 4] = np.nan
    save_image(pixels, tmp_path / "nan.tif")
    with_nan = reasons(calm, job_of(calm.ask(OpenPicture(str(tmp_path / "nan.tif")))))
    assert with_nan["cpu-fft"].startswith("Row 3, column 4, channel 0 of the picture is nan")
    assert with_nan["cpu-parallel"] == with_nan["cpu-serial"] == ""
    # Every variant takes a mask of one row.
    job = job_of(tiny, Mask([[1, 2, 1]]), block=Block(64, 32), device="simulator")
    with_block = [cuda and known.uses_block for cuda, known in zip(ON_CUDA, VARIANTS, strict=True)]
    for availability, uses_block in zip(calm.ask(Check(job)), with_block, strict=True):
        assert (availability.nearest_block is not None) is uses_block
        assert ("2,048 threads" in str(availability.reason)) is uses_block


def test_that_variants_are_crossed_with_blocks(calm, tiny):
    blocks = (Block(8, 8), Block(64, 32), Block(4, 2))
    keys = ("tiled-input", "cpu-parallel", "row-naive", "naive", "tiled-input")
    job = job_of(tiny, device="simulator", block=Block(1, 1))
    found = calm.ask(Check(job, keys, blocks))
    reasons_of = {(entry.variant, entry.block): str(entry.reason or "") for entry in found}
    assert len(found) == len(reasons_of) == 8, "a variant that is named twice is answered once"
    # The block of the job plays no part.
    assert reasons_of["naive", Block(8, 8)] == reasons_of["naive", Block(4, 2)] == ""
    assert "2,048 threads" in reasons_of["naive", Block(64, 32)]
    # Its block covers the input tile: one that is smaller than the mask leaves nothing to compute.
    assert reasons_of["tiled-input", Block(8, 8)] == ""
    assert "4 × 2" in reasons_of["tiled-input", Block(4, 2)]
    # Where no block matters or helps there is one answer.
    assert reasons_of["cpu-parallel", None] == ""
    assert "one row" in reasons_of["row-naive", None]


def test_that_auto_is_crossed_as_what_it_chooses(calm, tiny):
    blocks = (Block(8, 8),)
    (chosen,) = calm.ask(Check(job_of(tiny, device="cpu"), ("auto",), blocks))
    assert chosen.variant in {known.key for known in VARIANTS if known.device is DeviceKind.CPU}
    assert chosen.block is None
    every = calm.ask(Check(job_of(tiny, device="simulator"), (), blocks))
    assert [entry.variant for entry in every] == [known.key for known in VARIANTS]
    with pytest.raises(UnknownName, match="nowhere"):
        calm.ask(Check(job_of(tiny), ("nowhere",), blocks))


def test_that_only_the_newest_of_many_previews_counts(calm, picture):
    masks = [Mask([[float(weight)]]) for weight in range(1, 30)]
    futures = [calm.client.submit(Preview(job_of(picture, mask))) for mask in masks]
    last = futures[-1].result(PATIENCE_S)
    assert np.array_equal(shared.attach(last.values), 29 * shared.attach(picture.pixels).astype(np.float32))
    replaced = [future for future in futures if future.cancelled()]
    assert len(replaced) > 20
    with pytest.raises(CancelledError):
        replaced[0].result()
    for future in futures:
        if not future.cancelled():
            calm.client.release(*segments_of(future.result(PATIENCE_S)))


@pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="the system does not list its shared memory")
def test_that_a_result_that_is_not_used_is_freed_or_its_memory_used_again(calm, picture):
    def ask_and_forget(times):
        for _ in range(times):
            calm.client.submit(Preview(job_of(picture))).cancel()
            calm.client.release(*segments_of(calm.ask(Preview(job_of(picture)))))
        return len(shared_memory_of(calm.client))

    after_few = ask_and_forget(5)
    assert ask_and_forget(10) <= after_few + 1


def test_that_the_window_does_not_save_a_result_over_its_own_picture(calm, tmp_path):
    path = tmp_path / "photo.png"
    calm.ask(SaveResult(calm.open_sample(), None, str(path)))
    opened = calm.ask(OpenPicture(path=str(path)))
    before = path.read_bytes()
    link = tmp_path / "other.png"
    link.symlink_to(path)
    for target in (path, link):
        with pytest.raises(BadValue, match=r"its result would replace it\. Give the result another name\.$"):
            calm.ask(SaveResult(opened, opened.pixels, str(target)))
    assert path.read_bytes() == before


@pytest.mark.slow
def test_that_the_host_outlives_what_cannot_be_done(calm, picture, tmp_path):
    nowhere = SaveResult(picture, None, str(tmp_path / "no" / "out.png"))
    refused = [
        (nowhere, FileWriteError, "its folder does not exist"),
        (Preview(job_of(picture, variant="naive", device="cuda:99")), EngineError, "there is no such device"),
        (Preview(job_of(picture, variant="fast")), EngineError, "variant 'fast'"),
        (CourseRequest("thesis"), EngineError, "no paper is called that"),
        (MeasureCourse("thesis"), EngineError, "no paper is called that"),
        (Run(ProductRequest(SMALL, "fast")), UnknownName, "no way to multiply"),
        (Run(ProductRequest(MatrixProduct(40_000, 40_000, 40_000), "numpy")), BadValue, "the limit is"),
    ]
    for request, error, words in refused:
        with pytest.raises(error, match=words):
            calm.ask(request)
    missing = str(tmp_path / "missing.png")
    with pytest.raises(ImageReadError) as here:
        open_image(missing)
    with pytest.raises(ImageReadError) as there:
        calm.ask(OpenPicture(missing))
    # What, why and the remedy: all three cross the pipe.
    assert there.value.args == here.value.args
    assert all(there.value.args)
    assert (len(calm.hosts), calm.lost) == (1, [])


@pytest.mark.slow
def test_that_the_simulator_is_a_device_of_the_same_process(calm, tiny):
    how = {"variant": "naive", "device": "simulator", "block": Block(32, 32), "layout": Layout.PACKED}
    job = job_of(tiny, Mask([[1, 2], [3, 4]]), border=Border.ZERO, **how)
    reply = calm.ask(Run(job))
    assert (reply.device, reply.result.layout) == ("simulator", "packed")
    assert reply.result.verification.exact
    assert reply.result.timing is None
    calm.client.release(*segments_of(reply))
    product = calm.ask(Run(ProductRequest(SMALL, "matmul-tiled", 4, "simulator")))
    assert product.is_proven, product.status
    assert (product.device, tile_of(product), product.timing) == ("simulator", 4, None)
    assert len(calm.hosts) == 1


def test_that_tables_and_products_are_counted_across_the_pipe(calm):
    assert calm.ask(CourseRequest("convolution")) == counted_tables("convolution")
    request = ProductGrid(MatrixProduct(64, 64, 64), (4, 16), "simulator")
    assert calm.ask(request) == answer(request, lambda step: None)


@pytest.mark.slow
def test_that_the_host_goes_on_after_long_work_was_stopped(calm):
    product = Run(ProductRequest(MatrixProduct(300, 300, 300), "numpy"), budget_s=60.0)
    for request in (MeasureCourse("report"), product):
        begun = calm.begin(request)
        calm.client.cancel(begun)
        with pytest.raises(Cancelled):
            begun.result(PATIENCE_S)
        assert calm.ask(CourseRequest("lab"))
    assert len(calm.hosts) == 1


@pytest.mark.slow
def test_that_code_that_cannot_be_kept_is_reported_once(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    notices = []
    client = EngineClient(on_notice=notices.append)
    try:
        # Its pixels for the screen, and halves of them.
        assert client.submit(OpenPicture(sample="camera")).result(PATIENCE_S).screen.levels
    finally:
        client.shutdown()
    (warning,) = notices
    assert str(tmp_path / "cache") in warning.what
