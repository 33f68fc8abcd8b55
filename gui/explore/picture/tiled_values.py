"""The numbers of a tiled picture and of its result, asked for where they are read."""

from collections import OrderedDict
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from engine.host.protocol import PictureHandle
from engine.host.request import Request
from engine.host.shared import attach
from engine.host.shared_array import segments_of
from engine.host.tiles import PictureValues, ResultValues, TiledScreen, Values
from engine.tasks.filtering.messages import FilterJob
from gui.engine_link.engine_link import Ask, EngineLink
from gui.explore.picture.pixel_values import value_text

# Values come in squares of this side.
_SIDE = 32
# At 48 device pixels for each pixel a screen of 3840 x 2160 shows 12 squares of both.
_MOST_KEPT = 64

Key = tuple[str, int, int]


class TiledValues(QObject):
    """Values of full size: of the picture, and of the newest result."""

    updated = Signal()

    def __init__(self, picture: PictureHandle, screen: TiledScreen, link: EngineLink) -> None:
        super().__init__()
        self.shape, self.dtype = picture.pixels.shape, np.dtype(picture.dtype)
        self.has_alpha = False
        self._screen, self._link = screen, link
        self._result: tuple[Any, TiledScreen] | None = None
        self._kept: OrderedDict[Key, np.ndarray | None] = OrderedDict()
        self._asked: dict[Key, Ask] = {}

    def set_result(self, job: FilterJob | None, screen: TiledScreen) -> None:
        """Read the result of this job from now on; without one, a result that is on another machine."""
        self._result = job, screen
        for key in [key for key in self._kept if key[0] == "result"]:
            del self._kept[key]
        self._asked = {key: ask for key, ask in self._asked.items() if key[0] != "result"}

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original" or "result" in a pixel, by channels; dots while it is being read."""
        if name == "alpha" or (name == "result" and self._result is None):
            return ()
        key = name, row // _SIDE, column // _SIDE
        if key not in self._kept:
            if key not in self._asked:
                self._send(key)
            return ("…",) * self.shape[2]
        values = self._kept[key]
        if values is None:
            return ()
        self._kept.move_to_end(key)
        return tuple(value_text(value) for value in values[row % _SIDE, column % _SIDE])

    def _send(self, key: Key) -> None:
        name, down, across = key
        rows = down * _SIDE, min((down + 1) * _SIDE, self.shape[0])
        columns = across * _SIDE, min((across + 1) * _SIDE, self.shape[1])
        request: Request = PictureValues(self._screen, rows, columns)
        if name == "result" and self._result is not None:
            request = ResultValues(*self._result, rows, columns)

        def replied(reply: Values) -> None:
            values = attach(reply.values).copy()
            self._link.keeper.discard(segments_of(reply))
            arrived(values)

        def failed(error: EngineError) -> None:
            # The tile there says why.
            arrived(None)

        def arrived(values: np.ndarray | None) -> None:
            if self._asked.get(key) is not ask:
                return
            del self._asked[key]
            self._kept[key] = values
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            self.updated.emit()

        ask = Ask(request, replied, failed)
        self._asked[key] = ask
        self._link.ask(ask)
