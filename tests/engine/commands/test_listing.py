import numpy as np

from engine.mask.presets import presets
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS

COMMON = {"key", "title", "device", "idea", "remark", "quantises", "uses_block", "default_block"}


def test_that_devices_are_listed_with_the_reason_where_one_is_unavailable(command, no_gpu):
    answer = command("devices")
    assert (answer.status, answer.err) == (0, "")
    assert "cuda:0     CUDA device: unavailable. There is no driver." in answer.out
    assert "simulator  CUDA simulator: ready" in answer.out
    devices = command("devices --json").document["devices"]
    assert [d["available"] for d in devices] == [True, False, True]
    assert devices[2]["times_mean_speed"] is False


def test_that_the_ladder_is_listed_in_teaching_order(command):
    ladder, remarks, products = command("variants").out.split("\n\n")
    keys = [line.split()[0] for line in ladder.splitlines()[1:]]
    assert keys == [variant.key for variant in VARIANTS]
    for variant in VARIANTS:
        assert variant.idea in ladder
        assert f"{variant.key}: {variant.remark}" in remarks or not variant.remark
    assert [line.partition(":")[0] for line in products.splitlines()[1:]] == [v.key for v in MATMUL_VARIANTS]


def test_that_json_has_every_variant_of_every_task_with_the_same_facts(command):
    entries = command("variants --json").document["variants"]
    filters = [entry for entry in entries if entry["task"] == "filtering"]
    for entry, v in zip(filters, VARIANTS, strict=True):
        block = {"x": v.default_block.x, "y": v.default_block.y} if v.uses_block else None
        facts = (v.key, v.title, v.idea, v.device, v.remark, block)
        names = ("key", "title", "idea", "device", "remark", "default_block")
        assert tuple(entry[name] for name in names) == facts
    multiplying = [(e["key"], e["idea"], e["default_tile"]) for e in entries if e["task"] == "product"]
    tiles = [v.default_block.x if v.uses_block else None for v in MATMUL_VARIANTS]
    assert multiplying == [(v.key, v.idea, tile) for v, tile in zip(MATMUL_VARIANTS, tiles, strict=True)]
    assert all(entry.keys() >= COMMON for entry in entries)


def test_that_masks_are_listed_with_their_weights(command):
    answer = command("masks")
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == [preset.key for preset in presets()]
    entries = command("masks --json").document["masks"]
    for entry, preset in zip(entries, presets(), strict=True):
        assert (entry["key"], entry["title"], entry["teaches"]) == (preset.key, preset.title, preset.teaches)
        assert np.array_equal(entry["weights"], preset.mask.weights)
        assert (entry["rows"], entry["columns"]) == preset.mask.shape
        assert tuple(entry["anchor"]) == preset.mask.anchor
