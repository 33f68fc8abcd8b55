"""What answers each kind of request, in two tables. A new request of a task is one line in `ANSWERS`.

A handler is called on the main thread of the host process, one at a time; that of a request that is answered
at once on the thread that reads the pipe.
"""

from typing import Any, NamedTuple

from engine.host import (
    call,
    course_jobs,
    network_jobs,
    network_protocol,
    operation_jobs,
    picture_jobs,
    protocol,
    run_jobs,
    tile_jobs,
    verbs,
)
from engine.host.request import Request
from engine.host.server import Handler
from engine.results.progress import Checkpoint


class Answers(NamedTuple):
    """What answers the verbs for one request of a task; None where it cannot be asked."""

    describe: Handler | None = None
    check: Handler | None = None
    preview: Handler | None = None
    run: Handler | None = None


ANSWERS: dict[type, Answers] = {
    protocol.FilterJob: Answers(check=run_jobs.check, preview=run_jobs.preview, run=run_jobs.run),
    protocol.TileRequest: Answers(describe=tile_jobs.describe_tile),
    protocol.OperationJob: Answers(
        check=operation_jobs.check, preview=operation_jobs.preview, run=operation_jobs.run
    ),
    protocol.OperationsRequest: Answers(describe=operation_jobs.describe),
    protocol.ProductGrid: Answers(describe=run_jobs.count_matmul),
    protocol.ProductRequest: Answers(run=run_jobs.run_matmul),
    network_protocol.NetworkRequest: Answers(describe=network_jobs.describe),
    network_protocol.DrawingRequest: Answers(preview=network_jobs.forward),
    network_protocol.StageRequest: Answers(check=network_jobs.check, run=network_jobs.run),
    network_protocol.DigitsRequest: Answers(run=network_jobs.classify),
    protocol.CourseRequest: Answers(describe=course_jobs.count_course, run=course_jobs.measure_course),
}


def _asked(verb: str) -> Handler:
    """Return the handler of a verb."""

    def handle(request: verbs.Verb[Any], report: Checkpoint) -> object:
        answer: Handler | None = getattr(ANSWERS[type(request.job)], verb)
        if answer is None:
            raise TypeError(f"{type(request.job).__name__} cannot be asked to {verb}")
        return answer(request, report)

    return handle


HANDLERS: dict[type[Request], Handler] = {
    verbs.Describe: _asked("describe"),
    verbs.Check: _asked("check"),
    verbs.Preview: _asked("preview"),
    verbs.Run: _asked("run"),
    protocol.OpenPicture: picture_jobs.open_picture,
    protocol.SaveResult: picture_jobs.save_result,
    protocol.SaveCourse: course_jobs.save_course,
    call.Call: call.answer,
}
