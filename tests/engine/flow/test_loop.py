"""Work in order: at most so much is under way, and what was begun is yielded before the earliest error."""

from concurrent.futures import Future

import pytest

from engine.errors import Cancelled, EngineError
from engine.flow.loop import in_order

COUNT = 12


def run(most, outcome=lambda number: number, taken=lambda number: None):
    """Begin work whose futures end, the newest first, once so much is under way or no more comes."""
    begun, yielded, error = [], [], None

    def end():
        while begun:
            number, future = begun.pop()
            try:
                future.set_result(outcome(number))
            except EngineError as raised:
                future.set_exception(raised)

    def begin(number):
        begun.append((number, Future()))
        future = begun[-1][1]
        assert len(begun) <= most
        if len(begun) == most or number == COUNT - 1:
            end()
        return future

    def numbers():
        for number in range(COUNT):
            try:
                taken(number)
            except EngineError:
                end()
                raise
            yield number

    try:
        yielded.extend(in_order(begin, numbers(), most))
    except EngineError as raised:
        error = raised
    return yielded, error


@pytest.mark.parametrize("most", [1, 5, 99])
def test_that_results_come_in_order_however_they_end(most):
    assert run(most) == (list(range(COUNT)), None)


def failing(*numbers, kind=EngineError):
    def act(number):
        if number in numbers:
            raise kind(str(number))
        return number

    return act


def test_that_what_was_begun_is_yielded_before_the_earliest_error():
    yielded, error = run(5, failing(6, 8))
    assert error.args[0] == "6"
    assert set(range(6)) <= set(yielded) <= set(range(COUNT)) - {6, 8}


def test_that_an_error_of_earlier_work_comes_before_one_of_taking_more():
    assert run(5, failing(3), failing(4))[1].args[0] == "3"
    yielded, error = run(5, taken=failing(4))
    assert (yielded, error.args[0]) == ([0, 1, 2, 3], "4")


def test_that_nothing_is_waited_for_once_it_is_cancelled():
    def cancelled():
        yield from range(2)
        raise Cancelled("The work", "it was stopped")

    with pytest.raises(Cancelled):
        list(in_order(lambda number: Future(), cancelled(), 3))
