"""A host without faults does operations: describe, check, preview, run, refuse."""

import numpy as np
import pytest

from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block
from engine.host import shared
from engine.host.protocol import OpenPicture
from engine.host.request import Check, Preview, Run, segments_of
from engine.image.open import open_sample
from engine.image.save import save_image
from engine.work.messages import ListRequest
from engine.work.operations.table import OPERATIONS, operation_variants
from tests.picture_jobs import operation_job

PHOTO = open_sample("astronaut").pixels[100:164, 180:252]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a photograph and a patch of it."""
    made = tmp_path_factory.mktemp("operations")
    save_image(PHOTO, made / "photo.png")
    save_image(PHOTO[20:32, 30:40], made / "patch.png")
    return made


@pytest.fixture(scope="module")
def photo(calm, folder):
    return calm.ask(OpenPicture(str(folder / "photo.png")))


def job_of(picture, operation, **more):
    return operation_job(operation=operation, picture=picture, **{"device": "cpu", **more})


def test_that_every_operation_is_described_with_its_variants(calm):
    found = {info.key: [v.key for v in info.variants] for info in calm.ask(ListRequest("operations"))}
    assert found == {key: sorted_by_device(key) for key in OPERATIONS}


def sorted_by_device(operation):
    return [variant.key for variant in operation_variants(operation)]


@pytest.mark.slow
def test_that_previews_lie_in_shared_memory_with_what_was_found(calm, photo):
    turned = calm.ask(Preview(job_of(photo, "negative")))
    assert np.array_equal(shared.attach(turned.values), 255 - PHOTO)
    assert turned.variant == "cpu-negative"
    counted = calm.ask(Preview(job_of(photo, "histogram", settings={"bins": 4})))
    assert [sum(channel) for channel in counted.counts] == [PHOTO.shape[0] * PHOTO.shape[1]] * 3
    assert np.array_equal(shared.attach(counted.values), PHOTO)
    squeezed = calm.ask(Preview(job_of(photo, "compress")))
    assert [quantity.key for quantity in squeezed.quantities][:2] == ["psnr_db", "estimated_bytes"]
    for found in (turned, counted, squeezed):
        calm.client.release(*segments_of(found))


@pytest.mark.slow
def test_that_a_patch_that_is_found_is_framed(calm, photo, folder):
    job = job_of(photo, "find-patch", patch_path=str(folder / "patch.png"))
    found = calm.ask(Run(job, budget_s=0.0))
    assert (found.mark.row, found.mark.column) == (20, 30)
    assert found.result.is_proven
    assert found.result.kernel_ms > 0
    pixels = shared.attach(found.values)
    assert (pixels[19, 29:41] == 255).all()
    assert np.array_equal(pixels[20:32, 30:40], PHOTO[20:32, 30:40])
    calm.client.release(*segments_of(found))


@pytest.mark.slow
def test_that_what_an_operation_cannot_do_is_said(calm, photo):
    job = job_of(photo, "compress", device="simulator", block=Block(12, 8))
    reasons = {entry.variant: str(entry.reason or "") for entry in calm.ask(Check(job))}
    assert reasons["cpu-dct"] == ""
    assert reasons["dct-direct"] == ""
    for request, error, words in (
        (job_of(photo, "median", settings={"size": 4}), BadValue, "one of 3, 5"),
        (job_of(photo, "meidan"), UnknownName, "Did you mean median"),
        (job_of(photo, "find-patch", settings={"left": 70}), BadValue, "reaches over the edge"),
    ):
        with pytest.raises(error, match=words):
            calm.ask(Preview(request))
