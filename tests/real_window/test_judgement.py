"""The judgement of the other tests: a program that crashed, or never started, is found out."""

import os
import signal

import pytest

from bench.real_window import Program

pytestmark = pytest.mark.slow


def test_that_a_crash_is_found_in_the_log_and_in_the_status(screen, tmp_path):
    program = Program(screen, tmp_path / "home")
    assert program.complaints() == []
    os.kill(program.process.pid, signal.SIGSEGV)
    assert program.wait_for_end() == -signal.SIGSEGV
    wrong = " ".join(program.complaints())
    assert "its crash log is not empty" in wrong
    assert "it ended with status -11" in wrong
    assert "Segmentation fault" in program.report()
    program.kill()


def test_that_a_program_that_ends_before_its_window_is_no_success(screen, tmp_path):
    with pytest.raises(RuntimeError, match="no-such-option"):
        Program(screen, tmp_path / "home", "--no-such-option")
