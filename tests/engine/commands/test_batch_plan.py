"""With `auto` a batch uses a GPU only where that helps all of it, and says so."""

import numpy as np
import pytest

import engine
from engine.commands import batch_plan, picture_work
from engine.commands.batch_plan import PictureFile, choose_device
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.run import task
from tests.engine.commands.works import work_of

CPU = DeviceInfo("cpu", "cpu", "CPU, 2 cores")
GPU = DeviceInfo("cuda:0", "cuda", "a GPU")


@pytest.fixture
def with_gpu(monkeypatch):
    """Make this a machine with a GPU; return the keys that were asked for."""
    asked = []

    def named(key):
        asked.append(key)
        return CPU if key == "cpu" else GPU

    monkeypatch.setattr(batch_plan, "has_driver", lambda: True)
    monkeypatch.setattr(batch_plan, "device_named", named)
    monkeypatch.setattr(task, "device_named", named)
    return asked


@pytest.fixture
def photo(tmp_path):
    engine.save_image(np.zeros((30, 40, 3), np.uint8), tmp_path / "a.png")
    return PictureFile(str(tmp_path / "a.png"), "out.png", None)


def asked(options="", mask="emboss"):
    return work_of(f"--mask {mask} {options}")


def test_that_only_many_pictures_start_a_gpu(with_gpu, photo):
    few, device, notes = choose_device(asked(), [photo])
    assert (few.asked.device, device) == ("cpu", CPU)
    assert "auto" not in with_gpu
    (note,) = notes
    assert note.startswith("The CPU filters: a GPU would take 1,200 ms to start and copy")
    many, device, notes = choose_device(asked(mask="gaussian:31:5"), [photo] * 1_000_000)
    assert (many.asked.device, device, notes) == ("cuda:0", GPU, [])


def test_that_a_picture_that_cannot_be_opened_does_not_decide(with_gpu, photo, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(picture_work, "why_not_gpu", lambda problem, *rest: seen.append(problem) or "so")
    refused = PictureFile("b.png", "b.png", None, BadValue("b.png", "it is another picture"))
    missing = PictureFile(str(tmp_path / "none.png"), "none.png", None)
    assert choose_device(asked(), [refused, missing, photo])[1] is CPU
    ((problem,),) = [seen]
    assert (problem.height, problem.width, problem.channels, problem.result_dtype) == (30, 40, 3, "uint8")
    assert choose_device(asked(), [refused, missing])[1] is CPU
    assert len(seen) == 1


def test_that_a_device_or_a_variant_that_is_named_is_obeyed(with_gpu, photo):
    for options, kind in (
        ("--device cpu", "cpu"),
        ("--device cuda", "cuda"),
        ("--variant cpu-parallel", "cpu"),
    ):
        assert choose_device(asked(options), [photo])[1].kind == kind


def test_that_nothing_is_said_where_there_is_no_driver(monkeypatch, photo):
    monkeypatch.setattr(batch_plan, "has_driver", lambda: False)
    _, device, notes = choose_device(asked(), [photo])
    assert (device.kind, notes) == ("cpu", [])


def test_that_other_operations_stay_on_the_cpu_without_a_word(with_gpu, photo):
    how, device, notes = choose_device(work_of("--operation median"), [photo] * 1_000_000)
    assert (how.asked.device, device, notes) == ("cpu", CPU, [])
