"""One channel of an image alone, in grey."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage


def one_channel(image: QImage, source: QRectF, channel: int) -> tuple[QImage, QRectF]:
    """Return a part of an image with one of its channels in grey, and where that part lies in it."""
    whole = source.toAlignedRect().intersected(image.rect())
    part = image.copy(whole)
    # From the lowest byte blue, green, red, alpha.
    rows = np.frombuffer(part.constBits(), np.uint8).reshape(part.height(), part.bytesPerLine())
    grey = np.ascontiguousarray(rows[:, 2 - channel : 4 * part.width() : 4])
    made = QImage(grey.data, part.width(), part.height(), grey.strides[0], QImage.Format.Format_Grayscale8)
    # The array's memory is not kept.
    return made.copy(), source.translated(-QPointF(whole.topLeft()))
