from pathlib import Path

import pytest

from engine.device import compiled_code


def test_that_a_folder_that_the_person_chose_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/somewhere")
    assert compiled_code.keep_compiled_code() == Path("/somewhere")


def test_that_the_folder_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    (tmp_path / "variants" / "cpu").mkdir(parents=True)
    source = tmp_path / "variants" / "cpu" / "serial.py"
    source.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(compiled_code, "_ENGINE", tmp_path)
    before = compiled_code.source_digest()
    assert compiled_code.keep_compiled_code().name == before
    source.write_text("a = 2\n", encoding="utf-8")
    assert compiled_code.source_digest() != before
