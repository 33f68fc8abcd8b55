"""What a host that nothing happens to does: open, preview, run, check, save, cancel, release."""

import json
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

from engine.course.tables import counted_tables
from engine.device.launches import DeviceKind
from engine.errors import Cancelled, EngineError, FileWriteError, ImageReadError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host import shared
from engine.host.messages import Progress
from engine.host.protocol import (
    CheckVariants,
    CountCourse,
    Filtered,
    FilterJob,
    MeasureCourse,
    OpenPicture,
    PictureHandle,
    Preview,
    Run,
    Saved,
    SaveResult,
)
from engine.host.shared_array import segments_of
from engine.image.open import open_image
from engine.image.samples import open_sample
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.tasks.filtering import oracle
from engine.variants.registry import VARIANTS
from tests.engine.host.conftest import PATIENCE_S, SHARED_MEMORY, Watched, shared_memory_of

SMOOTH = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).divided_by(16)
ON_CUDA = [known.device is DeviceKind.CUDA for known in VARIANTS]
# A sample of it takes 70 ms in plain loops: a run of the most samples that are taken lasts 14 s.
LONG = Mask([[1.0] * 9] * 9)


@pytest.fixture(scope="module")
def picture(calm: Watched) -> PictureHandle:
    return calm.open_sample("camera")


@pytest.fixture(scope="module")
def tiny(calm: Watched, tmp_path_factory: pytest.TempPathFactory) -> PictureHandle:
    path = tmp_path_factory.mktemp("tiny") / "tiny.png"
    save_image(np.arange(12 * 20, dtype=np.uint8).reshape(12, 20), path)
    return calm.client.submit(OpenPicture(str(path))).result(PATIENCE_S)


def job_of(picture: PictureHandle, mask: Mask = SMOOTH, **more: object) -> FilterJob:
    return FilterJob(
        picture=picture,
        mask=mask,
        border=Border.MIRROR,
        **{"variant": "cpu-parallel", "device": "cpu", **more},
    )


def test_that_a_sample_is_opened_into_shared_memory(picture: PictureHandle) -> None:
    original = open_sample("camera")
    assert np.array_equal(shared.attach(picture.pixels)[:, :, 0], original.pixels)
    assert picture.sample == "camera"
    level = shared.attach(picture.screen.levels[0])
    assert np.array_equal(level[:, :, :3], np.repeat(original.pixels[:, :, np.newaxis], 3, 2))
    assert (level[:, :, 3] == 255).all()


def test_that_a_preview_is_the_filtered_picture(calm: Watched, picture: PictureHandle) -> None:
    reply: Filtered = calm.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
    assert (reply.variant, reply.device, reply.result) == ("cpu-parallel", "cpu", None)
    wanted = oracle.correlate(shared.attach(picture.pixels), SMOOTH, Border.MIRROR)
    assert reply.values is not None
    assert np.array_equal(shared.attach(reply.values), wanted.astype(np.float32))
    calm.client.release(*segments_of(reply))


def test_that_a_run_is_verified_and_tells_its_steps(calm: Watched, picture: PictureHandle) -> None:
    steps: list[Progress] = []
    reply: Filtered = calm.client.submit(Run(job_of(picture), 0.02), steps.append).result(PATIENCE_S)
    assert reply.result is not None
    assert reply.result.verification is not None
    assert reply.result.verification.exact
    assert reply.result.kernel_ms is not None
    assert [step.stage for step in steps[:2]] == ["compiling", "first launch"]
    json.dumps(reply.result.as_json(), allow_nan=False)
    calm.client.release(*segments_of(reply))


def test_that_a_kernel_writes_the_pictures_type_where_the_job_asks_for_it(
    calm: Watched, picture: PictureHandle, tmp_path: Path
) -> None:
    job = job_of(picture, result_type="same")
    reply: Filtered = calm.client.submit(Run(job, 0.02)).result(PATIENCE_S)
    assert reply.values is not None
    assert reply.result is not None
    assert reply.result.problem.result_dtype == reply.values.dtype == "uint8"
    assert reply.result.verification is not None
    assert reply.result.verification.in_steps
    values = shared.attach(reply.values)[:, :, 0]
    wanted = oracle.correlate(open_sample("camera").pixels, SMOOTH, Border.MIRROR)
    assert np.array_equal(values, np.rint(wanted))
    assert reply.screen is not None
    assert np.array_equal(shared.attach(reply.screen.levels[0])[:, :, 0], values)
    calm.client.submit(SaveResult(picture, reply.values, str(tmp_path / "out.png"))).result(PATIENCE_S)
    assert np.array_equal(open_image(tmp_path / "out.png").pixels, values)
    calm.client.release(*segments_of(reply))
    found = calm.client.submit(CheckVariants(job)).result(PATIENCE_S)
    reasons = {availability.variant: availability.reason for availability in found}
    assert reasons["cpu-parallel"] == ""
    writing = {known.key for known in VARIANTS if known.integer_output}
    assert all(reasons[known.key] for known in VARIANTS if known.key not in writing)


def test_that_auto_says_what_it_chose_and_why(calm: Watched, picture: PictureHandle) -> None:
    reply: Filtered = calm.client.submit(Run(job_of(picture, variant="auto"), 0.02)).result(PATIENCE_S)
    assert reply.result is not None
    assert reply.result.variant in {"cpu-parallel", "cpu-separable", "cpu-box"}
    assert "estimated" in reply.result.chosen_because
    calm.client.release(*segments_of(reply))


def test_that_a_check_is_answered_while_something_runs(calm: Watched, picture: PictureHandle) -> None:
    sampling = threading.Event()
    run = calm.client.submit(
        Run(job_of(picture, LONG, variant="cpu-serial"), 60.0),
        lambda step: sampling.set() if step.stage.startswith("sampling") else None,
    )
    assert sampling.wait(PATIENCE_S)
    found = calm.client.submit(CheckVariants(job_of(picture, block=Block(64, 32), device="cuda:99"))).result(
        PATIENCE_S
    )
    assert not run.done()
    reasons = {availability.variant: availability.reason for availability in found}
    assert list(reasons) == [known.key for known in VARIANTS]
    assert reasons["cpu-serial"] == reasons["cpu-parallel"] == ""
    assert "no such device" in reasons["naive"]
    calm.client.cancel(run)
    with pytest.raises(Cancelled):
        run.result(PATIENCE_S)
    assert len(calm.hosts) == 1


def test_that_what_the_simulator_cannot_do_is_told(calm: Watched, picture: PictureHandle) -> None:
    found = calm.client.submit(CheckVariants(job_of(picture, device="simulator"))).result(PATIENCE_S)
    assert ["64 x 64" in availability.reason for availability in found] == ON_CUDA


def test_that_a_variant_that_would_spread_a_nan_of_the_picture_is_told_before_it_runs(
    calm: Watched, tmp_path: Path
) -> None:
    pixels = np.ones((12, 20), np.float32)
    pixels[3, 4] = np.nan
    save_image(pixels, tmp_path / "nan.tif")
    picture = calm.client.submit(OpenPicture(str(tmp_path / "nan.tif"))).result(PATIENCE_S)
    found = calm.client.submit(CheckVariants(job_of(picture))).result(PATIENCE_S)
    reasons = {availability.variant: availability.reason for availability in found}
    assert reasons["cpu-fft"].startswith("Row 3, column 4, channel 0 of the picture is nan")
    assert reasons["cpu-parallel"] == reasons["cpu-serial"] == ""


def test_that_the_nearest_legal_block_is_offered(calm: Watched, tiny: PictureHandle) -> None:
    # Every variant takes a mask of one row.
    job = job_of(tiny, Mask([[1, 2, 1]]), block=Block(64, 32), device="simulator")
    found = calm.client.submit(CheckVariants(job)).result(PATIENCE_S)
    with_block = [cuda and known.uses_block for cuda, known in zip(ON_CUDA, VARIANTS, strict=True)]
    assert [availability.nearest_block is not None for availability in found] == with_block
    assert ["2,048 threads" in availability.reason for availability in found] == with_block


def test_that_only_the_newest_of_many_previews_counts(calm: Watched, picture: PictureHandle) -> None:
    masks = [Mask([[float(weight)]]) for weight in range(1, 30)]
    futures = [calm.client.submit(Preview(job_of(picture, mask))) for mask in masks]
    last: Filtered = futures[-1].result(PATIENCE_S)
    assert last.values is not None
    assert np.array_equal(shared.attach(last.values), 29 * shared.attach(picture.pixels).astype(np.float32))
    replaced = [future for future in futures if future.cancelled()]
    assert len(replaced) > 20
    with pytest.raises(CancelledError):
        replaced[0].result()
    for future in futures:
        if not future.cancelled():
            calm.client.release(*segments_of(future.result(PATIENCE_S)))


@pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="the system does not list its shared memory")
def test_that_a_result_nobody_wants_is_freed_or_used_again(calm: Watched, picture: PictureHandle) -> None:
    def blocks() -> int:
        return len(shared_memory_of(calm.client))

    def ask_and_forget() -> None:
        future = calm.client.submit(Preview(job_of(picture)))
        future.cancel()
        kept: Filtered = calm.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
        calm.client.release(*segments_of(kept))

    for _ in range(5):
        ask_and_forget()
    after_few = blocks()
    for _ in range(10):
        ask_and_forget()
    assert blocks() <= after_few + 1


def test_that_a_waiting_request_can_be_cancelled_without_harm_to_the_one_before(
    calm: Watched, picture: PictureHandle
) -> None:
    sampling = threading.Event()
    first = calm.client.submit(
        Run(job_of(picture, LONG, variant="cpu-serial"), 0.3), lambda step: sampling.set()
    )
    assert sampling.wait(PATIENCE_S)
    second = calm.client.submit(Run(job_of(picture), 60.0))
    calm.client.cancel(second)
    with pytest.raises(Cancelled):
        second.result(0)
    reply = first.result(PATIENCE_S)
    assert reply.result.kernel_ms is not None
    calm.client.release(*segments_of(reply))
    assert len(calm.hosts) == 1


def test_that_a_result_is_saved_as_it_is_shown(calm: Watched, picture: PictureHandle, tmp_path: Path) -> None:
    reply: Filtered = calm.client.submit(Preview(job_of(picture))).result(PATIENCE_S)
    path = str(tmp_path / "out.png")
    assert calm.client.submit(SaveResult(picture, reply.values, path)).result(PATIENCE_S) == Saved(path)
    assert reply.values is not None
    wanted = np.rint(np.clip(shared.attach(reply.values), 0, 255)).astype(np.uint8)
    assert np.array_equal(open_image(path).pixels, wanted[:, :, 0])
    calm.client.release(*segments_of(reply))


def test_that_the_sentences_of_an_error_cross_the_pipe_whole(calm: Watched, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.png")
    with pytest.raises(ImageReadError) as caught:
        calm.client.submit(OpenPicture(missing)).result(PATIENCE_S)
    with pytest.raises(ImageReadError) as here:
        open_image(missing)
    assert (caught.value.what, caught.value.why, caught.value.remedy) == (
        here.value.what,
        here.value.why,
        here.value.remedy,
    )
    assert caught.value.remedy


def test_that_what_cannot_be_done_is_told_and_the_host_lives(
    calm: Watched, picture: PictureHandle, tmp_path: Path
) -> None:
    with pytest.raises(FileWriteError, match="its folder does not exist"):
        calm.client.submit(SaveResult(picture, None, str(tmp_path / "no" / "out.png"))).result(PATIENCE_S)
    with pytest.raises(EngineError, match="there is no such device"):
        calm.client.submit(Preview(job_of(picture, variant="naive", device="cuda:99"))).result(PATIENCE_S)
    with pytest.raises(EngineError, match="variant 'fast'"):
        calm.client.submit(Preview(job_of(picture, variant="fast"))).result(PATIENCE_S)
    assert len(calm.hosts) == 1
    assert calm.lost == []


def test_that_the_simulator_has_a_process_of_its_own_and_no_times(calm: Watched, tiny: PictureHandle) -> None:
    job = job_of(
        tiny,
        Mask([[1, 2], [3, 4]]),
        variant="naive",
        device="simulator",
        block=Block(32, 32),
        layout=Layout.PACKED,
    )
    reply: Filtered = calm.client.submit(Run(job)).result(PATIENCE_S)
    assert reply.result is not None
    assert (reply.device, reply.result.layout) == ("simulator", "packed")
    assert reply.result.verification is not None
    assert reply.result.verification.exact
    assert reply.result.timing is None
    assert len(calm.hosts) == 1
    calm.client.release(*segments_of(reply))


def test_that_a_papers_tables_cross_the_pipe_with_what_is_counted(calm: Watched) -> None:
    tables = calm.client.submit(CountCourse("convolution")).result(PATIENCE_S)
    assert tables == counted_tables("convolution")
    (row,) = [row for row in tables[0].rows if [cell.printed for cell in row[:2]] == ["8", "5"]]
    # The lecture's own example: 40 accesses, 12 with a tile, 3.3 times less.
    assert [(cell.printed, cell.here) for cell in row[2:5]] == [("40", "40"), ("12", "12"), ("3.3", "3.333")]


def test_that_a_paper_that_there_is_not_is_refused_in_words(calm: Watched) -> None:
    with pytest.raises(EngineError, match="no paper is called that"):
        calm.client.submit(CountCourse("thesis")).result(PATIENCE_S)
    with pytest.raises(EngineError, match="no paper is called that"):
        calm.client.submit(MeasureCourse("thesis")).result(PATIENCE_S)
    assert len(calm.hosts) == 1


def test_that_a_measurement_can_be_stopped_and_the_host_goes_on(calm: Watched) -> None:
    begun = threading.Event()
    stages: list[Progress] = []

    def note(step: Progress) -> None:
        stages.append(step)
        if len(stages) > 1:
            begun.set()

    measure = calm.client.submit(MeasureCourse("report"), note)
    assert begun.wait(PATIENCE_S)
    calm.client.cancel(measure)
    with pytest.raises(Cancelled):
        measure.result(PATIENCE_S)
    assert calm.client.submit(CountCourse("lab")).result(PATIENCE_S)
    assert len(calm.hosts) == 1
