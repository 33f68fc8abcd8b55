"""What answers each kind of request: the one table. A new kind is one line here.

A handler is called on the main thread of the host process, one at a time; that of a kind that is answered at
once on the thread that reads the pipe.
"""

from engine.host import (
    course_jobs,
    executor,
    network_jobs,
    network_protocol,
    operation_jobs,
    picture_jobs,
    protocol,
    run_jobs,
    tile_jobs,
)
from engine.host.request import Request
from engine.host.server import Handler

HANDLERS: dict[type[Request], Handler] = {
    protocol.OpenPicture: picture_jobs.open_picture,
    protocol.SaveResult: picture_jobs.save_result,
    protocol.Preview: run_jobs.preview,
    protocol.Run: run_jobs.run,
    protocol.CheckVariants: run_jobs.check_variants,
    protocol.CheckBlocks: run_jobs.check_blocks,
    protocol.DescribeTile: tile_jobs.describe_tile,
    protocol.DescribeOperations: operation_jobs.describe,
    protocol.PreviewOperation: operation_jobs.preview,
    protocol.RunOperation: operation_jobs.run,
    protocol.CheckOperation: operation_jobs.check,
    protocol.CountMatmul: run_jobs.count_matmul,
    protocol.RunMatmul: run_jobs.run_matmul,
    network_protocol.DescribeNetwork: network_jobs.describe,
    network_protocol.ForwardDrawing: network_jobs.forward,
    network_protocol.RunNetwork: network_jobs.run,
    network_protocol.CheckStages: network_jobs.check,
    network_protocol.ClassifyDigits: network_jobs.classify,
    protocol.CountCourse: course_jobs.count_course,
    protocol.MeasureCourse: course_jobs.measure_course,
    protocol.SaveCourse: course_jobs.save_course,
    executor.Call: executor.call,
}
