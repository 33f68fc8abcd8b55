"""The sentence of a launch: what limits the occupancy, and what would raise it."""

from engine.explain.gpus import ABSENT_GPUS, Architecture
from engine.explain.launch.launch_words import limit_sentence
from engine.explain.launch.launches import ExplainedLaunch, curves
from engine.results.launch_facts import KernelResources, launch_facts, occupancy_of

HOPPER = ABSENT_GPUS[Architecture(9, 0)].attributes


def made(threads, registers, shared_bytes=0, local_bytes=0):
    """Return a launch of 1,000 blocks on a H200, and its curves."""
    taken = KernelResources(registers, shared_bytes, local_bytes)
    facts = launch_facts((1000, 1, 1), (threads, 1, 1), taken, HOPPER)
    launch = ExplainedLaunch(facts, occupancy_of(threads, taken, HOPPER), 0)
    return launch, curves(threads, taken, HOPPER)


# It has room for 64 warps, 32 blocks, 65,536 registers, and 228 KiB, of which a block takes 1 KiB more.
def test_that_the_sentence_names_the_limit_and_what_would_change_it():
    for launch, words in [
        ((256, 32), "The occupancy is 100 %: no further warp has room."),
        (
            (256, 0),
            "The occupancy is at most 100 %: no further warp has room.",
        ),
        (
            (32, 32),
            "The most blocks that fit limit the occupancy to 50.0 %. "
            "It would be 100 % with 64 threads per block.",
        ),
        (
            (256, 128),
            "Registers limit the occupancy to 25.0 %. It would be 37.5 % with 80 registers per thread.",
        ),
        (
            (256, 32, 40 * 1024),
            "Shared memory limits the occupancy to 62.5 %. It would be 75.0 % with 37 KiB of shared memory, "
            "or 100 % with 512 threads per block.",
        ),
        (
            (768, 24),
            "The room for threads limits the occupancy to 75.0 %. "
            "It would be 100 % with 512 threads per block.",
        ),
        ((2048, 32), "No block can be launched: a block may have 1,024 threads."),
    ]:
        assert limit_sentence(*made(*launch)) == words
