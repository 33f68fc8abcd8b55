"""The loop: work is begun as there is room, and what becomes of it is yielded in order.

Work is a picture for a GPU or a CPU, a band of a large one, or a file of a batch for threads or the workers
of a cluster. Each is a `Future`: the calling thread begins them, and waits for the oldest.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from engine.errors import Cancelled, EngineError

Work = TypeVar("Work")
Result = TypeVar("Result")


def in_order(begin: Callable[[Work], Future[Result]], work: Iterable[Work], most: int) -> Iterator[Result]:
    """Begin all work, at most so much at a time, and yield its results in order, each as soon as it is there.

    Where the work fails, or taking it, what was begun is finished and yielded too before the error is raised:
    that of the earliest.
    """
    under_way: deque[Future[Result]] = deque()
    try:
        for one in work:
            under_way.append(begin(one))
            while under_way and (len(under_way) >= most or under_way[0].done()):
                yield under_way[0].result()
                under_way.popleft()
        while under_way:
            yield under_way[0].result()
            under_way.popleft()
    except Cancelled:
        raise
    except EngineError as error:
        earliest: EngineError | None = None
        for future in under_way:
            try:
                yield future.result()
            except EngineError as another:
                earliest = earliest or another
        raise earliest or error from None
