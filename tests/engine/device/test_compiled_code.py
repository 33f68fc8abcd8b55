from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.device import code_store
from engine.device.code_store import CodeStore


@pytest.fixture(autouse=True)
def _fresh_store() -> Iterator[None]:
    code_store.code_store.cache_clear()
    yield
    code_store.code_store.cache_clear()


def folder_of(store: CodeStore) -> Path:
    return store._path("cpu", "key").parent


def test_that_compiled_code_lies_in_the_folder_that_the_person_chose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert folder_of(code_store.code_store()) == tmp_path / code_store.source_digest()


def test_that_without_a_choice_it_lies_in_the_persons_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = folder_of(code_store.code_store())
    assert folder == tmp_path / "haloscope" / "compiled" / code_store.source_digest()


def test_that_the_folder_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    (tmp_path / "variants" / "cpu").mkdir(parents=True)
    source = tmp_path / "variants" / "cpu" / "serial.py"
    source.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(code_store, "_ENGINE", tmp_path)
    before = code_store.source_digest()
    assert folder_of(code_store.code_store()).name == before
    source.write_text("a = 2\n", encoding="utf-8")
    assert code_store.source_digest() != before
