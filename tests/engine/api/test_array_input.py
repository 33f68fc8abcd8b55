"""What the calls take for a picture, bit for bit as its plain copy, and what they refuse in a sentence."""

import itertools
import warnings

import numpy as np
import pytest

import engine
from engine.errors import BadValue, MaskError

RANDOM = np.random.default_rng(9)
IMAGE = RANDOM.normal(size=(13, 11, 3)).astype(np.float32)
WHOLE = RANDOM.integers(0, 200, (13, 11), np.uint8)
MASK = [[0.5, 1, -3], [2, 0.25, 1]]


class ByDLPack:
    """An array of a library that has DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldDLPack(ByDLPack):
    """One of before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class OnMetal(ByDLPack):
    """An array in the memory of another maker's GPU."""

    def __dlpack_device__(self):
        return 8, 0


class LikeCuPy:
    """An array that NumPy may not copy from a GPU, with CuPy's words."""

    __cuda_array_interface__ = None
    shape, ndim = (3, 3), 2

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")


class NeedsGradient:
    """A tensor of torch, with its words."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def misaligned(array):
    memory = np.empty(array.nbytes + 1, np.uint8)
    copy = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


class Subclass(np.ndarray):
    """An array of a class of its own."""


TAKEN = {
    "big-endian float32": IMAGE.astype(">f4"),
    "big-endian uint16": (WHOLE * np.uint16(300)).astype(">u2"),
    "big-endian float64": IMAGE.astype(">f8"),
    "Fortran order": np.asfortranarray(IMAGE),
    "Fortran order, grey": np.asfortranarray(WHOLE),
    "negative strides": IMAGE[::-1, ::-1, ::-1],
    "every other column": np.repeat(IMAGE, 2, axis=1)[:, ::2],
    "transposed": IMAGE.transpose(1, 0, 2),
    "broadcast": np.broadcast_to(WHOLE[0], (5, 11)),
    "read-only": read_only(IMAGE),
    "not aligned": misaligned(IMAGE),
    "not aligned, big-endian": misaligned(IMAGE.astype(">f4")),
    "a field of records": np.rec.fromarrays([WHOLE, IMAGE[..., 0]], names="a,b")["b"],
    "bool": WHOLE > 100,
    "float16": IMAGE.astype(np.float16),
    "float64": IMAGE.astype(np.float64) + 1e-9,
    "int8": (WHOLE - 100).view(np.int8),
    "int32": WHOLE.astype(np.int32) * -70_000,
    "uint64": WHOLE.astype(np.uint64) << np.uint64(55),
    "long double": IMAGE.astype(np.longdouble),
    "subclass": IMAGE.view(Subclass),
    "int64": WHOLE.astype(np.int64),
    "too large for float32": np.array([[1e300, -1e300], [1.0, 2.0]]),
    "list": WHOLE.tolist(),
    "memory view": memoryview(WHOLE),
    "picture": engine.Picture(IMAGE),
    "DLPack": ByDLPack(IMAGE),
    "DLPack, strided": ByDLPack(IMAGE[::2, ::-1]),
    "DLPack, read-only": ByDLPack(read_only(IMAGE)),
    "DLPack before 1.0": OldDLPack(IMAGE),
}


def plain(image):
    """Return a C-contiguous, aligned copy in native byte order, of the type that is filtered."""
    array = np.asarray(getattr(image, "array", image))
    kept = {"u1": np.uint8, "u2": np.uint16, "b1": np.uint8}.get(array.dtype.str[1:], np.float32)
    with np.errstate(over="ignore"):
        return np.array(array.tolist(), np.float64 if kept == np.float32 else kept).astype(kept)


CALLS = {
    "correlate": lambda image: engine.correlate(image, MASK, border="mirror", device="cpu"),
    "plan": lambda image: engine.plan(image, MASK, border="mirror", device="cpu")(image),
    "apply": lambda image: engine.apply(image, MASK, device="cpu", budget_s=0).values,
    "apply_bank": lambda image: engine.apply_bank(image, [MASK], device="cpu", budget_s=0).values,
    "operate": lambda image: engine.operate(image, "negative", device="cpu", budget_s=0).values,
    "filter_stream": lambda image: engine.filter_stream([image], MASK, device="cpu").values[0],
}


def in_turns(forms, calls):
    """Return each form with one of the calls; all that share it read a picture by one function."""
    return list(zip(forms, itertools.cycle(calls), strict=False))


# The others read a picture as a stream does, and verify each result, which takes 0.1 s.
LAYOUTS_OF = ("correlate", "plan", "filter_stream")


@pytest.mark.filterwarnings("ignore:uint64 is filtered as float32")
def test_that_an_array_of_any_layout_gives_what_its_plain_copy_gives():
    for what, name in in_turns(TAKEN, LAYOUTS_OF):
        image = TAKEN[what]
        found, wanted = CALLS[name](image), CALLS[name](plain(image))
        assert (found.shape, found.dtype, found.tobytes()) == (wanted.shape, wanted.dtype, wanted.tobytes())


def test_that_dlpack_in_the_hosts_memory_is_not_copied_and_a_result_is_exported_by_it():
    for array in (IMAGE, WHOLE):
        assert np.shares_memory(engine.Picture.from_array(ByDLPack(array)).pixels, array)
    values = engine.correlate(IMAGE, MASK, device="cpu")
    assert np.shares_memory(np.from_dlpack(values), values)


@pytest.mark.parametrize("exported", [np.from_dlpack, memoryview], ids=["DLPack", "memory view"])
def test_that_the_memory_of_a_result_is_not_used_again_while_another_library_has_it(exported):
    image = np.ones((1500, 1500), np.float32)
    first = exported(engine.correlate(image, [[1]], device="cpu"))
    second = engine.correlate(image, [[2]], device="cpu")
    assert not np.shares_memory(np.asarray(first), second)


def objects():
    found = np.empty((2, 2), object)
    found[...] = [[1, "a"], [None, 2]]
    return found


NO_PICTURES = {
    "objects": (objects(), "samples of type object: only real numbers.*Look for what is no number"),
    "None in a list": ([[1, None], [2, 3]], "samples of type object: only real numbers"),
    "texts": (np.array([["1", "2"]]), r"samples of type <U1: .*astype\(numpy\.float32\)"),
    "bytes": (np.array([[b"1", b"2"]]), r"samples of type \|S1: .*astype\(numpy\.float32\)"),
    "texts of any length": (np.array([["1"]], np.dtypes.StringDType()), "type StringDType.*to numbers first"),
    "no rows": (np.zeros((0, 3)), r"an array of shape \(0, 3\): it has no pixels"),
    "no columns": (np.zeros((3, 0), np.uint8), r"an array of shape \(3, 0\): it has no pixels"),
    "no channels": (np.zeros((3, 3, 0), np.uint8), r"an array of shape \(3, 3, 0\): it has no pixels"),
    "no axes": (np.float32(3), "an array of 0 axes: a picture has rows and columns"),
    "an axis": (np.zeros(4), "an array of 1 axis: a picture has rows and columns"),
    "four axes": (np.zeros((2, 2, 2, 2)), "an array of 4 axes: a picture has rows and columns"),
    "five channels": (np.zeros((9, 9, 5)), "rows × columns × 1 to 4 channels.*in groups of at most 4"),
    "a stack": (np.zeros((5, 64, 64)), "a stack of 5 pictures, not one.*one picture at a time"),
    "a cube": (np.zeros((100, 64, 64)), "a stack of 100 pictures"),
    "a stack in colour": (np.zeros((5, 8, 9, 3)), "an array of 4 axes.*one of a stack at a time"),
    "complex": (np.zeros((3, 3), complex), "samples of type complex128: .*image.real and image.imag"),
    "masked": (np.ma.masked_less(WHOLE, 9), r"A masked array: .* hidden would be lost.*array\.filled\(0\)"),
    "None": (None, "None: a picture is an array.*some libraries return None"),
    "ragged": ([[1, 2], [3]], "its rows differ in length"),
    "ragged channels": ([[[1], [2]], [[3], 4]], "its rows differ in length"),
    "dates": (np.zeros((2, 2), "M8[s]"), r"samples of type datetime64\[s\]: .*to numbers first"),
    "durations": (np.zeros((2, 2), "m8[s]"), r"samples of type timedelta64\[s\]: .*to numbers first"),
    "records": (np.zeros((2, 2), [("red", "u1")]), "only real numbers.*Take one field of its records"),
    "a dict": ({}, "a value of type dict: a picture is an array"),
    "a name": ("camera.png", r"the text 'camera\.png': .*engine\.open_image"),
    "like CuPy": (LikeCuPy(), r"type LikeCuPy: it is in a device's memory.*array\.get\(\) of CuPy"),
    "other GPU": (OnMetal(IMAGE), r"type OnMetal: it is in a device's memory.*array\.cpu\(\) of torch"),
    "gradient": (NeedsGradient(), "type NeedsGradient: NumPy cannot read it .*that requires grad"),
}
# A list is a batch to it, and what is in it is named by its number, in other words for some.
REFUSING = {name: call for name, call in CALLS.items() if name != "filter_stream"}
# These take arrays of GPUs.
REFUSED = [pair for pair in in_turns(NO_PICTURES, REFUSING) if pair[0] != "like CuPy"]


def test_that_what_is_no_picture_is_refused_in_a_sentence():
    for what, name in REFUSED:
        image, says = NO_PICTURES[what]
        with pytest.raises(BadValue, match=says) as caught:
            REFUSING[name](image)
        assert all((caught.value.what, caught.value.why, caught.value.remedy))


def test_that_no_picture_is_made_of_what_is_none_and_a_batch_says_which_it_is():
    for what in NO_PICTURES:
        image, _ = NO_PICTURES[what]
        with pytest.raises(BadValue):
            engine.Picture.from_array(image)
        with pytest.raises(BadValue, match=r"^picture 2 of the batch: "):
            engine.filter_stream([WHOLE, image], MASK, device="cpu")


def test_that_every_call_refuses_what_numpy_would_misread_and_weights_on_a_gpu():
    hidden = np.ma.masked_less(WHOLE, 9)
    two = ((engine.Picture, WHOLE, hidden), (engine.matmul, hidden, hidden))
    for call, *given in ((engine.Picture, hidden), (engine.network, hidden), *two):
        with pytest.raises(BadValue, match="hidden"):
            call(*given)
    for weights in (LikeCuPy(), [LikeCuPy()]):
        with pytest.raises(MaskError, match=r"\.get\(\)"):
            engine.correlate(WHOLE, weights, device="cpu")


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_that_whole_numbers_that_float32_rounds_are_warned_of(dtype):
    """Once for each line of the caller, as Python shows warnings; what is exact needs no word."""
    exact = np.full((4, 5), 2**24, dtype)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        assert engine.correlate(exact, [[1]])[0, 0] == 2**24
        assert not found
        for _ in range(3):
            engine.correlate(exact + 1, [[1]])
    (warning,) = found
    assert (warning.category, warning.filename) == (UserWarning, __file__)
    if np.dtype(dtype).kind == "i":
        with pytest.warns(UserWarning, match="24 significant bits"):
            engine.correlate(-exact - 1, [[1]])
