"""How a compiled function calls itself on other threads, so that several workers share its work.

Such a function begins with `share` and ends with `finish`. The first call is worker 0; `share` queues its
task (`engine.device.thread_pool`), with which other threads call the function once more, as worker 1, 2, ...
No Python runs for that, so no thread waits for the GIL. Below: what serves a work queue, wakes threads,
waits, and copies.
"""

from llvmlite import ir

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import Late, cgutils, late_intrinsic, types
from engine.compiled.machine_code import cpu_target
from engine.device import thread_pool as at
from engine.device.thread_pool import FINISH, SELF, STARTED, WAKE

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_NONE, _ONE = ir.Constant(_I64, 0), ir.Constant(_I64, 1)


@late_intrinsic
def share(typingctx, task):
    """Return which worker this call is; if it is the first, have other threads make the same call."""

    def codegen(context, builder, signature, arguments):
        element = _elements_of(context, builder, signature.args[0], arguments[0])
        worker = builder.atomic_rmw("add", element(STARTED), _ONE, "seq_cst")
        _call_if_first(builder, worker, builder.load(element(WAKE)), element)
        return worker

    return types.int64(task), codegen


@late_intrinsic
def finish(typingctx, task, worker):
    """Wait, as worker 0, until no other worker is at work or can begin."""

    def codegen(context, builder, signature, arguments):
        element = _elements_of(context, builder, signature.args[0], arguments[0])
        # A single worker waits for no other: WAKE is 0.
        wake, wait = builder.load(element(WAKE)), builder.load(element(FINISH))
        _call_if_first(builder, arguments[1], wake, element, wait)
        return context.get_dummy_value()

    return types.void(task, types.int64), codegen


def _elements_of(context, builder, kind, array):
    data = context.make_array(kind)(context, builder, array).data
    return lambda index: builder.gep(data, [ir.Constant(_I64, index)])


def _call_if_first(builder, worker, wake, element, entry=None):
    is_first = builder.icmp_signed("==", worker, _NONE)
    begins = builder.and_(is_first, builder.icmp_signed("!=", wake, _NONE))
    with builder.if_then(begins, likely=False):
        _call(builder, entry or wake, builder.ptrtoint(element(SELF), _I64))


@late_intrinsic
def call_at(typingctx, entry, slots):
    """Call a compiled function by the address of its entry point, with the address of its slots."""

    def codegen(context, builder, signature, arguments):
        _call(builder, *arguments)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _call(builder, entry, slots):
    function = builder.inttoptr(entry, ir.FunctionType(_I32, [_I64]).as_pointer())
    builder.call(function, [slots])


@late_intrinsic
def row_of(typingctx, rows, index):
    """Return one row of a two-dimensional array, as a flat array without a reference count."""
    flat = types.Array(rows.dtype, 1, "C")

    def codegen(context, builder, signature, arguments):
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = context.make_array(flat)(context, builder)
        length = cgutils.unpack_tuple(builder, source.shape, 2)[1]
        data = builder.gep(source.data, [builder.mul(arguments[1], length)])
        # No instruction, but the compiler no longer knows how the address came about: else it increments one
        # more register for each address in the inner loop (two passes took 4 to 8 % longer).
        kind = ir.FunctionType(data.type, [data.type])
        data = builder.call(ir.InlineAsm(kind, "", "=r,0"), [data])
        context.populate_array(
            row, data=data, shape=[length], strides=[source.itemsize], itemsize=source.itemsize, meminfo=None
        )
        return row._getvalue()

    return flat(rows, types.int64), codegen


def _element(builder, address, index):
    return builder.gep(builder.inttoptr(address, _I64.as_pointer()), [index])


@late_intrinsic
def load_acquire(typingctx, address, element):
    """Return an int64 of those at an address, as other threads have left it."""

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_element(builder, *arguments), "acquire", 8)

    return types.int64(types.int64, types.int64), codegen


@late_intrinsic
def pause(typingctx):
    """Leave the core to its other hardware thread for some 10 to 50 ns, while looking for something."""

    def codegen(context, builder, signature, arguments):
        if cpu_target().has("sse2"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


def _changing(how):
    """Return what changes an int64 in an element by a value and returns what was there, atomically."""

    @late_intrinsic
    def changed(typingctx, address, element, value):
        def codegen(context, builder, signature, arguments):
            return builder.atomic_rmw(how, _element(builder, *arguments[:2]), arguments[2], "seq_cst")

        return types.int64(types.int64, types.int64, types.int64), codegen

    return changed


exchange, add = _changing("xchg"), _changing("add")


@late_intrinsic
def replace_if(typingctx, address, element, expected, value):
    """Store an int64 in an element if the expected one is there, atomically; return whether it was."""

    def codegen(context, builder, signature, arguments):
        pointer = _element(builder, *arguments[:2])
        found = builder.cmpxchg(pointer, *arguments[2:], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(*[types.int64] * 4), codegen


# How often the caller looks whether the others are done before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000
# How often a thread that is done looks for the next task before it sleeps, with rests: 0.05 to 0.1 ms. A
# filter that follows another one at once takes 6 (8-bit RGB, 1920 x 1080) to 14 % (grey) less time.
LOOKS_FOR_TASK = 2_000


def _external(name, signature):
    return Late(lambda: types.ExternalFunction(name, signature()))


# The locks of Python's own threads: on every system, and asked for without the GIL.
_acquire = _external("PyThread_acquire_lock", lambda: types.int32(types.int64, types.int32))
_release = _external("PyThread_release_lock", lambda: types.void(types.int64))
_memcpy = _external("memcpy", lambda: types.int64(types.int64, types.int64, types.int64))


# An address and the element after it are one operation: each operation takes 2 ms to compile.
def serve(queue):
    """Do the tasks of one work queue for as long as the process lives."""
    entry_point()
    while True:
        looks = LOOKS_FOR_TASK
        while looks > 0 and load_acquire(queue, at.STATE) & at.STAGE != at.QUEUED:
            pause()
            looks -= 1
        _acquire(load_acquire(queue, at.WAKE_LOCK), 1)
        state = load_acquire(queue, at.STATE)
        # A task that has been taken back, or a later one, which wakes this thread itself.
        begun = state - at.QUEUED + at.BEGUN
        if state & at.STAGE != at.QUEUED or not replace_if(queue, at.STATE, state, begun):
            continue
        call_at(load_acquire(queue, at.ENTRY), load_acquire(queue, at.ENTRY_ARGUMENTS))
        done = load_acquire(queue, at.DONE_LOCK)
        if exchange(queue, at.STATE, 0) & at.STAGE == at.AWAITED:
            _release(done)


def wake(task):
    """Queue a task for as many free threads as are wanted, except that of the caller's own core."""
    entry_point()
    queue, past = load_acquire(task, at.QUEUES), load_acquire(task, at.QUEUES_END)
    number = task << at.STAGE_BITS
    here, done = load_acquire(task, at.CALLER_CORE), load_acquire(task, at.CALLER_LOCK)
    wanted = load_acquire(task, at.WANTED)
    while wanted > 0 and queue < past:
        if load_acquire(queue, at.CORE) != here and replace_if(queue, at.STATE, 0, number + at.WRITTEN):
            exchange(queue, at.ENTRY, load_acquire(task, at.FUNCTION))
            exchange(queue, at.ENTRY_ARGUMENTS, load_acquire(task, at.ARGUMENTS))
            exchange(queue, at.DONE_LOCK, done)
            exchange(queue, at.STATE, number + at.QUEUED)
            _release(load_acquire(queue, at.WAKE_LOCK))
            wanted -= 1
        queue += at.QUEUE_BYTES


def wait(task):
    """Take a task back where it has not begun, and wait until it is done elsewhere."""
    entry_point()
    queue, past = load_acquire(task, at.QUEUES), load_acquire(task, at.QUEUES_END)
    number = task << at.STAGE_BITS
    looks = LOOKS
    while queue < past:
        if not replace_if(queue, at.STATE, number + at.QUEUED, 0):
            while looks > 0 and load_acquire(queue, at.STATE) == number + at.BEGUN:
                looks -= 1
            if replace_if(queue, at.STATE, number + at.BEGUN, number + at.AWAITED):
                _acquire(load_acquire(task, at.CALLER_LOCK), 1)
        queue += at.QUEUE_BYTES


def copy_pieces(source, target, size, piece, task):
    """Copy one piece after another, until none is left, on as many threads as take part."""
    entry_point()
    worker = share(task)
    while True:
        first = add(task[at.SELF], at.TAKEN, 1) * piece
        if first >= size:
            break
        _memcpy(target + first, source + first, min(piece, size - first))
    finish(task, worker)
