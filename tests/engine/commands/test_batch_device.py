"""With `auto` a batch uses a GPU only where that helps all of it, and says so."""

import argparse

import numpy as np
import pytest

import engine
from engine.commands import batch_device
from engine.commands.batch_device import settle_device
from engine.commands.batch_files import Task
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.mask.presets import preset
from engine.mask.resolve import resolve_mask

CPU = DeviceInfo("cpu", "cpu", "CPU, 2 cores")
GPU = DeviceInfo("cuda:0", "cuda", "a GPU")


@pytest.fixture
def with_gpu(monkeypatch):
    """Make this a machine with a GPU; return the keys that were asked for."""
    asked = []

    def named(key):
        asked.append(key)
        return CPU if key == "cpu" else GPU

    monkeypatch.setattr(batch_device, "has_driver", lambda: True)
    monkeypatch.setattr(batch_device, "device_named", named)
    return asked


@pytest.fixture
def task(tmp_path):
    engine.save_image(np.zeros((30, 40, 3), np.uint8), tmp_path / "a.png")
    return Task(str(tmp_path / "a.png"), "out.png")


def options(device="auto", variant="auto"):
    return argparse.Namespace(device=device, variant=variant, border="zero", cval=0.0, result_type="auto")


def test_that_few_pictures_do_not_start_a_gpu_and_many_do(with_gpu, task):
    few, notes = options(), []
    assert settle_device(few, preset("emboss"), [task], notes) is True
    assert few.device == "cpu"
    assert "auto" not in with_gpu
    (note,) = notes
    assert note.startswith("The CPU filters: a GPU would take 1,200 ms to start and copy")
    many, notes = options(), []
    assert settle_device(many, resolve_mask("gaussian:31:5"), [task] * 1_000_000, notes) is False
    assert (many.device, notes) == ("cuda:0", [])


def test_that_a_picture_that_cannot_be_opened_does_not_decide(with_gpu, task, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(batch_device, "why_not_gpu", lambda problem, *rest: asked.append(problem) or "so")
    refused = Task("b.png", "b.png", BadValue("b.png", "it is another picture"))
    missing = Task(str(tmp_path / "none.png"), "none.png")
    assert settle_device(options(), preset("emboss"), [refused, missing, task], [])
    ((problem,),) = [asked]
    assert (problem.height, problem.width, problem.channels, problem.result_dtype) == (30, 40, 3, "uint8")
    assert settle_device(options(), preset("emboss"), [refused, missing], [])
    assert len(asked) == 1


def test_that_a_device_or_a_variant_that_is_named_is_obeyed(with_gpu, task):
    for chosen, is_on_cpu in (
        (options(device="cpu"), True),
        (options(device="cuda"), False),
        (options(variant="cpu-parallel"), True),
    ):
        assert settle_device(chosen, preset("emboss"), [task], []) is is_on_cpu


def test_that_nothing_is_said_where_there_is_no_driver(monkeypatch, task):
    monkeypatch.setattr(batch_device, "has_driver", lambda: False)
    notes = []
    assert settle_device(options(), preset("emboss"), [task], notes) is True
    assert notes == []
