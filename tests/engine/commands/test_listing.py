import json

import numpy as np

from engine.device import devices as device_module
from engine.device_info import DeviceInfo
from engine.mask.presets import presets
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS


def _without_gpu(monkeypatch):
    missing = DeviceInfo("cuda:0", "cuda", "CUDA device", False, "There is no driver. Install one.", True)
    known = tuple(device for device in device_module.devices() if not device.key.startswith("cuda"))
    monkeypatch.setattr(device_module, "devices", lambda: (known[0], missing, *known[1:]))


def test_that_devices_are_listed_with_the_reason_where_one_cannot_be_used(command, monkeypatch):
    _without_gpu(monkeypatch)
    answer = command("devices")
    assert (answer.status, answer.err) == (0, "")
    assert "cuda:0     CUDA device: unavailable. There is no driver. Install one." in answer.out
    assert "simulator  CUDA simulator: ready" in answer.out
    document = json.loads(command("devices", "--json").out)
    assert [d["available"] for d in document["devices"]] == [True, False, True]
    assert document["devices"][2]["times_mean_speed"] is False


def test_that_the_ladder_is_listed_in_teaching_order(command):
    answer = command("variants")
    ladder, remarks, products = answer.out.split("\n\n")
    keys = [line.split()[0] for line in ladder.splitlines()[1:]]
    assert keys == [variant.key for variant in VARIANTS]
    for variant in VARIANTS:
        assert variant.idea in ladder
        assert f"{variant.key}: {variant.remark}" in remarks or not variant.remark
    assert [line.partition(":")[0] for line in products.splitlines()[1:]] == [v.key for v in MATMUL_VARIANTS]
    entries = json.loads(command("variants", "--json").out)["variants"]
    filters = [entry for entry in entries if entry["task"] == "filtering"]
    assert [entry["key"] for entry in filters] == keys
    for entry, variant in zip(filters, VARIANTS, strict=True):
        assert (entry["title"], entry["idea"], entry["device"]) == (
            variant.title,
            variant.idea,
            variant.device,
        )
        assert entry["remark"] == variant.remark
        block = variant.default_block
        assert entry["default_block"] == ({"x": block.x, "y": block.y} if variant.uses_block else None)
    multiplying = [(e["key"], e["idea"], e["default_tile"]) for e in entries if e["task"] == "product"]
    assert multiplying == [
        (v.key, v.idea, v.default_block.x if v.uses_block else None) for v in MATMUL_VARIANTS
    ]
    # Whoever reads one entry's facts reads every one's.
    for entry in entries:
        assert entry.keys() >= {
            "key",
            "title",
            "device",
            "idea",
            "remark",
            "quantises",
            "uses_block",
            "default_block",
        }


def test_that_masks_are_listed_with_their_weights(command):
    answer = command("masks")
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == [preset.key for preset in presets()]
    entries = json.loads(command("masks", "--json").out)["masks"]
    for entry, preset in zip(entries, presets(), strict=True):
        assert (entry["key"], entry["title"], entry["teaches"]) == (preset.key, preset.title, preset.teaches)
        assert np.array_equal(entry["weights"], preset.mask.weights)
        assert (entry["rows"], entry["columns"]) == preset.mask.shape
        assert tuple(entry["anchor"]) == preset.mask.anchor
