import gc

from engine.garbage import no_collection


def test_that_nothing_is_collected_until_the_last_of_blocks_that_overlap_ends():
    first, second = no_collection(), no_collection()
    first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
