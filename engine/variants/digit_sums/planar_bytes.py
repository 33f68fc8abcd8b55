"""Bytes of interleaved samples put together by channel and back, in registers."""

from typing import Any

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.value import I32

Places = list[tuple[int, int] | None]


def planar_word(code: CudaCode, words: dict[int, Any], places: Places) -> Any:
    """Return a word of 4 bytes from anywhere: one `prmt` (PTX ISA 9.7.9.7) of two words, one more for each further one.

    Parameters
    ----------
    code : CudaCode
    words : dict of int to int32 value
    places : list of (word, byte) or None
        Of each byte, lowest first; None where any will do.
    """
    sources = sorted({place[0] for place in places if place})
    if len(sources) == 1 and all(place is None or place[1] == byte for byte, place in enumerate(places)):
        return words[sources[0]]
    first, second = sources[0], sources[min(1, len(sources) - 1)]
    start = {first: 0, second: 4 if second != first else 0}
    # A byte of a word that comes in later is taken from anywhere.
    chosen = [start.get(place[0], 0) + place[1] if place else 0 for place in places]
    value = _permuted(code, words[first], words[second], chosen)
    for later in sources[2:]:
        chosen = [4 + place[1] if place and place[0] == later else byte for byte, place in enumerate(places)]
        value = _permuted(code, value, words[later], chosen)
    return value


def interleaved_words(code: CudaCode, planes: list[list[Any]]) -> list[Any]:
    """Return the words of a row of pixels from those of its channels, the lowest byte of a word first.

    Parameters
    ----------
    code : CudaCode
    planes : list of lists of int32 values
        Of each channel the words, 4 pixels each.
    """
    channels, fours = len(planes), len(planes[0])
    words = {
        channel * fours + four: word
        for channel, plane in enumerate(planes)
        for four, word in enumerate(plane)
    }
    interleaved = []
    for number in range(channels * fours):
        samples = (divmod(4 * number + byte, channels) for byte in range(4))
        places: Places = [(channel * fours + pixel // 4, pixel % 4) for pixel, channel in samples]
        interleaved.append(planar_word(code, words, places))
    return interleaved


def _permuted(code: CudaCode, low: Any, high: Any, chosen: list[int]) -> Any:
    """Return the bytes of two words, 0 to 3 and 4 to 7, in the order asked for."""
    selector = sum(byte << 4 * place for place, byte in enumerate(chosen))
    return code.assembly(f"prmt.b32 $0, $1, $2, {selector};", "=r,r,r", [low, high], I32)
