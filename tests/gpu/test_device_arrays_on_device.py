"""Arrays in a GPU's memory: the bits of the same call with arrays of the host, and the same kind."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

import engine
from engine.errors import BadValue, EngineError, MaskError
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.work.filtering.variants import variant
from tests.gpu.array_kinds import KINDS, BareInterface, cuda, cupy, every_library, host, same_bits, torch
from tests.gpu.test_variants_on_device import binomial_for

# Other libraries warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("default")
FAST = [
    "register-blocked", "digit-sums", "separable-fused", "low-rank-2", "low-rank-3", "box",
    *(["fft"] if find_spec("cupy") else []),
]  # fmt: skip
TEACHING = ["naive", "separable-l0"]
SHAPES = [(1, 1), (1, 7, 3), (5, 1), (17, 33), (64, 64, 4), (300, 301), (33, 20, 3), (2, 3, 4), (31, 64)]
DTYPES = ("uint8", "uint16", "float32")
MASK = [[1, 2, 1], [2, 5, 2], [1, 2, 3]]

every_kind = pytest.mark.parametrize("kind", KINDS, ids=repr)


def picture_of(shape, dtype, seed=1):
    """Return a random picture; whole numbers, so that float32 has no rounding of its own."""
    numbers = np.random.default_rng(seed).integers(0, 250, shape)
    return numbers.astype(dtype)


def outcome(call):
    """Return what a call returns, or the class of its refusal."""
    try:
        return call()
    except UnsupportedVariant as error:
        return type(error)


def check(kind, picture, mask=MASK, **how):
    """Compare a call with an array of a kind with one of the host, on the same device."""
    wanted = outcome(lambda: engine.correlate(picture, mask, **how | {"device": "cuda:0"}))
    found = outcome(lambda: engine.correlate(kind.make(picture), mask, **how))
    if isinstance(wanted, type):
        assert found is wanted, how
        return
    assert isinstance(found, kind.result), (type(found), how)
    same_bits(found, wanted)


@pytest.mark.parametrize("key", [*FAST, *TEACHING])
def test_that_every_variant_gives_the_bits_of_the_host(key, device):
    chosen, kind = variant(key), KINDS[0]
    mask = binomial_for(chosen).weights
    cases = zip(itertools.product(Border, DTYPES), itertools.cycle(SHAPES), strict=False)
    for (border, dtype), shape in cases:
        if dtype not in chosen.picture_types or (chosen.uint8_only and dtype != "uint8"):
            continue
        how = {"border": border, "cval": 3.0 * (border == "constant"), "variant": key}
        results = ["same"] if chosen.uint8_only else ["float32", *(["same"] if chosen.integer_output else [])]
        for result in results:
            check(kind, picture_of(shape, dtype), mask, **how, result=result)


@pytest.mark.parametrize("key", ["register-blocked", "separable-l0"])
@pytest.mark.parametrize("dtype", DTYPES)
@every_kind
def test_that_every_kind_comes_out_as_it_went_in(kind, dtype, key, device):
    mask = binomial_for(variant(key)).weights
    for shape in SHAPES:
        check(kind, picture_of(shape, dtype), mask, variant=key)


@every_kind
def test_that_convolving_and_the_choice_of_auto_are_those_of_the_host(kind, device):
    picture = picture_of((50, 60), "float32")
    plan = engine.plan(picture, MASK, flip=True, device=device)
    same_bits(engine.convolve(kind.make(picture), MASK, variant=plan.variant), plan(picture))


@pytest.mark.parametrize("result", ["float32", "same"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.key not in ("dlpack", "jax")], ids=repr)
def test_that_a_result_goes_into_the_array_that_is_given(kind, result, device):
    picture = picture_of((40, 31, 3), "uint8")
    wanted = engine.correlate(picture, MASK, device=device, result=result)
    out = kind.make(np.zeros_like(wanted))
    assert engine.correlate(kind.make(picture), MASK, out=out, result=result) is out
    same_bits(out.held if isinstance(out, BareInterface) else out, wanted)


@every_kind
def test_that_a_plan_of_either_memory_takes_arrays_of_both(kind, device):
    picture = picture_of((40, 31), "float32")
    there = kind.make(picture)
    with engine.plan(picture, MASK, device=device) as of_host, engine.plan(there, MASK) as of_gpu:
        for filtered, given in itertools.product((of_host, of_gpu), (picture, there)):
            same_bits(filtered(given), of_host(picture))


# Views of a picture (64, 96): what is lent, and whether it has to be copied first.
VIEWS = {
    "pitched columns": (np.s_[:, 16:80], False),
    "pitched rows and columns": (np.s_[3:60, 32:69], False),
    "one column": (np.s_[:, 4:5], False),
    "rows": (np.s_[8:20], False),
    "every second row": (np.s_[::2], False),
    "misaligned columns": (np.s_[:, 1:50], True),
    "every second column": (np.s_[:, ::2], True),
    "upside down": (np.s_[::-1], True),
    "mirrored": (np.s_[:, ::-1], True),
}


@every_library
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("key", ["register-blocked", "naive", "separable-l0"])
def test_that_views_give_the_bits_of_their_copies(kind, key, view, device):
    cut, _ = VIEWS[view]
    if kind.key == "torch" and view in ("upside down", "mirrored"):
        # torch has no negative steps.
        return
    picture = picture_of((64, 96), "float32")
    mask = binomial_for(variant(key)).weights
    wanted = engine.correlate(picture[cut].copy(), mask, variant=key, device=device)
    same_bits(engine.correlate(kind.make(picture)[cut], mask, variant=key), wanted)


@pytest.mark.parametrize("view", [name for name, (_, is_copied) in VIEWS.items() if not is_copied])
def test_that_views_of_numba_are_filtered_where_they_lie(view, device):
    picture, (cut, _) = picture_of((64, 96), "float32"), VIEWS[view]
    wanted = engine.correlate(picture[cut].copy(), MASK, device=device)
    same_bits(engine.correlate(cuda.to_device(picture)[cut], MASK, variant="auto"), wanted)


def test_that_views_of_numba_that_would_be_copied_are_refused_in_words(device):
    there = cuda.to_device(picture_of((64, 96), "float32"))
    for cut in (np.s_[:, 1:50], np.s_[:, ::2]):
        with pytest.raises(BadValue, match="Pass a contiguous copy of it"):
            engine.correlate(there[cut], MASK)


@every_library
def test_that_other_orders_of_axes_give_the_bits_of_their_copies(kind, device):
    picture = picture_of((3, 40, 52), "uint8")
    there = kind.make(picture)
    for axes in ((1, 2, 0), (2, 1, 0)):
        moved = there.permute(axes) if kind.key == "torch" else there.transpose(axes)
        wanted = engine.correlate(picture.transpose(axes).copy(), MASK, device=device)
        same_bits(engine.correlate(moved, MASK), wanted)
    same_bits(engine.correlate(there[0].T, MASK), engine.correlate(picture[0].T.copy(), MASK, device=device))


@every_library
def test_that_the_memory_beside_a_view_stays_as_it_was(kind, device):
    there = kind.make(picture_of((64, 96), "float32"))
    before = host(there).copy()
    engine.correlate(there[:, 16:80], MASK)
    same_bits(there, before)


def test_that_a_read_only_picture_is_filtered(device):
    picture = picture_of((20, 30), "float32")
    found = engine.correlate(BareInterface(picture, is_read_only=True), MASK)
    same_bits(found, engine.correlate(picture, MASK, device=device))


def refusals(kind):
    """Return calls that are refused: what it is, the call's arguments, and words of the message."""
    picture = kind.make(picture_of((8, 12), "float32"))

    def new(shape=(8, 12), dtype="float32"):
        return kind.make(np.zeros(shape, dtype))

    wide = new((8, 32))
    read_only = BareInterface(np.zeros((8, 12), np.float32), is_read_only=True)
    return {
        "read-only out": (picture, {"out": read_only}, "it is read-only"),
        "pitched out": (picture, {"out": wide[:, 4:16]}, "do not lie one after another"),
        "misaligned out": (picture, {"out": _tail(new((97,)))}, "multiple of 16 bytes"),
        "out of another type": (picture, {"out": new(dtype="uint8")}, "this filter takes float32 and gives"),
        "out of another shape": (picture, {"out": new((8, 11))}, "the plan is for"),
        "out of the host": (picture, {"out": np.zeros((8, 12), np.float32)}, "its result stays there"),
        "the picture as out": (picture, {"out": picture}, "shares memory with the picture"),
        "the CPU": (picture, {"device": "cpu"}, "it is filtered where it lies"),
        "another GPU": (picture, {"device": "cuda:1"}, "it is filtered where it lies"),
        "a variant of the CPU": (picture, {"variant": "cpu-parallel"}, "Copy the picture to the host"),
        "float64": (new(dtype="float64"), {}, "Convert the picture to float32 first"),
        "bool": (new(dtype="bool"), {}, "Convert the picture to float32 first"),
        "one axis": (new((12,)), {}, "a picture has rows and columns"),
        "no pixels": (new((0, 12)), {}, "it has no pixels"),
        "no stream": (picture, {"stream": "x"}, "it has no handle"),
    }


def _tail(array):
    """Return an array (8, 12) that begins at 4 bytes past a multiple of 16."""
    return array[1:].reshape(8, 12)


@every_library
def test_that_what_cannot_be_filtered_is_refused_in_words(kind, device):
    wrong = {}
    for name, (picture, how, words) in refusals(kind).items():
        try:
            wrong[name] = engine.correlate(picture, MASK, **how)
        except EngineError as error:
            if words not in str(error):
                wrong[name] = error
    assert wrong == {}


@every_library
def test_that_a_mask_and_out_in_another_memory_are_refused_in_words(kind, device):
    picture = picture_of((8, 12), "float32")
    with pytest.raises(MaskError, match="Copy it to the host first"):
        engine.correlate(picture, kind.make(np.array(MASK, "float32")), device=device)
    with pytest.raises(BadValue, match="a result goes into an array"):
        engine.correlate(picture, MASK, device=device, out=kind.make(picture))
    with pytest.raises(BadValue, match="the picture is in the host's memory"):
        engine.correlate(picture, MASK, device=device, stream=0)


if torch:

    def test_that_tensors_with_a_gradient_and_sparse_ones_are_refused_in_words(device):
        tensor = torch.ones(8, 12, device="cuda")
        with pytest.raises(BadValue, match=r"tensor\.detach"):
            engine.correlate(tensor.clone().requires_grad_(), MASK)
        with pytest.raises(BadValue, match=r"tensor\.to_dense"):
            engine.correlate(tensor.to_sparse(), MASK)
        with pytest.raises(BadValue, match="NumPy has no such type"):
            engine.correlate(tensor.bfloat16(), MASK)

    def test_that_a_tensor_of_the_host_is_filtered_as_an_array(device):
        picture = picture_of((20, 30), "float32")
        found = engine.correlate(torch.from_numpy(picture), MASK, device=device)
        same_bits(found, engine.correlate(picture, MASK, device=device))


# The other calls.
@every_kind
def test_that_apply_proves_and_gives_the_bits_of_correlate(kind, device):
    picture = picture_of((40, 50, 3), "uint8")
    applied = engine.apply(kind.make(picture), MASK, variant="register-blocked", budget_s=0.01)
    assert isinstance(applied.values, kind.result)
    assert (applied.result.device, applied.result.is_proven) == (device, True)
    same_bits(applied.values, engine.correlate(picture, MASK, variant="register-blocked", device=device))


@every_kind
def test_that_a_bank_gives_the_bits_of_the_host(kind, device):
    picture, masks = picture_of((40, 50), "float32"), [MASK, [[0, 1, 0]]]
    found = engine.apply_bank(kind.make(picture), masks, budget_s=0.01)
    assert isinstance(found.values, kind.result)
    same_bits(found.values, engine.apply_bank(picture, masks, device=device, budget_s=0.01).values)


@pytest.mark.parametrize("operation", ["negative", "median", "histogram", "equalise"])
@every_kind
def test_that_operations_give_the_bits_of_the_host(kind, operation, device):
    picture = picture_of((40, 50), "uint8")
    found = engine.operate(kind.make(picture), operation, budget_s=0.01)
    wanted = engine.operate(picture, operation, device=device, budget_s=0.01)
    assert isinstance(found.values, kind.result)
    same_bits(found.values, wanted.values)
    if wanted.picture is not None:
        same_bits(found.picture, wanted.picture)


@every_library
def test_that_a_patch_in_a_gpus_memory_is_found(kind, device):
    picture = picture_of((40, 50), "uint8")
    found = engine.operate(kind.make(picture), "find-patch", patch=kind.make(picture[9:17, 20:31]))
    assert (found.mark.row, found.mark.column) == (9, 20)


@pytest.mark.parametrize("key", ["auto", "matmul-naive", "matmul-tiled"])
@every_kind
def test_that_matrices_give_the_bits_of_the_host(kind, key, device):
    for rows, inner, columns in ((1, 1, 1), (17, 33, 5), (100, 64, 130)):
        a, b = picture_of((rows, inner), "float32"), picture_of((inner, columns), "float32", 2)
        found = engine.matmul(kind.make(a), kind.make(b), variant=key)
        assert isinstance(found, kind.result)
        same_bits(found, engine.matmul(a, b, variant=key, device=device))


@every_library
def test_that_transposed_matrices_give_the_bits_of_their_copies(kind, device):
    a, b = picture_of((20, 30), "float32"), picture_of((40, 30), "float32", 2)
    same_bits(engine.matmul(kind.make(a), kind.make(b).T), engine.matmul(a, b.T, device=device))


@every_library
def test_that_matrices_that_cannot_be_multiplied_are_refused_in_words(kind, device):
    square = kind.make(np.ones((4, 4), np.float32))
    for a, b, how, words in (
        (square, square, {"variant": "numpy"}, "it multiplies on the CPU"),
        (square, square, {"device": "cpu"}, "where it lies"),
        (square, np.ones((4, 4)), {}, "matrix B in the host's memory"),
        (square, kind.make(np.ones((3, 4), np.float32)), {}, "these two must be equal"),
        (square, kind.make(np.ones((4, 4))), {}, "Convert it to float32 first"),
        (square[0], square, {}, "matrix A has 1 axis"),
    ):
        with pytest.raises(BadValue, match=words):
            engine.matmul(a, b, **how)


@every_library
def test_that_drawings_are_recognised(kind, device):
    drawing = np.zeros((28, 28), np.uint8)
    drawing[3:25, 13:16] = 255
    found = engine.network(kind.make(drawing))
    assert (found.device, list(found.digits)) == (device, [1])


@every_library
def test_that_what_takes_arrays_of_the_host_says_so(kind, device, tmp_path):
    picture = kind.make(picture_of((8, 12), "uint8"))
    for pictures in (picture, [picture]):
        with pytest.raises(BadValue, match=r"Call engine\.correlate"):
            engine.filter_stream(pictures, MASK)
    with pytest.raises(BadValue, match="Copy it to the host first"):
        engine.save_image(picture, tmp_path / "picture.png")


def test_that_cupy_and_torch_take_one_anothers_arrays_out(device):
    if not (cupy and torch):
        return
    picture = picture_of((40, 31), "float32")
    out = torch.empty(40, 31, device="cuda")
    assert engine.correlate(cupy.asarray(picture), MASK, out=out) is out
    same_bits(out, engine.correlate(picture, MASK, device=device))
