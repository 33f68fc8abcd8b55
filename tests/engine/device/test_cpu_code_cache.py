"""Compiled CPU functions on disk: found again, and never run once a byte of the file is another one."""

import ast
import pickle
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit, types

from engine.device import cpu_code_cache
from engine.device.code_store import CodeStore
from engine.device.cpu_code_cache import kept_callback, kept_on_disk

SIGNATURE = (types.float32[:, ::1], types.int64)
DAMAGES = 60
ENGINE = Path(cpu_code_cache.__file__).parents[1]


def total(values: Any, count: Any) -> Any:
    result = 0.0
    for index in range(count):
        result += values[0, index] * 3.0
    return result


def doubled(value: Any) -> Any:
    return value * 2


@pytest.fixture
def unpickled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bytes]:
    """Return what was unpickled, under a store of its own."""
    seen: list[bytes] = []

    def loads(content: bytes) -> Any:
        seen.append(content)
        return pickle.loads(content)

    monkeypatch.setattr(cpu_code_cache, "code_store", lambda: CodeStore(tmp_path / "kept"))
    monkeypatch.setattr(cpu_code_cache, "pickle", SimpleNamespace(loads=loads))
    return seen


def result_of(dispatcher: Any) -> float:
    dispatcher.compile(SIGNATURE)
    return float(dispatcher(np.arange(6, dtype=np.float32).reshape(1, 6), 6))


def test_that_the_next_start_loads_what_this_one_compiled(unpickled, tmp_path):
    assert result_of(kept_on_disk(njit(total))) == 45.0
    assert unpickled == []
    assert result_of(kept_on_disk(njit(total))) == 45.0
    assert len(unpickled) == 1
    callbacks = [kept_callback(types.int64(types.int64), doubled) for _ in range(2)]
    assert [callback.ctypes(21) for callback in callbacks] == [42, 42]
    assert len(unpickled) == 2
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_that_a_file_with_any_other_byte_is_compiled_anew_and_never_unpickled(unpickled, tmp_path):
    assert result_of(kept_on_disk(njit(total))) == 45.0
    (path,) = (tmp_path / "kept").iterdir()
    good, chance = path.read_bytes(), random.Random(14)
    for number in range(DAMAGES):
        content, place = bytearray(good), chance.randrange(len(good))
        if number % 2:
            content[place] ^= 1 << chance.randrange(8)
        else:
            del content[place if number else 0 :]
        path.write_bytes(content)
        cache = kept_on_disk(njit(total))._cache
        assert cache.load_overload(SIGNATURE, njit(total).targetctx) is None
        assert not path.exists()
    assert unpickled == []
    assert result_of(kept_on_disk(njit(total))) == 45.0
    assert path.exists()


@pytest.mark.slow
def test_that_a_whole_file_that_means_nothing_is_compiled_anew(unpickled, tmp_path):
    """Another program may have written it: its digest is right, and what is in it is not."""
    assert result_of(kept_on_disk(njit(total))) == 45.0
    (path,) = (tmp_path / "kept").iterdir()
    key = path.read_bytes()[32:].partition(b"\0")[0].decode()
    for content in (b"", b"no pickle", pickle.dumps(3), pickle.dumps((1,) * 20)):
        CodeStore(tmp_path / "kept").save("cpu", key, content)
        assert result_of(kept_on_disk(njit(total))) == 45.0
    assert unpickled == [b"", b"no pickle", pickle.dumps(3), pickle.dumps((1,) * 20)]


def test_that_a_closure_is_refused():
    factor = 3
    with pytest.raises(TypeError, match="closure"):
        kept_on_disk(njit(lambda value: value * factor))


@pytest.mark.slow
def test_that_no_function_is_left_to_numbas_own_cache():
    """It raises where the disk is full, and runs whatever a file holds."""
    sources = sorted(ENGINE.rglob("*.py"))
    assert len(sources) > 100
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("njit", "jit", "cfunc", "vectorize"):
                assert "cache" not in [keyword.arg for keyword in node.keywords], path
