"""The compiled part of `engine.image.jpeg_scan`: a walk over the Huffman codes of a scan."""

from engine.compiled.entry_point import entry_point


def walk(data, begin, end, short, long, first, others, units, interval, done):
    """Count in `done[0]` the units (MCU) of a baseline scan in data[begin:end] whose blocks have all codes.

    `short` and `long`, (tables, 512) and (tables, 65536), have by the next 9 and 16 bits what a code takes
    with the bits that follow it, and by how many coefficients it leads on, times 64; 0 where there is none.
    `first` and `others` have the tables of each block of a unit, for its mean and for the rest. A unit takes
    a restart marker before it after each `interval` of them.
    """
    entry_point()
    done[0] = 0
    window, bits, at = 0, 0, begin
    until_restart, restart = interval, 0
    for unit in range(units):
        if interval > 0:
            if until_restart == 0:
                if bits >= 8 or at + 1 >= end or data[at] != 0xFF or data[at + 1] != 0xD0 + restart:
                    return
                at += 2
                bits = 0
                restart = (restart + 1) & 7
                until_restart = interval
            until_restart -= 1
        for block in range(first.size):
            table = first[block]
            position = 0
            while position < 64:
                # A code and what follows it take 31 bits at most.
                if bits < 32:
                    while bits <= 48 and at < end:
                        byte = data[at]
                        if byte == 0xFF:
                            if at + 1 >= end or data[at + 1] != 0:
                                break
                            at += 1
                        at += 1
                        window = (window << 8) | byte
                        bits += 8
                next_bits = window >> (bits - 16) if bits >= 16 else window << (16 - bits)
                next_bits &= 0xFFFF
                entry = short[table, next_bits >> 7]
                if entry == 0:
                    entry = long[table, next_bits]
                bits -= entry & 63
                if entry == 0 or bits < 0:
                    return
                position += entry >> 6
                table = others[block]
            # The code for the end of a block leads on by 128.
            if 64 < position < 128:
                return
        done[0] = unit + 1
