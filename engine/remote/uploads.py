"""Pictures and files here that requests to a server name: each crosses once, by its digest.

Called on: any thread.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
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

WAITING = Progress("waiting for the server", 0.0, 2.0)


class Uploads:
    """Pictures and files that requests name; `report` hears what requests without an own step wait for."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        # By digest: arrays or files.
        self._digests: dict[SharedArray, str] = {}
        self._sources: dict[str, SharedArray | str] = {}
        self._crossing = Crossing(self._digest_of, self._digest_of_file)
        self._packer = Packer()

    def encoded(self, message: ToHost) -> bytes:
        """Return a request as it crosses, with digests for what it names."""
        return encoded(message, self._crossing)

    def send(self, key: str, line: Line) -> None:
        """Send what the server asks for, as it has not got it."""
        line.transfer(self._bands(key, line), WHOLE)

    def forget(self, names: tuple[str, ...]) -> None:
        """Forget arrays in segments of these names, which hold others from now on."""
        with self._lock:
            for array in [array for array in self._digests if array.name in names]:
                self._sources.pop(self._digests.pop(array), None)

    def _bands(self, key: str, line: Line) -> Iterator[Message]:
        """Yield the bands of a picture; say now and then how long it will take."""
        source = self._sources.get(key)
        if source is None:
            return
        pixels = np.fromfile(source, np.uint8) if isinstance(source, str) else shared.attach(source)
        begin = time.monotonic()
        for message in sent_bands(key, [pixels], self._packer, lambda: line.rate):
            yield message
            left_s = self._packer.seconds(pixels.nbytes, line.rate) - (time.monotonic() - begin)
            self._report(Progress("sending the picture", 0.0, max(left_s, 1.0)))
        self._report(WAITING)

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
        return SharedArray(key, (), "")

    def _digest_of_file(self, path: str) -> str:
        try:
            key = hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"{path} cannot be read", why, "Choose another file.") from error
        with self._lock:
            self._sources[key] = path
        return f"{key}/{name_there(Path(path).name)}"
