"""Warnings while files are opened: ignored, and after that as they were before."""

import warnings

import pytest

from engine.errors import CodeNotKept
from engine.image.faults import ignored_warnings


def test_that_filters_are_as_before_when_files_were_opened_side_by_side():
    before, shown = list(warnings.filters), warnings.showwarning
    first, second = ignored_warnings(), ignored_warnings()
    first.__enter__()
    second.__enter__()
    # The one that began first ends first, as it does on two threads.
    first.__exit__(None, None, None)
    warnings.warn("damaged metadata", stacklevel=1)
    second.__exit__(None, None, None)
    assert (warnings.filters, warnings.showwarning) == (before, shown)
    with pytest.warns(UserWarning, match="of another kind"):
        warnings.warn("of another kind", stacklevel=1)


def test_that_code_that_cannot_be_kept_is_said_all_the_same():
    with pytest.warns(CodeNotKept), ignored_warnings():
        warnings.warn(CodeNotKept("Code", "the disk is full", "Make room."), stacklevel=1)
