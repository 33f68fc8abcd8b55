import numpy as np

from gui.network.drawing import picture_of, shades
from gui.style.theme import DARK


def test_that_each_value_has_its_shade():
    steps = np.array([[0, 128, 255], [7, 8, 9]], np.uint8)
    picture = picture_of(steps, shades(DARK))
    found = [[picture.pixelColor(x, y).rgb() for x in range(3)] for y in range(2)]
    assert found == shades(DARK)[steps].tolist()
    assert picture.pixelColor(0, 0).name() == DARK.base
    assert picture.pixelColor(2, 0).name() == DARK.text
