"""What is short is said in words: of an error, of what it comes of, and of limits that are too low."""

import errno

from engine.process import shortage_of, too_low_limit


def raised(error, cause=None):
    """Return an error as it is when it was raised while another one was handled."""
    try:
        try:
            if cause is not None:
                raise cause
        finally:
            raise error
    except type(error) as found:
        return found


LOADING = ImportError("libqsvg.so: failed to map segment from shared object")


def test_that_an_error_says_what_was_short():
    for error, what in [
        (MemoryError(), "Not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "No more files can be opened"),
        (OSError(errno.ENFILE, "Too many open files in system"), "No more files can be opened"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "No more threads or processes"),
        (RuntimeError("can't start new thread"), "No more threads or processes"),
        (LOADING, "Not enough memory"),
        (ImportError("x.so: cannot open shared object file: Too many open files"), "No more files"),
        (OSError("x.so: cannot allocate memory in static TLS block"), "Not enough memory"),
        (raised(ValueError("no icon"), LOADING), "Not enough memory"),
    ]:
        found = shortage_of(error)
        assert found.what.startswith(what)
        assert found.why
        assert found.remedy


def test_that_other_errors_are_not_called_a_shortage():
    for error in [
        OSError(errno.ENOENT, "No such file"),
        ValueError("no"),
        ImportError("no module named x"),
        raised(ValueError("b"), KeyError("a")),
    ]:
        assert shortage_of(error) is None


def test_that_a_limit_that_is_too_low_is_named_with_what_is_needed(monkeypatch):
    limits = {"RLIMIT_NOFILE": 14, "RLIMIT_AS": 900_000_000}
    monkeypatch.setattr("engine.process._limit", limits.get)
    words = (
        "It cannot be opened: this process may have 14 files open at a time, and 64 are needed. Allow more"
    )
    assert str(too_low_limit("It cannot be opened", 64, 1)).startswith(words)
    words = "It: this process may use 900 MB of memory, and 1,000 MB are needed. Allow more"
    assert str(too_low_limit("It", 14, 10**9)).startswith(words)
    assert too_low_limit("It", 14, 900_000_000) is None
    monkeypatch.setattr("engine.process._limit", lambda name: None)
    assert too_low_limit("It", 64, 10**9) is None
