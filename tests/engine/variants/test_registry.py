import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import engine.variants
from engine.errors import UnknownName
from engine.variants.contract import Variant
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS, variant


def test_that_every_file_with_a_variant_is_in_the_registry() -> None:
    found = {}
    for module in pkgutil.walk_packages(engine.variants.__path__, "engine.variants."):
        declared = getattr(importlib.import_module(module.name), "VARIANT", None)
        if isinstance(declared, Variant):
            found[module.name] = declared
    assert {declared.key for declared in found.values()} == {known.key for known in VARIANTS}
    assert len(found) == len(VARIANTS)


def test_that_keys_and_titles_are_unique_and_everything_is_told() -> None:
    assert len({known.key for known in VARIANTS}) == len(VARIANTS)
    assert len({known.title for known in VARIANTS}) == len(VARIANTS)
    assert all(known.title and known.idea.endswith(".") for known in VARIANTS)


def test_that_the_stable_keys_are_there_in_teaching_order() -> None:
    assert [known.key for known in VARIANTS] == [
        "cpu-serial",
        "cpu-parallel",
        "cpu-separable",
        "cpu-box",
        "cpu-fft",
        "naive",
        "constant",
        "tiled-input",
        "tiled",
        "cached",
        "separable-l0",
        "separable-l1",
        "separable-l2",
        "implicit-gemm",
        "register-blocked",
        "digit-sums",
        "split-float16",
        "separable-fused",
        "low-rank-2",
        "low-rank-3",
        "box",
        "fft",
        "row-naive",
        "row-tiled",
        "row-cached",
    ]


def test_that_every_variant_is_found_by_its_key() -> None:
    assert [variant(known.key) for known in VARIANTS] == list(VARIANTS)


def test_that_the_document_tells_of_every_variant_in_teaching_order() -> None:
    text = (Path(__file__).parents[3] / "docs" / "variants.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"(?ms)^#{2,3} `([a-z0-9-]+)`(.*?)(?=^#{2,3} |\Z)", text))
    assert list(sections) == [known.key for known in (*VARIANTS, *MATMUL_VARIANTS)]
    for known in VARIANTS:
        section = sections[known.key]
        assert "```" in section, f"{known.key}: no drawing"
        assert re.search(r"(?m)^Work\b", section), f"{known.key}: no work formula"


def test_that_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"variant 'tilde'.*Did you mean tiled\?.*cpu-serial"):
        variant("tilde")
