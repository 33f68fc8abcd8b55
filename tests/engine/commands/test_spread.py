"""`--device cuda:all` of `filter` and `batch`: as many GPUs as there are, the bytes of one device."""

import numpy as np
import pytest

import engine
from engine.device.backend import CpuBackend
from engine.device.device_list import NO_DRIVER, cpu_info, simulator_info, unusable_gpu
from engine.errors import DeviceFault
from engine.flow import filtering, rows, stream
from tests.engine.flow.fake_gpus import install
from tests.engine.flow.fake_queues import FakeQueues

MASK = "--mask gaussian:5:1 --border mirror --variant cpu-serial"


@pytest.fixture
def gpus(monkeypatch):
    """Return a function that gives the machine so many GPUs, which filter as the CPU, in small chunks."""

    def install_gpus(count, queues=FakeQueues):
        made = install(monkeypatch, count, cpu_info(), queues)
        monkeypatch.setattr(filtering, "backend", lambda key: CpuBackend())
        for name in ("SMALLEST_CHUNK_BYTES", "SMALLEST_CHUNK_IN_ORDER_BYTES"):
            monkeypatch.setattr(stream, name, 1 << 9)
        return made

    return install_gpus


@pytest.fixture
def photos(tmp_path):
    """Return a folder of nine pictures."""
    folder = tmp_path / "photos"
    folder.mkdir()
    random = np.random.default_rng(1)
    for number in range(9):
        picture = random.integers(0, 255, (40 + 3 * number, 30), np.uint8)
        engine.save_image(picture, folder / f"{number}.png")
    return folder


def test_that_filter_over_all_gpus_writes_the_bytes_of_one_device_and_says_which(
    command, gpus, photos, tmp_path
):
    alone, spread = tmp_path / "alone.png", tmp_path / "spread.png"
    assert command("filter", photos / "8.png", alone, MASK, "--device cpu").status == 0
    gpus(3)
    keys = "cuda:0, cuda:1, cuda:2"
    for proof in ("", "--no-verify"):
        answer = command("filter", photos / "8.png", spread, MASK, "--device cuda:all --json", proof)
        assert answer.status == 0
        assert alone.read_bytes() == spread.read_bytes()
        document = answer.document
        assert (document["device"], document["verified"]) == (keys, not proof)
        assert proof or document["result"]["device"] == keys
    said = command("filter", photos / "8.png", tmp_path / "out.png", MASK, "--device cuda:all").out
    assert "by cpu-serial on GPU 0 (cuda:0), GPU 1 (cuda:1)" in said
    assert "end to end" in said


WORK = [
    MASK,
    "--operation median --set size=3",
    "--operation negative",
    "--operation equalise",
    "--operation histogram",
    "--chain unsharp",
    "--chain sobel-magnitude --range absolute",
]


def install_any_work(monkeypatch):
    """Have operations and chains run on the GPUs as on the CPU."""
    monkeypatch.setattr("engine.api.request.backend", lambda key: CpuBackend())


@pytest.mark.slow
def test_that_filter_and_batch_over_all_gpus_have_the_bytes_of_one_device(
    command, gpus, photos, tmp_path, monkeypatch
):
    options = ("--no-verify", "--overwrite")
    for number, work in enumerate(WORK):
        out = tmp_path / f"alone {number}"
        assert command("batch", photos, "--out", out, work, "--device cpu", *options).status == 0
    install_any_work(monkeypatch)
    for number, work in enumerate(WORK):
        count, alone, out = 1 + number % 3, tmp_path / f"alone {number}", tmp_path / f"all {number}"
        queues = gpus(count)
        answer = command("batch", photos, "--out", out, work, "--device cuda:all", *options)
        assert answer.status == 0, answer.err
        assert answer.out.startswith("9 of 9 pictures ")
        assert len(queues) == count
        one = command("filter", photos / "8.png", tmp_path / "8.png", work, "--device cuda:all --no-verify")
        assert one.status == 0, one.err
        pairs = [(f"{number}.png", out / f"{number}.png") for number in range(9)]
        for name, path in (*pairs, ("8.png", tmp_path / "8.png")):
            assert (alone / name).read_bytes() == path.read_bytes(), work


@pytest.mark.slow
@pytest.mark.parametrize("work", [MASK, "--operation median --set size=3", "--chain unsharp"])
def test_that_a_file_in_bands_over_all_gpus_has_the_bits_of_one(command, gpus, tmp_path, work, monkeypatch):
    monkeypatch.setattr(rows, "_BAND_BYTES", 2048)
    picture = np.random.default_rng(2).integers(0, 255, (300, 40), np.uint8)
    np.save(tmp_path / "in.npy", picture)
    alone, spread_over = tmp_path / "alone.npy", tmp_path / "spread.npy"
    assert command("filter", tmp_path / "in.npy", alone, work, "--device cpu").status == 0
    gpus(3)
    install_any_work(monkeypatch)
    answer = command("filter", tmp_path / "in.npy", spread_over, work, "--device cuda:all")
    assert answer.status == 0, answer.err
    assert np.array_equal(np.load(alone), np.load(spread_over))
    assert "GPU 2" in answer.out


class FailingQueues(FakeQueues):
    def launch(self, prepared, image, out):
        raise DeviceFault("The GPU failed while filtering in chunks on cuda:1 (GPU 1)", "made to")


def test_that_batch_keeps_what_the_other_gpus_did(command, gpus, photos, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.commands.command_line.leave_at_once", lambda status: None)
    gpus(2, lambda number: FailingQueues(1) if number == 1 else FakeQueues(0))
    out = tmp_path / "out"
    answer = command("batch", photos, "--out", out, MASK, "--device cuda:all")
    assert answer.status != 0
    saved = sorted(path.name for path in out.iterdir())
    assert saved
    assert all(name.endswith(".png") for name in saved)
    assert answer.out.startswith(f"{len(saved)} of 9 pictures filtered")
    assert "on cuda:1 (GPU 1): made to" in answer.err


def test_that_without_a_gpu_both_are_refused_as_with_cuda(refused, photos, tmp_path, monkeypatch):
    devices = cpu_info(), unusable_gpu(NO_DRIVER), simulator_info()
    monkeypatch.setattr("engine.device.devices.devices", lambda: devices)
    says = "device 'cuda:all': No NVIDIA driver. Use the CPU (device cpu or auto)"
    for words in (["filter", photos / "8.png", tmp_path / "out.png"], ["batch", photos, "--out", tmp_path]):
        refused(*words, MASK, "--device cuda:all", status=3, says=says)
    says = "--explain with --device cuda:all: the limits of one device"
    refused("filter", photos / "8.png", tmp_path / "out.png", MASK, "--device cuda:all --explain", says=says)
