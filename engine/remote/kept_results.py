"""Results that stay on the server: what is seen of them is sent, the rest when it is asked for."""

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from engine.errors import ResultGone
from engine.host import shared
from engine.host.display_range import pixels_of
from engine.host.protocol import (
    TILE,
    Filtered,
    Place,
    ScreenLevels,
    Tile,
    TiledScreen,
    Tiles,
    Values,
    WantedTiles,
    WantedValues,
)
from engine.host.protocol import WHOLE as WHOLE_TILE
from engine.host.request import Seen, SharedArray
from engine.remote.arrays import Array
from engine.remote.schema import NotOfTheSchema

PATIENCE_S = 0.15
"""What takes longer over the line is sent at a coarser level first, and dropped where a newer one waits."""
# What the window shows, of the last run and the last preview, and the one that is coming. More would keep the
# host from writing where it has written before, which is twice as fast (`engine.host.shared`).
MOST_RESULTS = 3

V = TypeVar("V")


class Kept(Generic[V]):
    """Arrays by key; where they take too much, the least recently used go. Called on: any thread."""

    def __init__(self, most_bytes: int, most: int) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._kept: dict[str, tuple[V, int]] = {}
        self._lock = threading.Lock()

    def add(self, key: str, value: V, nbytes: int, in_use: frozenset[str] = frozenset()) -> list[V]:
        """Keep a value; return those that had to go."""
        with self._lock:
            self._kept[key] = value, nbytes
            total, gone = sum(size for _, size in self._kept.values()), []
            for old in [k for k in self._kept if k != key and k not in in_use]:
                if total <= self._most_bytes and len(self._kept) <= self._most:
                    break
                value, size = self._kept.pop(old)
                total -= size
                gone.append(value)
            return gone

    def get(self, key: str) -> V | None:
        """Return a value, which is now the one that was used last; None where there is none."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept[key] = self._kept.pop(key)
            return self._kept[key][0]


class KeptResults:
    """The newest results, by the key of the screen that their answers have in place of pixels.

    `views` of an answer are what it sends of the pixels: arrays by the names that it has for them.
    """

    def __init__(self, most_bytes: int) -> None:
        self._kept: Kept[Filtered] = Kept(most_bytes, MOST_RESULTS)
        self._numbers = count(1)

    def keep(
        self, value: Any, seen: Seen, in_use: frozenset[str], seconds: Callable[[int], float]
    ) -> tuple[Any, str, dict[str, Array], list[Filtered]] | None:
        """Keep the pixels of an answer; return it with what is seen, its key, views, and what is not kept.

        None: it has no pixels that could be kept. `seconds` says how long bytes of pixels take over the line.
        """
        found = _filtered_in(value)
        if (
            found is None
            or not isinstance(found.values, SharedArray)
            or not isinstance(found.screen, ScreenLevels)
        ):
            return None
        levels, views = found.screen.levels, dict[str, Array]()
        key = f"result-{next(self._numbers)}"
        screen = TiledScreen(key, _sides(levels), opaque=found.screen.opaque, is_kept=True)
        size = sum(shared.attach(array).nbytes for array in {found.values, *levels})
        gone = self._kept.add(key, found, size, in_use | {key})
        # The finest level that is one tile; then what is seen, at a coarser level where the line is slow.
        whole = next((n for n in range(len(levels)) if max(screen.levels[n]) <= TILE), len(levels) - 1)
        level, places = min(max(seen.level, 0), whole), places_in(screen, seen, seen.level)
        while level < whole and seconds(4 * len(places) * screen.tile**2) > PATIENCE_S:
            level += 1
            places = places_in(screen, seen, level)
        parts = [(whole, ((0, 0),))] if level != whole else []
        tiles = tuple(_tiles(found.screen, screen, n, at, views) for n, at in (*parts, (level, places)))
        kept = replace(found, values=None, screen=screen, tiles=tiles)
        return (kept if value is found else replace(value, shown=kept)), key, views, gone

    def answer(self, request: WantedTiles | WantedValues) -> tuple[Tiles | Values, dict[str, Array]]:
        """Return a part of a result, and its views. Raises ResultGone: it is not kept any more."""
        found = self._kept.get(request.screen.key)
        if (
            found is None
            or not isinstance(found.screen, ScreenLevels)
            or not isinstance(found.values, SharedArray)
        ):
            why = "results stay on the server, which keeps the newest"
            raise ResultGone("This result is not there any more", why, "Compute it again.")
        views: dict[str, Array] = {}
        if isinstance(request, WantedValues):
            part = shared.attach(found.values)[slice(*request.rows), slice(*request.columns)]
            views["values"] = part
            array = SharedArray("values", part.shape, part.dtype.name)
            return Values(request.rows[0], request.columns[0], array), views
        screen = TiledScreen(request.screen.key, _sides(found.screen.levels))
        rows, columns = screen.places(request.level) if 0 <= request.level < len(screen.levels) else (0, 0)
        if not all(0 <= row < rows and 0 <= column < columns for row, column in request.tiles):
            raise NotOfTheSchema("The line", "a tile that is not of the result")
        return _tiles(found.screen, screen, request.level, request.tiles, views), views


def _tiles(
    levels: ScreenLevels, screen: TiledScreen, level: int, places: tuple[Place, ...], views: dict[str, Array]
) -> Tiles:
    pixels, tiles = shared.attach(levels.levels[level]), list[Tile]()
    for place in places:
        at = screen.extent(level, place)
        part, shown = pixels[at], levels.shown
        if shown is not None and not level:
            alpha = None if shown.alpha is None else shared.attach(shown.alpha)[at]
            part = pixels_of(part, shown.scale, shown.shift, shown.is_absolute, alpha, shown.white)
        name = f"view-{len(views)}"
        views[name] = part
        tiles.append(Tile(place, SharedArray(name, part.shape, part.dtype.name), WHOLE_TILE))
    return Tiles(level, tuple(tiles))


def places_in(screen: TiledScreen, seen: Seen, level: int) -> tuple[Place, ...]:
    """Return the tiles of a level that cover what is seen of another one."""
    level = min(max(level, 0), len(screen.levels) - 1)
    step = screen.tile * 2 ** (level - min(max(seen.level, 0), len(screen.levels) - 1))
    last = [side - 1 for side in screen.places(level)]
    spans = [
        range(min(max(int(begin // step), 0), most), min(max(int(-(-end // step)) - 1, 0), most) + 1)
        for (begin, end), most in zip((seen.rows, seen.columns), last, strict=True)
    ]
    return tuple((row, column) for row in spans[0] for column in spans[1])


def _sides(levels: tuple[SharedArray, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((level.shape[0], level.shape[1]) for level in levels)


def _filtered_in(value: object) -> Filtered | None:
    """Return the picture of an answer: itself, or what an operation shows."""
    if isinstance(value, Filtered):
        return value
    shown = getattr(value, "shown", None)
    return shown if isinstance(shown, Filtered) else None
