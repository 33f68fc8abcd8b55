import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.device import compiled_code

ROOT = Path(__file__).parents[3]


def test_that_compiled_code_lies_in_the_folder_that_the_person_chose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = compiled_code.keep_compiled_code()
    assert folder == tmp_path / compiled_code.source_digest()
    # A child process is told the folder itself.
    assert compiled_code.keep_compiled_code() == folder


def test_that_compiled_code_is_kept_there_even_if_numba_was_imported_before(tmp_path: Path) -> None:
    script = (
        "import numba\nfrom engine.variants.cpu import serial\n"
        "print(serial.correlate_serial._cache.cache_path)"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"{os.sep}{compiled_code.source_digest()}{os.sep}" in done.stdout


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
