"""Listings written by hand, and what is counted beside them."""

from engine.explain.code.listing import SourceLine
from engine.explain.code.ptx_listing import ptx_listing
from engine.explain.code.sass_listing import sass_listing
from engine.explain.counts.accesses import CountedAccesses, LoopRounds, Place, PlaceAccesses

FILE = "engine/kernel.py"


def sass(text):
    """Return the listing of some SASS; `line 33` begins what comes from that line of the source."""
    written = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line.startswith("line "):
            written.append(f'\t//## File "/home/x/{FILE}", {line}')
        else:
            written.append(line if line.endswith(":") else f"        /*0000*/    {line} ;")
    return sass_listing("\n".join(written), "kernel", "sm_90")


def ptx(text):
    """Return the listing of some PTX."""
    lines = filter(None, map(str.strip, text.split("\n")))
    return ptx_listing("\n".join(one if one[0] == "$" else f"\t{one}" for one in lines), "kernel", "sm_90")


def loads(line, requests, loop=None, per_round=0.0):
    """Return requests for global memory at a line, within a loop that begins at another."""
    place = Place(SourceLine(FILE, line), loop and SourceLine(FILE, loop))
    return PlaceAccesses(place, "global", "loads", requests, per_round)


def loop(line, *entries, outer=None):
    """Return a loop: numbers of rounds, each with how often a warp comes to it for so many."""
    return LoopRounds(SourceLine(FILE, line), outer and SourceLine(FILE, outer), entries)


def counted(*places, loops=(), barriers=0):
    """Return what a launch asks of memory, at these places alone."""
    return CountedAccesses("kernel", 1, 1, True, (), barriers, places, tuple(loops))
