"""Pictures and files here that requests to a server name: each crosses once, by its digest.

Called on: any thread.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path

import numpy as np

from engine.errors import EngineError
from engine.host import shared
from engine.host.messages import ToHost
from engine.host.request import SharedArray
from engine.remote.arrays import Packer, sent_bands
from engine.remote.line import WHOLE, Line, Message
from engine.remote.schema import Crossing, encoded, name_there
from engine.results.progress import Progress


class Uploads:
    """What a server has of the pictures and files here; `report` hears that a request waits for one."""

    def __init__(self, report: Callable[[int, Progress], None]) -> None:
        self._report = report
        self._lock = threading.RLock()
        # By digest: arrays or files, and those of which sending has begun, and ended.
        self._digests: dict[SharedArray, str] = {}
        self._sources: dict[str, SharedArray | str] = {}
        self._begun: set[str] = set()
        self._sent: set[str] = set()
        self._waiting: dict[int, set[str]] = {}
        # What the message that is being encoded names.
        self._encoding = threading.Lock()
        self._named: set[str] = set()
        self._crossing = Crossing(self._digest_of, self._digest_of_file)
        self._packer = Packer()

    def encoded(self, message: ToHost) -> tuple[bytes, set[str]]:
        """Return a request as it crosses, and the digests of what it names."""
        with self._encoding:
            self._named = set()
            return encoded(message, self._crossing), self._named

    def send(self, request: int, named: Set[str], line: Line) -> None:
        """Send what a request names and the server has not."""
        with self._lock:
            if missing := set(named - self._sent):
                self._waiting[request] = missing
        for key in named:
            self._begin(key, line)

    def send_again(self, key: str, line: Line) -> None:
        """Send what the server does not have any more."""
        with self._lock:
            if key in self._begun and key not in self._sent:
                return
            self._begun.discard(key)
            self._sent.discard(key)
        self._begin(key, line)

    def forget(self, names: tuple[str, ...]) -> None:
        """Forget arrays in segments of these names, which hold others from now on."""
        with self._lock:
            for array in [array for array in self._digests if array.name in names]:
                self._sources.pop(self._digests.pop(array), None)

    def forget_request(self, request: int) -> None:
        """Report to a request no more: it is answered."""
        with self._lock:
            self._waiting.pop(request, None)

    def _begin(self, key: str, line: Line) -> None:
        with self._lock:
            if key in self._begun or key not in self._sources:
                return
            self._begun.add(key)
        line.transfer(self._bands(key, line), WHOLE)

    def _bands(self, key: str, line: Line) -> Iterator[Message]:
        """Yield the bands of a picture; say now and then that requests wait for it."""
        source = self._sources.get(key)
        if source is None:
            return
        pixels = np.fromfile(source, np.uint8) if isinstance(source, str) else shared.attach(source)
        begin, sent = time.monotonic(), 0
        for structure, beside in sent_bands(key, [pixels], self._packer, lambda: line.rate):
            yield structure, beside
            sent += len(beside)
            left_s = self._packer.seconds(pixels.nbytes, line.rate) - (time.monotonic() - begin)
            with self._lock:
                waiting = [number for number, keys in self._waiting.items() if key in keys]
            for number in waiting:
                self._report(number, Progress("sending the picture", 0.0, max(left_s, 1.0)))
        with self._lock:
            self._sent.add(key)
            for keys in self._waiting.values():
                keys.discard(key)

    def _digest_of(self, array: SharedArray) -> SharedArray:
        with self._lock:
            key = self._digests.get(array)
        if key is None:
            digest = hashlib.blake2b(f"{array.shape} {array.dtype}".encode(), digest_size=16)
            digest.update(shared.attach(array).data.cast("B"))
            key = digest.hexdigest()
        with self._lock:
            self._digests[array] = key
            self._sources[key] = array
        self._named.add(key)
        return SharedArray(key, (), "")

    def _digest_of_file(self, path: str) -> str:
        try:
            key = hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"{path} cannot be read", why, "Choose another file.") from error
        with self._lock:
            self._sources[key] = path
        self._named.add(key)
        return f"{key}/{name_there(Path(path).name)}"
