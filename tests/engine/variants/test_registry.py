import re
from pathlib import Path

import pytest

from engine.errors import UnknownName
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS, matmul_variant, variant


def test_that_keys_and_titles_are_unique_and_everything_is_told():
    for known in (VARIANTS, MATMUL_VARIANTS):
        assert len({one.key for one in known}) == len({one.title for one in known}) == len(known)
        assert all(one.title and one.idea.endswith(".") for one in known)


def test_that_the_stable_keys_are_there_in_teaching_order():
    assert " ".join(known.key for known in VARIANTS) == (
        "cpu-serial cpu-parallel cpu-separable cpu-box cpu-fft naive constant tiled-input tiled cached "
        "separable-l0 separable-l1 separable-l2 implicit-gemm register-blocked digit-sums split-float16 "
        "separable-fused low-rank-2 low-rank-3 box fft row-naive row-tiled row-cached"
    )
    assert [known.key for known in MATMUL_VARIANTS] == ["matmul-naive", "matmul-tiled", "numpy"]
    assert matmul_variant("numpy").title == "numpy (BLAS)"


def test_that_every_variant_is_found_by_its_key():
    assert [variant(known.key) for known in VARIANTS] == list(VARIANTS)


DOCUMENTS = Path(__file__).parents[3] / "docs"


def test_that_the_chooser_has_every_variant_with_a_link_to_its_one_section_with_drawing_and_work():
    sections = {}
    for page in sorted((DOCUMENTS / "variants").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for key, section in re.findall(r"(?ms)^## `([a-z0-9-]+)`$(.*?)(?=^## |\Z)", text):
            assert key not in sections, f"{key}: two sections"
            sections[key] = f"variants/{page.name}#{key}{section}"
    chooser = (DOCUMENTS / "variants.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| \[`([a-z0-9-]+)`\]\((\S+)\)", chooser)
    assert [key for key, _ in rows] == [known.key for known in (*VARIANTS, *MATMUL_VARIANTS)]
    assert sections.keys() == dict(rows).keys()
    assert [link for key, link in rows if not sections[key].startswith(f"{link}\n")] == []
    for known in VARIANTS:
        assert "```" in sections[known.key], f"{known.key}: no drawing"
        assert re.search(r"(?m)^Work\b", sections[known.key]), f"{known.key}: no work formula"


def test_that_an_unknown_key_is_refused_with_the_nearest_one():
    with pytest.raises(UnknownName, match=r"variant 'tilde'.*Did you mean tiled\?.*cpu-serial"):
        variant("tilde")
    with pytest.raises(UnknownName, match=r"variant 'matmul-tield'.*Did you mean matmul-tiled\?.*numpy"):
        matmul_variant("matmul-tield")
