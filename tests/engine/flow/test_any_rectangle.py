"""Any rectangle of any chain, on any device, has the bits of that part of the whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.api.request import PictureCall, request_of
from engine.device.device_list import cpu_info
from engine.errors import EngineError
from engine.flow.stream import Stream, StreamPicture
from engine.geometry.border import Border, cut
from engine.mask.mask import Mask
from engine.work import resolve
from engine.work.operations.contract import OPERATIONS
from engine.work.problem import Parameters
from engine.work.steps import HOW, Chain, CombineStep, MaskStep, OperationStep, of_chain
from tests.engine.flow.fake_gpus import install
from tests.picture_jobs import operation_request

DTYPES = ("uint8", "uint16", "float32")
# What can be a step, with parameters that make it reach further than one cell.
OPERATIONS_IN_CHAINS = {
    key: {"size": 5} if "size" in {one.name for one in known.parameters} else {}
    for key, known in OPERATIONS.items()
    if known.of_cells is not None
}
WINDOWS = [key for key, known in OPERATIONS.items() if known.window is not None]
# Their code takes 2 to 4 s to compile for each type of samples: `-m matrix` has them for all.
SLOWLY_COMPILED = {"median", "bilateral", "minimum", "maximum", "morphology"}


def able(keys, picture, most):
    """Return the operations that a picture can have."""
    left_out = set() if picture.shape[2] == 3 else {"desaturate", "hue-shift"}
    if picture.dtype != np.float32 and most < 200:
        left_out |= SLOWLY_COMPILED
    return [key for key in keys if key not in left_out]


@st.composite
def masks(draw):
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    weights = np.random.default_rng(draw(st.integers(0, 9))).integers(-3, 4, (rows, columns)) / 4
    return Mask(weights, (draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))))


@st.composite
def pictures(draw, most):
    height, width = draw(st.integers(1, most)), draw(st.integers(1, most))
    shape = height, width, draw(st.sampled_from([1, 3]))
    random = np.random.default_rng(draw(st.integers(0, 9)))
    dtype = draw(st.sampled_from(DTYPES))
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@st.composite
def chains(draw, picture, most):
    one_border = draw(st.sampled_from([None, *Border]))
    steps = []
    for number in range(draw(st.integers(1, 4))):
        earlier = ["picture", *(step.id for step in steps)]
        reads = {"id": f"s{number}", "input": draw(st.sampled_from(earlier))}
        kind = draw(st.sampled_from(["mask", "mask", "operation", "combine"]))
        if kind == "mask":
            border = one_border or draw(st.sampled_from(list(Border)))
            steps.append(MaskStep(**reads, mask=draw(masks()), border=border))
        elif kind == "operation":
            key = draw(st.sampled_from(able(OPERATIONS_IN_CHAINS, picture, most)))
            parameters = Parameters(OPERATIONS_IN_CHAINS[key].items())
            steps.append(OperationStep(**reads, operation=key, settings=parameters))
        else:
            how, second = draw(st.sampled_from(list(HOW))), draw(st.sampled_from(earlier))
            steps.append(CombineStep(**reads, how=how, second=second))
    return Chain(tuple(steps))


@st.composite
def works(draw, most, device="cpu"):
    """A picture, and a filter, an operation or a chain of it."""
    picture = draw(pictures(most))
    kind = draw(st.sampled_from(["filter", "operation", "chain", "chain"]))
    if kind == "filter":
        border = draw(st.sampled_from(list(Border)))
        result = draw(st.sampled_from(["float32", "same"]))
        value, flip = 0.25 * border.takes_value, draw(st.booleans())
        asked = request_of(
            draw(masks()), (border, value, None, "auto", None, device, flip, "pitched", result)
        )
        call = PictureCall(picture, asked)
    elif kind == "operation":
        key = draw(st.sampled_from(able(WINDOWS, picture, most)))
        how = {"operation": key, "settings": OPERATIONS_IN_CHAINS.get(key, {}), "device": device}
        call = PictureCall(picture, operation_request(**how))
    else:
        call = PictureCall(picture, of_chain(draw(chains(picture, most)), device=device))
    return call.in_parts()


@st.composite
def parts(draw, length):
    first = draw(st.integers(0, length - 1))
    return slice(first, draw(st.integers(first + 1, length)))


@pytest.mark.parametrize(
    ("most", "examples", "device"),
    [
        pytest.param(40, 60, "cpu", marks=pytest.mark.slow),
        pytest.param(200, 2000, "cpu", marks=pytest.mark.matrix),
        pytest.param(24, 40, "simulator", marks=[pytest.mark.matrix, pytest.mark.nvvm]),
    ],
)
def test_that_any_rectangle_has_the_bits_of_the_whole(most, examples, device):
    @settings(max_examples=examples)
    @given(call=works(most, device), data=st.data())
    def check(call, data):
        whole = call.filter()
        if call.reach.whole:
            with pytest.raises(EngineError, match="the whole picture"):
                call.refuse_cut("a picture", "", "")
            return
        assert call.reach.exact
        samples = call.samples
        for _ in range(3):
            rows, columns = data.draw(parts(samples.shape[0])), data.draw(parts(samples.shape[1]))
            where = cut(call.reach, samples.shape[:2], rows, columns)
            part = np.vstack([samples[slice(*down)] for down in where.rows.sources])
            part = np.hstack([part[:, slice(*across)] for across in where.columns.sources])
            out = np.empty(part.shape, whole.dtype)
            np.testing.assert_array_equal(call.computed(part, out)[where.inside], whole[rows, columns])

    check()


@pytest.mark.slow
@pytest.mark.parametrize("gpus", [1, 3])
def test_that_bands_over_several_devices_have_the_bits_of_the_whole(monkeypatch, gpus):
    made = install(monkeypatch, gpus, cpu_info())
    devices = resolve.devices_for(None, "cuda:all")
    # The whole is computed on the CPU, whose kernels these have.
    monkeypatch.setattr(resolve, "devices_for", lambda variant, key: (cpu_info(),))
    monkeypatch.setattr("engine.api.calls.device_named", lambda key: cpu_info())

    @settings(max_examples=20)
    @given(call=works(40), chunk_bytes=st.integers(1, 4000))
    def check(call, chunk_bytes):
        whole = call.filter()
        call.devices, call.device = devices, devices[0]
        stream = Stream(chunk_bytes=chunk_bytes, ring=2, total=1)
        out = np.empty_like(whole)
        stream.run([StreamPicture(call, out)])
        np.testing.assert_array_equal(out, whole)

    check()
    assert all(found.is_idle for found in made)
