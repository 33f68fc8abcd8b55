"""What answers each kind of request: the one table. A new kind is one line here.

A handler is called on the main thread of the host process, one at a time; that of a kind that is answered at
once on the thread that reads the pipe.
"""

from collections.abc import Callable
from typing import Any

from engine.host import course_jobs, executor, jobs, matmul_jobs
from engine.host.course_requests import CountCourse, MeasureCourse, SaveCourse
from engine.host.matmul_requests import CountMatmul, RunMatmul
from engine.host.protocol import CheckVariants, OpenPicture, Preview, Report, Run, SaveResult
from engine.host.request import Request

Handler = Callable[[Any, Report], object]

HANDLERS: dict[type[Request], Handler] = {
    OpenPicture: jobs.open_picture,
    Preview: jobs.preview,
    Run: jobs.run,
    CheckVariants: jobs.check_variants,
    SaveResult: jobs.save_result,
    CountCourse: course_jobs.count_course,
    MeasureCourse: course_jobs.measure_course,
    SaveCourse: course_jobs.save_course,
    CountMatmul: matmul_jobs.count_matmul,
    RunMatmul: matmul_jobs.run_matmul,
    executor.Call: executor.call,
}
