"""The program on the server's side of a line: an ordinary client of an ordinary host process, over two pipes.

ssh starts it; it listens nowhere, and ends with its standard input. What its host process does, and what
becomes of that where it ends, is as on any machine. Results stay here: what is asked of them is sent.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from engine.device.versions import SERVER_VARIABLE
from engine.errors import Cancelled, EngineError, ResultGone
from engine.files.held_folders import HeldFolder, remove_dead_folders
from engine.files.standard_streams import log, set_output_aside
from engine.host import shared
from engine.host.client import EngineClient
from engine.host.display_range import pixels_of
from engine.host.messages import Answer, Cancel, Ready, Superseded, ToHost, Working
from engine.host.protocol import Filtered, ScreenLevels
from engine.host.request import Request
from engine.host.shared_array import SharedArray, segments_of
from engine.host.tiles import TILE, Place, ResultTiles, ResultValues, Tile, TiledScreen, Tiles, Values
from engine.host.tiles import WHOLE as WHOLE_TILE
from engine.host.verbs import Preview, Seen
from engine.remote.arrays import Array, Arriving, sent_bands
from engine.remote.codecs import Packer
from engine.remote.envelopes import DIGEST, TO_SERVER
from engine.remote.line import ANSWERS, PIXELS, WHOLE, Line, Message, Transfer
from engine.remote.messages import Arrays, Band, Begin, Needed, Written
from engine.remote.places import is_place
from engine.remote.schema import Crossing, NotOfTheSchema, decoded, encoded
from engine.remote.ssh import VERSION
from engine.results.progress import Progress

PATIENCE_S = 0.15
"""What takes longer over the line is sent at a coarser level first, and dropped where a newer one waits."""
MOST_KEPT_BYTES = 4 << 30
# What the window shows, of the last run and the last preview, and the one that is coming. More would keep the
# host from writing where it has written before, which is twice as fast (`engine.host.shared`).
MOST_RESULTS = 3
_LEAVING_S = 4.0
_MOST_WAITING = 1000
_FOLDERS = "haloscope-server-"


@dataclass(eq=False)
class _Asked:
    """A request that is not answered yet."""

    structure: bytes
    request: Request | None = None
    keys: tuple[str, ...] = ()  # of the pixels in it
    future: Future[Any] | None = None
    transfer: Transfer | None = None
    ends_at: float = 0.0  # when its transfer will probably have ended
    folder: tempfile.TemporaryDirectory[str] | None = None  # what it writes


class Kept:
    """Arrays by key; where they take too much, the least recently used go. Called on: any thread."""

    def __init__(self, most_bytes: int, most: int) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._kept: dict[str, tuple[Any, int]] = {}
        self._lock = threading.Lock()

    def add(self, key: str, value: Any, nbytes: int, in_use: frozenset[str] = frozenset()) -> list[Any]:
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

    def get(self, key: str) -> Any:
        """Return a value, which is now the one that was used last; None where there is none."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept[key] = self._kept.pop(key)
            return self._kept[key][0]


class Server:
    """Answers what comes over a line; `ended` is set when that is over."""

    def __init__(self, receiver: Any, sender: int) -> None:
        self.ended = threading.Event()
        self.why = ""
        self._line = Line(receiver, sender, self._take, self._end)
        self._begun = False
        self._client: EngineClient | None = None
        self._lock = threading.RLock()
        self._asked: dict[int, _Asked] = {}
        # For files that come and go.
        self._held = HeldFolder(_FOLDERS)
        self._held.note(shared.own_prefix())
        self._folder = self._held.path
        most = min(MOST_KEPT_BYTES, int(min(shared._free_bytes(), 1 << 40)) // 4)
        self._pictures, self._results = Kept(most, _MOST_WAITING), Kept(most, MOST_RESULTS)
        self._numbers = count(1)
        self._arriving = Arriving(self._make)
        self._packer = Packer()
        # Of the message that is being read: the pixels that it names, and those that are not here.
        self._named: list[str] = []
        self._missing: list[str] = []
        self._crossing = Crossing(_never, self._picture, lambda path: "", self._file)

    def start(self) -> None:
        """Answer from now on; remove what killed servers of this user have left."""
        self._line.start()
        remove_dead_folders(_FOLDERS, _remove_segments)

    def close(self) -> None:
        """End all that was begun here."""
        if self._client is not None:
            self._client.shutdown()
        self._held.remove()

    def _end(self, why: str) -> None:
        self.why = why
        self.ended.set()

    def _send(self, message: object) -> None:
        self._line.send(encoded(message))

    def _take(self, structure: memoryview, beside: memoryview) -> None:
        message = self._decoded(structure, TO_SERVER)
        if isinstance(message, Band):
            self._come(message.key, self._arriving.take(message, beside))
        elif isinstance(message, Arrays):
            self._come(message.key, self._arriving.begin(message))
        elif isinstance(message, Begin):
            self._begin(message)
        elif not self._begun:
            raise NotOfTheSchema("The line", "a message before the first one")
        elif isinstance(message, ToHost):
            self._ask(message, bytes(structure))
        elif isinstance(message, Cancel):
            self._cancel(message.id)
        elif isinstance(message, Superseded):
            self._supersede(message.id)

    def _decoded(self, structure: bytes | memoryview, kind: Any) -> Any:
        self._named, self._missing = [], []
        return decoded(structure, kind, self._crossing)

    def _begin(self, begin: Begin) -> None:
        if begin.version != VERSION or self._begun:
            raise NotOfTheSchema("The line", f"version {begin.version[:40]} there, {VERSION} here")
        self._begun = True
        os.environ[SERVER_VARIABLE] = " ".join(begin.title.split())[:200]
        self._client = EngineClient(
            on_ready=self._say_ready, on_notice=self._send, described=begin.options.described
        )
        self._held.note(self._client.segment_prefix)
        self._client.start()

    def _say_ready(self, ready: Ready) -> None:
        self._send(ready)

    # Pixels and files that come.

    def _make(self, message: Arrays) -> tuple[tuple[SharedArray, ...], list[Array]] | None:
        if self._pictures.get(message.key) is not None or len(message.forms) != 1:
            return None
        made = shared.create(*message.forms)
        return made, [shared.attach(array) for array in made]

    def _come(self, key: str, arrays: tuple[SharedArray, ...] | None) -> None:
        if arrays is None:
            return
        size = shared.attach(arrays[0]).nbytes
        for gone in self._pictures.add(key, arrays[0], size, self._in_use()):
            if self._client is not None:
                self._client.detach(gone.name)
            shared.unlink(gone.name)
        with self._lock:
            waiting = [(n, asked) for n, asked in self._asked.items() if asked.request is None]
        for number, asked in waiting:
            message = self._decoded(asked.structure, ToHost)
            if not self._missing:
                self._submit(number, asked, message.request)

    def _in_use(self) -> frozenset[str]:
        """Return the keys of what requests are computed from, and of results that are being sent."""
        with self._lock:
            return frozenset(key for asked in self._asked.values() for key in asked.keys)

    def _picture(self, parts: Any) -> SharedArray:
        key, number = (*parts, None, None)[:2]
        if not isinstance(key, str) or number != 0 or len(parts) != 2:
            raise NotOfTheSchema("A message was refused", "it names no pixels")
        found: SharedArray | None = self._pictures.get(key)
        (self._missing if found is None else self._named).append(key)
        return found or SharedArray(key, (1, 1, 1), "uint8")

    def _file(self, name: str) -> str:
        """Return the path of a file that has come: its digest, and the name that it had."""
        key, _, last = name.partition("/")
        if not is_place(name) or not key.isalnum() or not last or "/" in last:
            raise NotOfTheSchema("A message was refused", "a file of no such name")
        path = Path(self._folder, key, last)
        if not path.exists():
            found: SharedArray | None = self._pictures.get(key)
            if found is None:
                self._missing.append(key)
                return str(path)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(shared.attach(found).tobytes())
        return str(path)

    # Requests.

    def _ask(self, message: ToHost, structure: bytes) -> None:
        with self._lock:
            if len(self._asked) >= _MOST_WAITING or message.id in self._asked:
                raise NotOfTheSchema("The line", "too many requests, or one twice")
            asked = self._asked[message.id] = _Asked(structure)
        if self._missing:
            for key in dict.fromkeys(self._missing):
                self._send(Needed(key))
            return
        self._submit(message.id, asked, message.request)

    def _submit(self, number: int, asked: _Asked, request: Request) -> None:
        assert self._client is not None
        asked.request, asked.keys = request, tuple(self._named)
        if isinstance(request, ResultTiles | ResultValues):
            self._answer_of_result(number, request)
            return
        if request.written_path:
            asked.folder = tempfile.TemporaryDirectory(prefix="haloscope-", dir=self._folder)
            path = str(Path(asked.folder.name, Path(request.written_path).name or "written"))
            request = replace(request, **{request.path_field: path})  # type: ignore[type-var]

        def report(progress: Progress) -> None:
            self._send(Working(number, progress))

        asked.future = self._client.submit(request, report)
        asked.future.add_done_callback(partial(self._done, number, request))

    def _done(self, number: int, request: Request, future: Future[Any]) -> None:
        value, error = None, None
        try:
            value = future.result()
        except EngineError as raised:
            error = raised
        except CancelledError:
            error = Cancelled("The preview", "a newer one has replaced it")
        try:
            self._answer(number, value, error, getattr(request, "seen", None))
        except Exception as raised:  # noqa: BLE001 - the thread's boundary: every error becomes an answer
            why = f"{type(raised).__name__}: {' '.join(str(raised).split())[:300]}"
            self._finish(number, EngineError("The answer cannot be sent", why, "Please report this line."))

    def _finish(self, number: int, error: EngineError) -> None:
        with self._lock:
            asked = self._asked.pop(number, None)
        if asked is not None:
            self._line.send(encoded(Answer(number, error=error)), ANSWERS)

    def _answer(self, number: int, value: Any, error: EngineError | None, seen: Seen | None) -> None:
        """Send an answer: its pixels first, as the line takes them, then the rest."""
        with self._lock:
            asked = self._asked.get(number)
        names = segments_of(value)
        if asked is None:
            self._release(names)
            return
        arrays: list[Array] = []
        views: dict[str, Array] = {}
        if seen is not None:
            value, names = self._only_seen(asked, value, seen, views)

        def out(array: SharedArray) -> tuple[str, int]:
            arrays.append(views[array.name] if array.name in views else shared.attach(array))
            return f"a{number}", len(arrays) - 1

        structure = encoded(Answer(number, value, error), Crossing(out, _never, str, str))
        self._send_answer(number, asked, structure, arrays, names)

    def _send_answer(
        self, number: int, asked: _Asked, structure: bytes, arrays: list[Array], names: tuple[str, ...] = ()
    ) -> None:
        nbytes = sum(array.nbytes for array in arrays)
        asked.ends_at = time.monotonic() + self._packer.seconds(nbytes, self._line.rate)
        is_looked_at = isinstance(asked.request, Preview | ResultTiles)
        priority = PIXELS if is_looked_at else WHOLE if arrays else ANSWERS
        messages = chain(
            self._bands(number, arrays, names), self._files(number, asked), self._last(number, structure)
        )
        asked.transfer = self._line.transfer(messages, priority)

    def _bands(self, number: int, arrays: list[Array], names: tuple[str, ...]) -> Iterator[Message]:
        try:
            if arrays:
                yield from sent_bands(f"a{number}", arrays, self._packer, lambda: self._line.rate, number)
        finally:
            self._release(names)

    def _files(self, number: int, asked: _Asked) -> Iterator[Message]:
        """Yield the files that a request has written."""
        if asked.folder is None:
            return
        with asked.folder as folder:
            for place, (path, data) in enumerate(sorted(_written(Path(folder)))):
                key = f"w{number}-{place}"
                whole = np.frombuffer(data, np.uint8)
                yield from sent_bands(key, [whole], self._packer, lambda: self._line.rate, number)
                yield encoded(Written(number, path.partition("/")[2], key)), b""

    def _last(self, number: int, structure: bytes) -> Iterator[Message]:
        with self._lock:
            self._asked.pop(number, None)
        yield structure, b""

    def _release(self, names: tuple[str, ...]) -> None:
        if names and self._client is not None:
            self._client.release(*names)

    def _cancel(self, number: int) -> None:
        with self._lock:
            asked = self._asked.get(number)
        if asked is None:
            return
        if asked.transfer is not None:
            asked.transfer.is_dropped = True
        elif asked.future is not None and self._client is not None:
            self._client.cancel(asked.future)
            return
        self._finish(number, Cancelled("The request", "it was stopped"))

    def _supersede(self, number: int) -> None:
        with self._lock:
            asked = self._asked.get(number)
        if asked is None or asked.transfer is None or asked.ends_at - time.monotonic() < PATIENCE_S:
            return
        asked.transfer.is_dropped = True
        self._finish(number, Cancelled("The preview", "a newer one has replaced it"))

    # Results that stay here.

    def _only_seen(
        self, asked: _Asked, value: Any, seen: Seen, views: dict[str, Array]
    ) -> tuple[Any, tuple[str, ...]]:
        """Keep the pixels of an answer here; return it with those that are seen, and what is not kept."""
        found = _filtered_in(value)
        if (
            found is None
            or not isinstance(found.values, SharedArray)
            or not isinstance(found.screen, ScreenLevels)
        ):
            return value, segments_of(value)
        levels = found.screen.levels
        key = f"result-{next(self._numbers)}"
        screen = TiledScreen(key, _sides(levels), opaque=found.screen.opaque)
        asked.keys += (key,)
        size = sum(shared.attach(array).nbytes for array in {found.values, *levels})
        for gone in self._results.add(key, found, size, self._in_use()):
            self._release(segments_of(gone))
        # The finest level that is one tile; then what is seen, at a coarser level where the line is slow.
        whole = next((n for n in range(len(levels)) if max(screen.levels[n]) <= TILE), len(levels) - 1)
        level, places = min(max(seen.level, 0), whole), places_in(screen, seen, seen.level)
        while (
            level < whole
            and self._packer.seconds(_tile_bytes(screen, level, places), self._line.rate) > PATIENCE_S
        ):
            level += 1
            places = places_in(screen, seen, level)
        parts = [(whole, ((0, 0),))] if level != whole else []
        tiles = tuple(self._tiles(found, screen, n, at, views) for n, at in (*parts, (level, places)))
        kept = replace(found, values=None, screen=screen, tiles=tiles)
        return (kept if value is found else replace(value, shown=kept)), ()

    def _tiles(
        self,
        found: Filtered,
        screen: TiledScreen,
        level: int,
        places: tuple[Place, ...],
        views: dict[str, Array],
    ) -> Tiles:
        assert isinstance(found.screen, ScreenLevels)
        pixels, tiles = shared.attach(found.screen.levels[level]), list[Tile]()
        for place in places:
            at = screen.extent(level, place)
            part, shown = pixels[at], found.screen.shown
            if shown is not None and not level:
                alpha = None if shown.alpha is None else shared.attach(shown.alpha)[at]
                part = pixels_of(part, shown.scale, shown.shift, shown.is_absolute, alpha, shown.white)
            name = f"view-{len(views)}"
            views[name] = part
            tiles.append(Tile(place, SharedArray(name, part.shape, part.dtype.name), WHOLE_TILE))
        return Tiles(level, tuple(tiles))

    def _answer_of_result(self, number: int, request: ResultTiles[Any] | ResultValues[Any]) -> None:
        with self._lock:
            asked = self._asked[number]
        asked.keys += (request.screen.key,)
        found: Filtered | None = self._results.get(request.screen.key)
        if (
            found is None
            or not isinstance(found.screen, ScreenLevels)
            or not isinstance(found.values, SharedArray)
        ):
            why = "results stay on the server, which keeps the newest"
            self._finish(number, ResultGone("This result is not there any more", why, "Compute it again."))
            return
        screen = TiledScreen(request.screen.key, _sides(found.screen.levels))
        views: dict[str, Array] = {}
        value: Tiles | Values
        if isinstance(request, ResultTiles):
            rows, columns = (
                screen.places(request.level) if 0 <= request.level < len(screen.levels) else (0, 0)
            )
            if not all(0 <= row < rows and 0 <= column < columns for row, column in request.tiles):
                raise NotOfTheSchema("The line", "a tile that is not of the result")
            value = self._tiles(found, screen, request.level, request.tiles, views)
        else:
            rows_, columns_ = slice(*request.rows), slice(*request.columns)
            views["values"] = part = shared.attach(found.values)[rows_, columns_]
            array = SharedArray("values", part.shape, part.dtype.name)
            value = Values(request.rows[0], request.columns[0], array)
        arrays: list[Array] = []

        def out(array: SharedArray) -> tuple[str, int]:
            arrays.append(views[array.name])
            return f"a{number}", len(arrays) - 1

        structure = encoded(Answer(number, value), Crossing(out, _never, str, str))
        self._send_answer(number, asked, structure, arrays)


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


def _tile_bytes(screen: TiledScreen, level: int, places: tuple[Place, ...]) -> int:
    return 4 * len(places) * screen.tile**2


def _filtered_in(value: Any) -> Filtered | None:
    """Return the picture of an answer: itself, or what an operation shows."""
    if isinstance(value, Filtered):
        return value
    shown = getattr(value, "shown", None)
    return shown if isinstance(shown, Filtered) else None


def _written(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _remove_segments(prefixes: Sequence[str]) -> None:
    """Remove the shared memory of a server that was killed with the process that Python has for that."""
    for prefix in filter(shared.is_prefix, prefixes):
        shared.unlink(*shared.left_by(prefix, 0))


def _never(*_: Any) -> Any:
    raise NotOfTheSchema("A message", "pixels where none may be")


def main() -> None:
    """Greet on standard output, and answer until standard input ends."""
    # What libraries print must not come into the line, and no child may read from it.
    sender, receiver = set_output_aside(), os.fdopen(os.dup(0), "rb", 1 << 18)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    greeting = {"version": VERSION, "schema": DIGEST, "python": sys.version.split()[0]}
    os.write(sender, b"HALOSCOPE " + json.dumps(greeting, allow_nan=False).encode() + b"\n")
    server = Server(receiver, sender)
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.ended.set())
    server.start()
    server.ended.wait()
    # A host that hangs in a driver ends with the memory that it has.
    timer = threading.Timer(_LEAVING_S, os._exit, (1,))
    timer.daemon = True
    timer.start()
    if server.why:
        log(f"haloscope: {server.why}")
    server.close()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
