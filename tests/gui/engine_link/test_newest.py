from engine.errors import BadValue, Cancelled
from engine.host.protocol import OpenPicture
from gui.engine_link.newest import Newest


def test_that_only_the_newest_request_is_answered_and_memory_of_the_others_is_given_back(slow_bench):
    newest, answers = Newest(slow_bench.link), []
    for name in ("one.png", "two.png", "three.png"):
        newest.ask(OpenPicture(sample=name), lambda picture: answers.append(picture.title), answers.append)
    assert newest.in_flight == OpenPicture(sample="three.png")
    before = slow_bench.fake.leaked
    slow_bench.fail(BadValue("one.png", "it is damaged"), OpenPicture)
    slow_bench.answer(OpenPicture)
    assert (answers, slow_bench.fake.leaked) == ([], before)
    slow_bench.answer(OpenPicture)
    assert (answers, newest.in_flight) == (["three.png"], None)


def test_that_a_request_that_is_forgotten_brings_nothing_and_a_stopped_one_fails(slow_bench):
    newest, answers = Newest(slow_bench.link), []
    for finish in (newest.forget, newest.cancel):
        newest.ask(OpenPicture(sample="one.png"), answers.append, lambda error: answers.append(type(error)))
        finish()
        if finish == newest.forget:
            slow_bench.answer(OpenPicture)
            assert answers == []
    slow_bench.settle()
    assert answers == [Cancelled]
