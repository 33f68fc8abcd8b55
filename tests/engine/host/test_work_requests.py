"""A host does chains and operations: it lists them, checks, previews, runs, offers mergers, refuses."""

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block
from engine.host import shared
from engine.host.protocol import OpenPicture, TiledScreen, WantedValues
from engine.host.request import Check, Preview, Run, segments_of
from engine.image.open import open_sample
from engine.image.save import save_image
from engine.work.chain_files import chain_from, chain_named, ready_chains
from engine.work.messages import ListRequest, MergeRequest, PictureJob
from engine.work.operations.contract import OPERATIONS
from engine.work.steps import digest_of
from tests.picture_jobs import operation_job

CAMERA = open_sample("camera").pixels


@pytest.fixture(scope="module")
def camera(calm):
    return calm.ask(OpenPicture(sample="camera"))


def values_of(picture, chain, step):
    """Return what the steps up to one make of a picture."""
    steps = chain.steps[: [one.id for one in chain.steps].index(step) + 1]
    return engine.chain(picture, replace(chain, steps=steps), device="cpu", budget_s=0.0).values


def test_that_ready_chains_and_every_operation_with_its_variants_are_described(calm):
    assert calm.ask(ListRequest("chains")) == ready_chains()
    found = {info.key: [v.key for v in info.variants] for info in calm.ask(ListRequest("operations"))}
    assert found == {key: [variant.key for variant in one.variants] for key, one in OPERATIONS.items()}


@pytest.mark.slow
def test_that_a_preview_shows_the_step_that_is_asked_for_after_an_edit_too(calm, camera):
    chain = chain_named("denoise-edges")
    edited = chain.replaced("edges", replace(chain.steps[3], how="maximum"))
    for asked, step in ((chain, "edges"), (chain, "x"), (edited, "edges")):
        found = calm.ask(Preview(PictureJob(chain=asked, shown=step, picture=camera, device="cpu")))
        values = values_of(CAMERA, asked, step)
        assert np.array_equal(shared.attach(found.values)[..., 0], values)
        # Every value of 512 x 512 is looked at.
        assert found.clipped == (float((values < -0.5).mean()), float((values > 255.5).mean()))
        assert found.steps[-1].id == step
        calm.client.release(*segments_of(found))


@pytest.mark.slow
def test_that_a_run_is_proven_with_a_time_for_each_step(calm, camera):
    job = PictureJob(chain=chain_named("unsharp"), picture=camera, device="cpu")
    found = calm.ask(Run(job, budget_s=0.0))
    assert found.result.is_proven
    assert [step.ms > 0 for step in found.steps] == [True, True]
    # By this the window tells its runs from those of another chain of the same words.
    assert found.result.weights_digest == digest_of(job.chain.nodes())
    calm.client.release(*segments_of(found))


def test_that_mergers_are_offered_and_a_chain_without_steps_is_refused(calm, camera):
    chain = chain_from({"steps": [{"mask": "1 2 1"}, {"mask": "3"}]})
    (offer,) = calm.ask(MergeRequest(PictureJob(chain=chain, picture=camera, device="cpu")))
    assert offer.is_faster
    assert len(offer.chain.steps) == 1
    off = replace(chain, steps=tuple(replace(step, on=False) for step in chain.steps))
    with pytest.raises(BadValue, match="switched off"):
        calm.ask(Preview(PictureJob(chain=off, picture=camera, device="cpu")))


@pytest.mark.slow
def test_that_a_preview_on_a_gpu_names_the_kernel_of_each_step_and_parts_of_it_have_its_bits(calm, tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (14, 12, 3), np.uint8)
    save_image(pixels, tmp_path / "small.png")
    picture = calm.ask(OpenPicture(path=str(tmp_path / "small.png")))
    chain = chain_from({"steps": [{"mask": "gaussian:5:1"}, {"mask": "sobel-x"}, {"operation": "median"}]})
    found = calm.ask(Preview(PictureJob(chain=chain, picture=picture, device="simulator")))
    assert all(step.variant not in ("", "auto") and step.ms is None for step in found.steps)
    keys = {step.id: step.variant for step in found.steps}
    ran = replace(chain, steps=tuple(replace(step, variant=keys[step.id]) for step in chain.steps))
    job = PictureJob(chain=ran, picture=picture, device="simulator")
    part = calm.ask(WantedValues(TiledScreen("", ((14, 12),)), (3, 14), (2, 9), job=job))
    whole = shared.attach(found.values)
    np.testing.assert_array_equal(shared.attach(part.values), whole[3:14, 2:9])
    calm.client.release(*segments_of(found), *segments_of(part), *segments_of(picture))


PHOTO = open_sample("astronaut").pixels[100:164, 180:252]


@pytest.fixture(scope="module")
def photo(calm, tmp_path_factory):
    path = tmp_path_factory.mktemp("operations") / "photo.png"
    save_image(PHOTO, path)
    return calm.ask(OpenPicture(str(path)))


def job_of(picture, operation, **more):
    return operation_job(operation=operation, picture=picture, **{"device": "cpu", **more})


@pytest.mark.slow
def test_that_previews_lie_in_shared_memory_with_what_was_found(calm, photo):
    turned = calm.ask(Preview(job_of(photo, "negative")))
    assert np.array_equal(shared.attach(turned.values), 255 - PHOTO)
    assert turned.variant == "cpu-negative"
    counted = calm.ask(Preview(job_of(photo, "histogram", settings={"bins": 4})))
    assert [sum(channel) for channel in counted.counts] == [PHOTO.shape[0] * PHOTO.shape[1]] * 3
    assert np.array_equal(shared.attach(counted.values), PHOTO)
    place = {"left": 30, "top": 20, "width": 10, "height": 12}
    marked = calm.ask(Preview(job_of(photo, "find-patch", settings=place)))
    assert (marked.mark.row, marked.mark.column) == (20, 30)
    assert [quantity.key for quantity in marked.quantities] == ["score", "column", "row"]
    for found in (turned, counted, marked):
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
