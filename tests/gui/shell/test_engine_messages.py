from engine.errors import CodeNotKept
from gui.page.messages import Severity


def test_that_a_cache_that_keeps_nothing_is_told_once_however_many_hosts_notice_it(make_bench):
    bench = make_bench()
    warning = CodeNotKept("Compiled code cannot be kept in /full", "the disk is full", "Mend that.")
    bench.fake.notice(warning)
    bench.settle()
    message = bench.messages.newest
    assert (message.severity, message.what, message.why) == (Severity.INFO, warning.what, warning.why)
    bench.messages.clear(message.source)
    bench.fake.notice(warning)
    bench.settle()
    assert bench.messages.newest is None
