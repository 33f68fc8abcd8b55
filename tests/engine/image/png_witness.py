"""A second PNG decoder, slow and plain, that shares no line with the program: the witness for PngSuite.

It returns H x W x C values as `open_image` promises them: palette and tRNS expanded, 1, 2 and 4 bit scaled to
8 bit, gamma ignored.
"""

import struct
import zlib

import numpy as np

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

# First column, first row, column step, row step of the seven passes (Adam7).
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def decode(data):
    chunks = {}
    position, pixels = 8, b""
    while position < len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        content = data[position + 8 : position + 8 + length]
        if kind == b"IDAT":
            pixels += content
        else:
            chunks[kind] = content
        position += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    stream = zlib.decompress(pixels)
    samples = np.zeros((height, width, CHANNELS[colour]), np.int64)
    position = 0
    for x, y, step_x, step_y in ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(width - x) // step_x), -(-(height - y) // step_y)
        if columns > 0 and rows > 0:
            part, position = _read_pass(stream, position, columns, rows, depth, CHANNELS[colour])
            samples[y::step_y, x::step_x] = part
    assert position == len(stream)
    return _expanded(samples, depth, colour, chunks)


def _read_pass(stream, position, columns, rows, depth, channels):
    row_bytes = (columns * channels * depth + 7) // 8
    back = max(1, channels * depth // 8)
    previous = [0] * row_bytes
    part = np.zeros((rows, columns, channels), np.int64)
    for row in range(rows):
        kind = stream[position]
        line = list(stream[position + 1 : position + 1 + row_bytes])
        position += 1 + row_bytes
        for i in range(row_bytes):
            left = line[i - back] if i >= back else 0
            above, corner = previous[i], previous[i - back] if i >= back else 0
            guess = (0, left, above, (left + above) // 2, _paeth(left, above, corner))[kind]
            line[i] = (line[i] + guess) & 255
        bits = "".join(f"{byte:08b}" for byte in line)
        values = [int(bits[i * depth : (i + 1) * depth], 2) for i in range(columns * channels)]
        part[row] = np.reshape(values, (columns, channels))
        previous = line
    return part, position


def _paeth(left, above, corner):
    estimate = left + above - corner
    distances = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
    return (left, above, corner)[distances.index(min(distances))]


def _expanded(samples, depth, colour, chunks):
    transparent = chunks.get(b"tRNS")
    if colour == 3:
        palette = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
        if transparent is not None:
            opacity = np.full((len(palette), 1), 255, np.uint8)
            opacity[: len(transparent), 0] = list(transparent)
            palette = np.hstack([palette, opacity])
        return palette[samples[..., 0]]
    dtype, full = (np.uint16, 65535) if depth == 16 else (np.uint8, 255)
    image = samples * (full // (2**depth - 1))
    if transparent is not None:
        key = struct.unpack(f">{len(transparent) // 2}H", transparent)
        clear = np.all(samples == np.array(key), axis=2, keepdims=True)
        image = np.concatenate([image, np.where(clear, 0, full)], axis=2)
    return image.astype(dtype)
