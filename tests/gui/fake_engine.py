"""Replaces `engine.host.client.EngineClient`: no process, plain NumPy, answers on demand.

`automatic` answers each request at once; without it a test answers by hand, in any order: `fake.answer()`,
`fake.fail(error)`, `fake.lose()`. What is answered is given as it was asked, or by its kind (its class, or
its class with that of the task's request; the oldest of that kind), and is the oldest of all if not.
Callbacks run in the thread that answers, as the real ones run in the client's.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from engine.course import papers as course
from engine.course.papers import RecordedCourse
from engine.device_info import SIMULATOR, SIMULATOR_PIXELS
from engine.errors import BadValue, Cancelled, EngineError, HostLost, ImageReadError, LineLost
from engine.explain import messages as explain
from engine.explain.device_limits import DeviceLimits, KeptLimits, MeasureLimits
from engine.geometry.block import Block
from engine.host import protocol, shared
from engine.host.request import Availability, Check, Preview, Ready, Request, Run, VariantInfo, answer
from engine.host.shared_picture import keeps_values
from engine.results.answer import Mark, Quantity
from engine.results.measurement import Environment, StepTime
from engine.results.problem import Progress
from engine.tasks.messages import RecordedRequest
from engine.tasks.network.problem import DrawingRequest, NetworkRequest, StageRequest
from engine.tasks.product.problem import ProductGrid, ProductRequest
from engine.work.chain_files import ready_chains
from engine.work.filtering.variants import filter_work
from engine.work.messages import EffectsRequest, ListRequest, OperationInfo
from engine.work.operations.contract import OPERATIONS
from engine.work.problem import ChainProblem, OperationProblem, Problem
from engine.work.steps import Chain, MaskStep, OperationStep, digest_of
from tests.gui import made_network
from tests.gui.made_explained import made_ablation, made_advice, made_code, made_limits, made_time
from tests.gui.made_results import (
    CPU_DEVICE,
    MISSING_CUDA_DEVICE,
    NO_CUDA,
    SIMULATOR_DEVICE,
    VARIANTS,
    made_excerpts,
    made_recorded_paper,
    made_tables,
)
from tests.made_runs import made_product, made_reason, made_recorded_runs, made_rows, make_result

# Of the small pictures of what masks do.
RED = (200, 30, 40)
READY = Ready(VARIANTS, (CPU_DEVICE, MISSING_CUDA_DEVICE, SIMULATOR_DEVICE))
# `Check` refuses blocks with more.
MOST_THREADS = 512
# One variant of each operation for the CPU and one for a GPU.
OPERATION_INFOS = tuple(
    OperationInfo(
        key,
        (
            VariantInfo(f"cpu-{key}", "CPU, all cores", "cpu", "On the CPU.", Block(1, 1), False),
            VariantInfo(f"{key}-tiled", "Tiled", "cuda", "On a GPU.", Block(32, 8), True),
        ),
    )
    for key in OPERATIONS
)
_LIMIT = "too large for the simulator (limit 2,097,152 pixels)"
TOO_LARGE = BadValue("a picture of 1600 × 1600", _LIMIT, "Choose another device.")
KERNEL_MS = {"cpu-serial": 18.4, "cpu-parallel": 0.92, "naive": 0.11, "tiled": 0.06, "cached": 0.07}
# Of pictures, by a word in their names; "huge" is too large for the simulator.
_SIZES = {"large": (72, 96), "huge": (1440, 1600)}


def is_kind(request, kind):
    """Return whether a request is of a kind: its class, or its class with that of the task's request."""
    return request.kind[: len(kind)] == kind if isinstance(kind, tuple) else isinstance(request, kind)


@dataclass(eq=False)
class Asked:
    """A request that has not been answered."""

    request: Request
    future: Future[Any]
    on_progress: Callable[[Progress], None] | None


class FakeEngineClient:
    """Answers like the engine; `unavailable` has reasons by variant, and `ready` says so when started."""

    def __init__(
        self, on_ready, on_lost, on_notice, described, *, automatic=True, ready=True, unavailable=None,
        remote=None,
    ):  # fmt: skip
        self._on_ready, self._on_lost, self.notice = on_ready, on_lost, on_notice
        self.automatic, self._says_ready, self.remote = automatic, ready, remote
        self.unavailable = unavailable if unavailable is not None else {"tiled": NO_CUDA, "cached": NO_CUDA}
        self.first_unavailable = self.unavailable
        self.use_cuda = True
        # Of every call of `connect`: the server.
        self.connected: list[Any] = []
        self.superseded: list[Request] = []
        self.asked: list[Asked] = []
        self.seen: list[Request] = []
        self.cancelled: list[Request] = []
        self.released: list[str] = []
        self.created: set[str] = set()
        # Those that stay on another machine, by their names there.
        self.results: dict[str, Any] = {}
        self.save_notes: tuple[str, ...] = ()
        # By device, where they were measured.
        self.limits: dict[str, DeviceLimits] = {}

    def start(self):
        if self._says_ready:
            self.become_ready()

    def become_ready(self):
        where = f" on {self.remote.title}" if self.remote else ""
        devices = tuple(replace(one, title=one.title + where) for one in READY.devices)
        self._on_ready(structs.replace(READY, devices=devices))

    def submit(self, request, on_progress=None):
        asked = Asked(request, Future(), on_progress)
        self.seen.append(request)
        self.asked.append(asked)
        if self.automatic:
            self.answer(asked)
        return asked.future

    def waiting(self, kind):
        """Requests of a kind that have not been answered, oldest first."""
        return [asked for asked in self.asked if is_kind(asked.request, kind)]

    def answer(self, asked=None):
        """Answer a request."""
        asked = self._take(asked)
        try:
            asked.future.set_result(self._reply(asked.request))
        except EngineError as error:
            asked.future.set_exception(error)

    def answer_all(self, kind):
        """Answer every waiting request of a kind."""
        for asked in self.waiting(kind):
            self.answer(asked)

    def fail(self, error, asked=None):
        """Fail a request."""
        self._take(asked).future.set_exception(error)

    def tell(self, stage, fraction, asked=None):
        """Say how far a request is."""
        self._which(asked).on_progress(Progress(stage, fraction, 0.1))

    def lose(self, reason="it was killed (SIGKILL)"):
        """End the host in the middle of everything; `become_ready` brings its successor."""
        remedy = "A new one is being started and your work is kept: run again."
        self._end(HostLost("The engine's process ended", reason, remedy))

    def lose_line(self, why="nothing was heard for 8 s"):
        """Lose the connection to the other machine, or do not get one."""
        self._end(LineLost(f"The connection to {self.remote.title} was lost", why, "Connect again."))

    def _end(self, error):
        self._on_lost(error)
        while self.asked:
            self.fail(error)

    def cancel(self, future):
        for asked in self.asked:
            if asked.future is future:
                self.cancelled.append(asked.request)
                self.fail(Cancelled("The run was stopped"), asked)
                return

    def connect(self, remote):
        """Go on on another machine; a test says what becomes of that."""
        self.remote = remote
        self.connected.append(remote)
        while self.asked:
            self.fail(Cancelled("The run was stopped", "another connection was asked for"))

    def supersede(self, future):
        self.superseded += [asked.request for asked in self.asked if asked.future is future]

    def release(self, *names):
        self.released.extend(names)
        shared.unlink(*names)

    def try_cuda_again(self):
        self.use_cuda = True
        self.become_ready()

    def shutdown(self):
        shared.unlink(*self.created)

    @property
    def leaked(self):
        """Blocks that were made and not given back."""
        return self.created - set(self.released)

    def _take(self, asked):
        asked = self._which(asked)
        self.asked.remove(asked)
        return asked

    def _which(self, asked):
        return self.waiting(asked)[0] if isinstance(asked, type | tuple) else asked or self.asked[0]

    def _reply(self, request):
        job = getattr(request, "job", None)
        if _is_too_large(getattr(job, "job", job)):
            if request.kind == (Check, MaskStep) and not request.blocks:
                return tuple(Availability(v.key, TOO_LARGE.reason) for v in READY.variants)
            raise TOO_LARGE
        if made := self._replies.get(request.kind):
            return made(request)
        return answer(request, lambda step: None)

    @cached_property
    def _replies(self):
        """What answers instead of the engine, by its class and the request of the task."""
        return {
            (protocol.OpenPicture,): self._picture,
            (protocol.SaveResult,): self._saved,
            (course.CountCourse,): lambda one: made_tables(measured=False),
            (course.CourseCode,): lambda one: made_excerpts(),
            (course.SaveCourse,): lambda one: protocol.Saved(one.folder, ("1 files: report.md.",)),
            (Check, MaskStep): self._checked,
            (Preview, MaskStep): self._previewed,
            (Run, MaskStep): lambda one: self._seen(one, self._filtered(one.job, _run_result(one.job))),
            (protocol.WantedTiles, type(None)): self._tiles_of_result,
            (protocol.WantedValues, type(None)): self._values_of_result,
            (EffectsRequest,): lambda one: (bytes(RED) * one.side**2,) * len(one.masks),
            (ListRequest,): lambda one: OPERATION_INFOS if one.of == "operations" else ready_chains(),
            (Preview, Chain): lambda one: self._chained(one),  # a test puts another in its place
            (Run, Chain): lambda one: self._chained(one),
            (explain.LaunchRequest,): made_advice,
            (explain.CompiledLaunchRequest,): made_advice,
            (explain.CodeRequest,): made_code,
            (Run, explain.AblationJob): lambda one: made_ablation(one.job),
            (explain.TimeRequest,): lambda one: made_time(one, self.limits),
            (KeptLimits,): lambda one: self.limits.get(one.device),
            (MeasureLimits,): lambda one: self.limits.setdefault(one.device, made_limits(one.device)),
            (Check, OperationStep): self._checked_operation,
            (Preview, OperationStep): self._operated,
            (Run, OperationStep): self._operated,
            (ProductGrid,): lambda one: made_rows(one.product, one.tiles, one.device),
            (Run, ProductRequest): self._multiplied,
            (course.CourseRequest,): lambda one: made_tables(measured=False),
            (RecordedCourse,): lambda one: made_recorded_paper(),
            (RecordedRequest,): made_recorded_runs,
            (course.MeasureCourse,): lambda one: course.MeasuredPaper(made_tables(measured=True)),
            (NetworkRequest,): lambda one: made_network.network_facts(self._make),
            (Preview, DrawingRequest): lambda one: made_network.recognised(one.job.ink, self._make),
            (Check, StageRequest): lambda one: made_network.checked_stages(one.job.device),
            (Run, StageRequest): lambda one: made_network.made_run(one.job.stage, one.job.batch),
        }

    def _saved(self, request):
        Path(request.path).write_bytes(b"picture")
        return protocol.Saved(request.path, self.save_notes)

    def _checked_operation(self, request):
        key = request.job.operation.operation
        variants = next(info.variants for info in OPERATION_INFOS if info.key == key)
        return _available(variants, {one.key: NO_CUDA for one in variants if one.kind == "cuda"})

    def _multiplied(self, request):
        job = request.job
        rows = made_rows(job.product, (job.tile,) if job.tile else (), job.device)
        return made_product(next(row for row in rows if row.variant == job.variant))

    def _checked(self, request):
        if request.blocks:
            return tuple(self._checked_blocks(request))
        return _available(READY.variants, self.unavailable)

    def _checked_blocks(self, request):
        keys = ["cpu-parallel" if key == "auto" else key for key in request.variants]
        for known in READY.variants:
            reason = self.unavailable.get(known.key, "")
            if known.key in (keys or [known.key]):
                for block in request.blocks if known.uses_block and not reason else (None,):
                    is_large = block is not None and block.threads > MOST_THREADS
                    why = f"A block of {block} needs too much shared memory." if is_large else reason
                    yield Availability(known.key, made_reason(why), block)

    def _picture(self, request):
        if request.path.endswith((".npy", ".bmp")):
            # A picture in parts, or a large one, by the engine itself.
            return answer(request, lambda step: None)
        title = Path(request.path).name or request.sample
        if "missing" in title:
            raise ImageReadError(f"{title} cannot be opened", "there is no such file", "Check the name.")
        height, width = next((size for word, size in _SIZES.items() if word in title), (36, 48))
        rows, columns = np.mgrid[0:height, 0:width]
        pixels = np.stack([rows * 7, columns * 5, (rows + columns) * 3], axis=-1).astype(np.uint8)
        values, screen = self._painted(pixels)
        where = {"path": request.path, "sample": request.sample}
        description = f"{title}  {width} × {height}  RGB  8 bit"
        return protocol.PictureHandle(values, None, screen, title, description, **where)

    def _previewed(self, request):
        if not keeps_values(request.job.picture):
            return answer(request, lambda step: None)
        return self._seen(request, self._filtered(request.job, None))

    def _filtered(self, job, result):
        if isinstance(job.picture.screen, protocol.TiledScreen):
            made = protocol.Filtered(None, job.picture.screen, "cpu-parallel", "cpu", 1.0, result)
            return made if result is None else structs.replace(made, screen=None)
        # Every job has a result of its own, which is all that the window needs to know of filtering.
        pixels = shared.attach(job.picture.pixels).astype(np.float32)
        filtered = pixels * np.float32(job.mask.total) + np.float32(job.mask.offset)
        variant = "cpu-parallel" if job.variant == "auto" else job.variant
        return protocol.Filtered(*self._painted(filtered), variant, "cpu", 1.0, result)

    def _seen(self, request, found):
        """Return a result as another machine does: its coarse whole, and the name that it has there."""
        if self.remote is None or request.seen is None:
            return found
        key = f"result-{len(self.results)}"
        self.results[key] = found
        height, width = found.values.shape[:2]
        sides = (height, width), ((height + 1) // 2, (width + 1) // 2)
        screen = protocol.TiledScreen(key, sides, tile=32, is_kept=True)
        coarse = shared.attach(found.screen.levels[0])[::2, ::2]
        (pixels,) = self._make(coarse)
        tiles = (protocol.Tiles(1, (protocol.Tile((0, 0), pixels, protocol.WHOLE),)),)
        there = Environment(f"CPU on {self.remote.title}")
        result = found.result and replace(found.result, environment=there)
        return structs.replace(found, values=None, screen=screen, tiles=tiles, result=result)

    def _tiles_of_result(self, request):
        if not request.screen.is_kept:
            return answer(request, lambda step: None)
        made = []
        for place in request.tiles:
            found = self.results[request.screen.key]
            step = 2**request.level
            part = shared.attach(found.screen.levels[0])[::step, ::step]
            (pixels,) = self._make(part[request.screen.extent(request.level, place)])
            made.append(protocol.Tile(place, pixels, protocol.WHOLE))
        return protocol.Tiles(request.level, tuple(made))

    def _values_of_result(self, request):
        if not request.screen.is_kept:
            return answer(request, lambda step: None)
        values = shared.attach(self.results[request.screen.key].values)
        (part,) = self._make(values[slice(*request.rows), slice(*request.columns)])
        return protocol.Values(request.rows[0], request.columns[0], part)

    def _chained(self, request):
        job = request.job
        pixels = shared.attach(job.picture.in_memory).astype(np.float32)
        steps = tuple(StepTime(one.id, one.title, _ran(one), 1.25) for one in job.chain.steps)
        result = None
        if is_kind(request, Run):
            problem = ChainProblem(*job.picture.pixels.shape, "uint8", job.chain.title, job.chain.text)
            fields = {"device": "cpu", "title": "Chain on the CPU", "mask_name": "", "steps": steps}
            digest = digest_of(job.chain.nodes(job.shown))
            result = make_result("cpu-chain", 2.0, problem=problem, weights_digest=digest, **fields)
        return protocol.Filtered(*self._painted(pixels), "cpu-chain", "cpu", 1.0, result, steps=steps)

    def _operated(self, request):
        # What each operation finds is another's to test; here all that the window shows of it.
        job, step = request.job, request.job.operation
        if step.operation == "median" and dict(step.settings).get("size") == 5:
            raise BadValue("size 5", "it is refused here", "Give size=3.")
        pixels = shared.attach(job.picture.in_memory)
        variant = f"cpu-{step.operation}" if job.variant == "auto" else job.variant
        counts = ((3, 1, 4, 1),) * 3 if step.operation == "histogram" else ()
        mark = Mark(5, 7, 11, 13) if step.operation == "find-patch" else None
        found = (Quantity("score", "Best score", 0.75, "0.7500", "Why."),) if mark else ()
        result = None
        if is_kind(request, Run):
            shape = job.picture.pixels.shape
            problem = OperationProblem(step.operation, *shape, job.picture.pixels.dtype, shape, "uint8")
            result = make_result(variant, 2.0, problem=problem, device="cpu", title="CPU, all cores")
        about = {"quantities": found, "counts": counts, "mark": mark}
        return protocol.Filtered(*self._painted(pixels), variant, "cpu", 1.0, result, **about)

    def _painted(self, pixels):
        """Share pixels as they are, and as the screen takes them: blue, green, red, alpha."""
        shown = np.full((*pixels.shape[:2], 4), 255, dtype=np.uint8)
        shown[..., :3] = np.clip(pixels[..., ::-1], 0, 255)
        values, screen = self._make(pixels, shown)
        return values, protocol.ScreenLevels((screen,))

    def _make(self, *arrays):
        made = shared.create(*((array.shape, array.dtype.name) for array in arrays))
        for block, array in zip(made, arrays, strict=True):
            shared.attach(block)[...] = array
        self.created.add(made[0].name)
        return made


def _available(variants, reasons):
    return tuple(Availability(v.key, made_reason(reasons.get(v.key, ""))) for v in variants)


def _is_too_large(job):
    """Whether it is for the simulator, with a picture that this refuses."""
    picture, device = getattr(job, "picture", None), getattr(job, "device", "")
    return picture and device == SIMULATOR and picture.width * picture.height > SIMULATOR_PIXELS


def _ran(step):
    """The variant that computed a step of a chain."""
    return "cpu-parallel" if isinstance(step, MaskStep) and step.variant == "auto" else step.variant


def _run_result(job):
    variant = "cpu-parallel" if job.variant == "auto" else job.variant
    known = next((known for known in VARIANTS if known.key == variant), None)
    picture, mask = job.picture, job.mask
    sizes = (picture.height, picture.width, picture.channels, picture.pixels.dtype)
    problem = Problem(*sizes, mask.shape, mask.anchor, job.filter.border, job.filter.cval)
    return make_result(
        variant,
        KERNEL_MS.get(variant, 1.0),
        problem=problem,
        device="cpu",
        title=known.title if known else variant,
        mask_name=mask.name,
        weights_digest=mask.weights_digest,
        block=job.block,
        layout=str(job.layout) if known and known.kind == "cuda" else "",
        work=filter_work(problem, picture_loads=problem.multiply_adds, weight_loads=problem.multiply_adds),
    )
