"""`batch` on a real device: pictures of several sizes and kinds, each verified and saved."""

import json

import numpy as np
import pytest

import engine
from engine.commands import main


@pytest.mark.parametrize(
    ("variant", "result_type"),
    [("auto", "float32"), ("auto", "same"), ("register-blocked", "same"), ("tiled", "float32")],
)
def test_that_a_batch_goes_through_the_device_and_is_verified(device, capsys, tmp_path, variant, result_type):
    random, photos = np.random.default_rng(1), tmp_path / "photos"
    photos.mkdir()
    for number in range(24):
        shape = [(400, 301), (123, 457, 3), (64, 64)][number % 3]
        dtype = np.uint16 if number % 3 == 2 else np.uint8
        values = random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        engine.save_image(values, photos / f"{number:02}.png")
    (photos / "broken.png").write_bytes(b"Dear sir or madam")
    arguments = ["batch", str(photos), "--out", str(tmp_path / "out"), "--mask", "1 2 1; 0 3 0; 1 -2 1 /7"]
    options = ["--variant", variant, "--device", device, "--result-type", result_type, "--json"]
    assert main([*arguments, *options]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["done"], document["failed"]) == (24, 1)
    assert document["devices"] == [d.title for d in engine.list_devices() if d.key == device]
    assert all(file["verification"]["passed"] for file in document["files"] if file["output"])
    one, alone = tmp_path / "out" / "07.png", tmp_path / "alone.png"
    options.remove("--json")
    assert main(["filter", str(photos / "07.png"), str(alone), *arguments[4:], *options]) == 0
    assert one.read_bytes() == alone.read_bytes()
