"""Bytes of interleaved samples sorted by channel and back."""

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.value import I32, Value

Values = list[Value]


def sorted_word(code: CudaCode, words: dict[int, Value], sources: list[tuple[int, int] | None]) -> Value:
    """Return a word of 4 bytes of any words: one `prmt` (PTX ISA 9.7.9.7) for two, one more for each other.

    `sources` has the (word, byte) of each byte, lowest first; None where any will do.
    """
    first, *others = sorted({source[0] for source in sources if source})
    value, chosen = words[first], [source[1] if source else 0 for source in sources]
    if not others and all(source is None or source[1] == at for at, source in enumerate(sources)):
        return value
    for number in others or [first]:
        for at, source in enumerate(sources):
            if number != first and source and source[0] == number:
                chosen[at] = 4 + source[1]
        selector = sum(byte << 4 * at for at, byte in enumerate(chosen))
        line = f"prmt.b32 $0, $1, $2, {selector};"
        value, chosen = code.assembly(line, "=r,r,r", [value, words[number]], I32), [0, 1, 2, 3]
    return value


def interleaved_words(code: CudaCode, planes: list[Values]) -> Values:
    """Return the words of a row of pixels from those of each channel, of 4 pixels each."""
    channels, fours = len(planes), len(planes[0])
    words = dict(enumerate(word for plane in planes for word in plane))
    samples = [divmod(sample, channels) for sample in range(4 * channels * fours)]
    sources = [(channel * fours + pixel // 4, pixel % 4) for pixel, channel in samples]
    return [sorted_word(code, words, [*sources[at : at + 4]]) for at in range(0, len(sources), 4)]
