import re
from pathlib import Path

import pytest

from engine.errors import UnknownName
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS, variant


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


DOCUMENTS = Path(__file__).parents[3] / "docs"


def test_that_the_chooser_lists_every_variant_in_teaching_order_with_a_link_to_its_section() -> None:
    rows = re.findall(
        r"(?m)^\| \[`([a-z0-9-]+)`\]\((\S+)\)", (DOCUMENTS / "variants.md").read_text(encoding="utf-8")
    )
    assert [key for key, _ in rows] == [known.key for known in (*VARIANTS, *MATMUL_VARIANTS)]
    for key, link in rows:
        page, _, anchor = link.partition("#")
        assert anchor == key
        assert f"\n## `{key}`\n" in (DOCUMENTS / page).read_text(encoding="utf-8"), (
            f"{page} has no section {key}"
        )


def test_that_every_variant_has_one_section_with_a_drawing_and_its_work() -> None:
    sections: dict[str, str] = {}
    for page in sorted((DOCUMENTS / "variants").glob("*.md")):
        for key, section in re.findall(
            r"(?ms)^## `([a-z0-9-]+)`$(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8")
        ):
            assert key not in sections, f"{key}: two sections"
            sections[key] = section
    assert set(sections) == {known.key for known in (*VARIANTS, *MATMUL_VARIANTS)}
    for known in VARIANTS:
        section = sections[known.key]
        assert "```" in section, f"{known.key}: no drawing"
        assert re.search(r"(?m)^Work\b", section), f"{known.key}: no work formula"


def test_that_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"variant 'tilde'.*Did you mean tiled\?.*cpu-serial"):
        variant("tilde")
