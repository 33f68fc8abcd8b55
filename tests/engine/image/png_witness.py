"""Qt's PNG decoder as a witness: H x W x C values as `open_image` promises them.

Palette and tRNS are expanded, 1, 2 and 4 bit scaled to 8 bit, gamma is ignored. Clear pixels may be black.
"""

import numpy as np
from PySide6.QtGui import QImage


def decode(data):
    image = QImage.fromData(bytes(data))
    has_alpha = image.hasAlphaChannel()
    image = image.convertToFormat(QImage.Format.Format_RGBA64)
    found = np.frombuffer(image.constBits(), np.uint16).reshape(image.height(), image.width(), 4)
    depth, colour = data[24:26]
    channels = [*range(3 if colour & 2 else 1), *[3] * has_alpha]
    return found[..., channels] if depth == 16 else (found[..., channels] >> 8).astype(np.uint8)
