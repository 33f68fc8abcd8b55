"""Chains: one oracle and bound through all steps, files, mergers, previews that keep what did not change."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.ndimage
from msgspec import structs

import engine
from engine.api.request import PictureCall
from engine.device import host_memory
from engine.device.devices import backend, device_named
from engine.errors import BadValue, EngineError, OutOfDeviceMemory, UnknownName
from engine.geometry.border import Border
from engine.host import shared
from engine.image.convert import to_depth
from engine.image.open import open_sample
from engine.mask.mask import Mask
from engine.run.measure import NO_SAMPLES, measure
from engine.run.task import compute
from engine.variants.chain import CpuChain
from engine.work import answers
from engine.work.chain_files import chain_from, chain_from_json, chain_named, chain_to_json, ready_chains
from engine.work.chain_oracle import ChainOracle
from engine.work.chain_task import CHAIN
from engine.work.filter_task import Among
from engine.work.filtering.sum_order import combined
from engine.work.merge import merged_where_faster, mergers
from engine.work.problem import Parameters
from engine.work.steps import HOW, CombineStep, MaskStep, OperationStep, PictureRequest

PHOTO = np.ascontiguousarray(open_sample("astronaut").pixels[100:137, 180:223])
CPU = "cpu"
EVERY_KIND = [
    {"id": "calm", "operation": "median", "input": "picture"},
    {"id": "x", "mask": "sobel-x", "border": "mirror"},
    {"id": "soft", "mask": "box:3", "input": "picture", "border": "wrap", "normalise": True},
    {"id": "length", "combine": "magnitude", "input": "x", "second": "soft"},
    {"id": "lines", "operation": "threshold", "settings": {"level": 0.9}},
    {"id": "flat", "operation": "equalise", "settings": {"bins": 16}},
    {"id": "mixed", "combine": "blend", "input": "picture", "second": "flat", "weight": 0.3},
    {"id": "most", "combine": "maximum", "second": "calm"},
]


def call_of(steps, picture=PHOTO, device=CPU):
    chain = steps if not isinstance(steps, list) else chain_from({"steps": steps})
    return PictureCall(picture, PictureRequest(chain=chain, device=device))


def exact(steps, picture=PHOTO):
    call = call_of(steps, picture)
    height, width, _ = call.samples.shape
    plan = CHAIN.plan(call.nodes, Among(call.samples, call.device))
    return ChainOracle(call.samples, plan).results(np.arange(height), np.arange(width))


def outcome_of(call):
    return measure(call.job(), backend(CPU), NO_SAMPLES)


@pytest.mark.slow
def test_that_ready_chains_are_proven_for_every_type_of_samples():
    small = PHOTO[:20, :23]
    pictures = small, small[..., :1].astype(np.uint16) * 257, small[..., 0].astype(np.float32) / 255
    for chain, picture in itertools.product(ready_chains(), pictures):
        outcome = outcome_of(call_of(chain, np.ascontiguousarray(picture)))
        assert outcome.result.is_proven, (chain.key, outcome.result.status)
        assert chain_from_json(chain_to_json(chain)) == chain


@pytest.mark.slow
def test_that_random_chains_are_proven():
    random = np.random.default_rng(30)
    masks = "sobel-x", "gaussian:5:1", "1 2; 3 4", "box:1x7", "sharpen", "0.3 -2.1 0.7"
    operations = (
        ("median", {}), ("minimum", {"size": 5}), ("maximum", {}), ("negative", {}), ("bilateral", {}),
        ("gradient-magnitude", {"mask": "scharr"}), ("morphology", {"kind": "black-hat"}), ("equalise", {}),
        ("threshold", {"level": 0.45}), ("desaturate", {}), ("hue-shift", {"degrees": 70.0}),
    )  # fmt: skip
    for _ in range(30):
        steps = []
        for number in range(int(random.integers(1, 6))):
            known = ["picture", *(step["id"] for step in steps)]
            mask, border = str(random.choice(masks)), str(random.choice([*Border]))
            key, settings = operations[random.integers(len(operations))]
            how = str(random.choice(["add", "subtract", "magnitude", "maximum", "blend"]))
            kinds = (
                {"mask": mask, "border": border, "cval": 9.5},
                {"operation": key, "settings": settings},
                {"combine": how, "second": str(random.choice(known)), "weight": 1.7},
            )
            steps.append({"id": f"n{number}", "input": str(random.choice(known))} | kinds[random.integers(3)])
        outcome = outcome_of(call_of(steps, PHOTO[:12, :15]))
        assert outcome.result.is_proven, (steps, outcome.result.status)


def test_that_the_oracle_says_what_scipy_says_and_whole_numbers_must_be_equal():
    steps = [
        {"id": "x", "mask": "sobel-x", "input": "picture", "border": "mirror"},
        {"id": "y", "mask": "sobel-y", "input": "picture", "border": "mirror"},
        {"id": "length", "combine": "magnitude", "input": "x", "second": "y"},
        {"id": "most", "operation": "maximum", "settings": {"size": 5}},
    ]
    grey = PHOTO[..., 1].astype(np.float64)
    length = scipy.ndimage.generic_gradient_magnitude(grey, scipy.ndimage.sobel, mode="mirror")
    wanted = scipy.ndimage.maximum_filter(length, size=5, mode="nearest")
    # Both round a few float64 sums and a root.
    found = exact(steps, PHOTO[..., 1]).range.value[..., 0]
    assert np.abs(found - wanted).max() <= 16 * np.finfo(np.float64).eps * wanted.max()
    found = exact([{"mask": "sobel-x"}, {"mask": "1 2 1; 2 4 2; 1 2 1 /16"}, {"operation": "median"}])
    assert found.grain == 1 / 16
    assert np.array_equal(found.range.low, found.range.high)


def test_that_a_result_beyond_the_bound_is_refuted_and_has_no_time(monkeypatch):
    launch = CpuChain.launch

    def off(self, image, out, stream=None):
        launch(self, image, out)
        out[3, 4, 0] += 2.0 * error[3, 4, 0]

    call = call_of(chain_named("unsharp"))
    error = exact(chain_named("unsharp")).range.error
    monkeypatch.setattr(CpuChain, "launch", off)
    result = outcome_of(call).result
    assert "row 3, column 4, channel 0" in result.status
    assert result.kernel_ms is None


def test_that_a_sample_on_a_jump_is_undecided_and_may_be_either_value():
    # Three times a third of it: rounding says on which side of the level the mean of equal samples lies.
    picture = np.full((6, 7), 0.3, np.float32)
    picture[:, 4:] = 0.9
    steps = [{"mask": "box:3", "border": "replicate"}, {"operation": "threshold", "settings": {"level": 0.3}}]
    job = call_of(steps, picture).job()
    values = compute(job, backend(CPU))
    proof = job.task.verify(values, job, lambda fraction: None)
    assert proof.undecided == 6 * 3
    assert "18 samples are within rounding of a jump" in proof.sentence()
    values[0, 0, 0] = 1.0 - values[0, 0, 0]
    assert job.task.verify(values, job, lambda fraction: None).passed
    values[0, 6, 0] = 1.0 - values[0, 6, 0]
    assert not job.task.verify(values, job, lambda fraction: None).passed


def test_that_of_a_large_picture_edges_and_a_grid_are_checked():
    picture = np.random.default_rng(3).integers(0, 256, (150, 170, 3), np.uint8)
    job = replace(call_of(chain_named("denoise-edges"), picture).job(), affordable=2_000_000)
    values = compute(job, backend(CPU))
    proof = job.task.verify(values, job, lambda fraction: None)
    assert proof.passed
    assert proof.checked_pixels < 0.5 * proof.total_pixels
    values[-1, 80, 2] += 1.0
    assert not job.task.verify(values, job, lambda fraction: None).passed


def test_that_a_step_that_is_off_is_passed_by():
    steps = [{"mask": "sobel-x"}, {"mask": "box-3", "on": False}, {"mask": "2"}]
    assert np.array_equal(exact(steps).range.value, exact(steps[::2]).range.value)
    with pytest.raises(BadValue, match="every step that its result needs is switched off"):
        call_of([{"mask": "box-3", "on": False}])


def test_that_arrays_come_back_in_their_shape_and_type_with_times():
    grey = PHOTO[..., 0]
    found = engine.chain(grey, "difference-of-gaussians", device=CPU, budget_s=0.0)
    assert found.picture.shape == found.values.shape == grey.shape
    assert (found.picture.dtype, found.values.dtype) == (np.uint8, np.float32)
    # The chain says "offset": nothing is middle grey.
    assert np.array_equal(found.picture, np.clip(np.rint(found.values.astype(np.float64) + 128), 0, 255))
    assert [step.id for step in found.steps] == ["narrow", "wide", "between"]
    assert all(step.ms > 0 for step in found.steps)
    assert found.result.is_proven


@pytest.mark.slow
def test_that_the_kernels_of_all_steps_make_a_chain_in_the_simulator():
    picture = np.random.default_rng(1).integers(0, 256, (6, 7, 3), np.uint8)
    found = engine.chain(picture, EVERY_KIND, device="simulator")
    assert (found.result.is_proven, found.result.variant) == (True, "cuda-chain")


def test_that_a_chain_keeps_its_time_where_the_device_has_no_memory_left_to_time_its_steps(monkeypatch):
    def full(*given):
        raise OutOfDeviceMemory("Not enough device memory", "it is full")

    monkeypatch.setattr("engine.work.measuring.sampled_parts", full)
    found = engine.chain(PHOTO, "unsharp", device=CPU, budget_s=0.0)
    assert found.result.kernel_ms
    assert [(step.id, step.ms) for step in found.steps] == [("blur", None), ("sharp", None)]


def test_that_all_passes_of_a_step_are_one_part_of_the_whole():
    call = call_of(EVERY_KIND, device="simulator")
    passes = call.choice.variant.passes(call.problem, call.plan, call.choice.block)
    parts = [part for part, _ in itertools.groupby(one.part for one in passes)]
    assert parts == [step["id"] for step in EVERY_KIND]


@pytest.mark.slow
def test_that_a_chain_on_the_cpu_takes_no_more_pictures_than_bands_are_planned_with(monkeypatch):
    class Counted(host_memory.UnusedBuffers):
        made = 0

        def take(self, size):
            found = super().take(size)
            self.made += found is None
            return found

    picture = np.ascontiguousarray(open_sample("astronaut").pixels[:300, :400])
    for chain in ready_chains():
        counted = Counted(lambda memory: memory.nbytes)
        monkeypatch.setattr(host_memory, "_reused", counted)
        call = call_of(chain, picture)
        # The second takes the memory of the first, which is no longer referenced.
        for _ in range(2):
            call.filter()
        assert 0 < counted.made <= call.task.between(call.job()), chain.key


def test_that_linear_steps_become_one_mask_that_is_equal_inside_and_sums_of_masks_up_to_the_edges():
    chain = chain_from({"steps": [
        {"id": "a", "mask": "sobel-x", "border": "mirror"},
        {"id": "b", "mask": "1 2 1; 2 4 2; 1 2 1", "border": "mirror"},
        {"id": "twice", "mask": "2"},
    ]})  # fmt: skip
    best = mergers(chain, PHOTO.shape, "uint8", device_named(CPU))[0]
    assert best.ids == ("a", "b", "twice")
    assert best.mask.shape == (5, 5)
    separate, merged = (compute(call_of(one).job(), backend(CPU)) for one in (chain, best.chain))
    top, bottom, left, right = best.frame
    inside = slice(top, len(PHOTO) - bottom), slice(left, PHOTO.shape[1] - right)
    assert np.array_equal(separate[inside], merged[inside])
    assert "1 row at the top" in best.sentence
    chain = chain_named("unsharp")
    (merger,) = mergers(chain, PHOTO.shape, "uint8", device_named(CPU))
    assert not any(merger.frame)
    one, other = exact(chain).range, exact(merger.chain).range
    # The masks' float32 weights are rounded apart.
    rounding = 2.0**-23 * (1.8 + 2 * 0.8) * 255
    assert np.abs(one.value - other.value).max() <= rounding
    assert merger.mask.total == pytest.approx(1.0, abs=1e-12)


def test_that_what_others_read_or_another_border_cuts_off_is_not_merged():
    steps = [{"id": "a", "mask": "box-3"}, {"id": "b", "mask": "box-3"}]
    both = [*steps, {"id": "c", "combine": "maximum", "input": "a", "second": "b"}]
    other = [steps[0], steps[1] | {"border": "mirror"}]
    for refused in (both, other):
        assert mergers(chain_from({"steps": refused}), PHOTO.shape, "uint8", device_named(CPU)) == ()
    large = chain_from({"steps": steps}), (2000, 2000, 3), "uint8", device_named(CPU)
    chain, done = merged_where_faster(*large)
    assert len(chain.steps) == 2 - len(done)


@pytest.fixture
def steps_of_preview(monkeypatch):
    """Return a function that previews a chain, proves the result, and returns the steps that it computed."""
    kept, launched = answers.KeptResults(), []
    begin = CpuChain.__init__

    def counting(self, problem, plan):
        def noting(step, launch):
            return lambda inputs, out: (launched.append(step), launch(inputs, out))

        begin(self, problem, plan)
        names = [planned.step.id for planned in plan]
        self.launches = list(map(noting, names, self.launches))

    def preview(chain, picture, name):
        call, out = call_of(chain, picture), np.empty(picture.shape, np.float32)
        wanted = compute(call.job(), backend(CPU))
        launched.clear()
        times = kept.computed(call, name, out, lambda step: None)
        assert np.array_equal(out, wanted)
        assert all(step.ms > 0.0 for step in times)
        return sorted(launched)

    monkeypatch.setattr(CpuChain, "__init__", counting)
    return preview


def test_that_a_preview_computes_only_what_changed(steps_of_preview):
    chain = chain_named("denoise-edges")
    edited = chain.replaced("edges", structs.replace(chain.steps[3], how="maximum"))
    assert steps_of_preview(chain, PHOTO, "one") == ["calm", "edges", "x", "y"]
    assert steps_of_preview(edited, PHOTO, "one") == ["edges"]
    assert steps_of_preview(edited, PHOTO[::-1].copy(), "another") == ["calm", "edges", "x", "y"]


def test_that_of_a_large_picture_only_what_an_edited_step_reads_is_kept(steps_of_preview, monkeypatch):
    monkeypatch.setattr(answers, "MOST_BYTES", 0)
    chain = chain_named("denoise-edges")

    def edited(step, **change):
        at = [one.id for one in chain.steps].index(step)
        return chain.replaced(step, structs.replace(chain.steps[at], **change))

    one, other = edited("edges", how="maximum"), edited("edges", how="add")
    # The mean that the edited step reads, and the other step's result that is read with its own.
    turned = [edited("x", mask=Mask(weights)) for weights in (np.eye(3), np.ones((3, 3)))]
    calm = edited("calm", settings=Parameters([("size", 5)]))
    for of_the_turn, computed in [
        (chain, "calm edges x y"), (one, "calm edges x y"), (other, "edges"), (other, "edges"),
        (turned[0], "calm edges x"), (turned[1], "edges x"), (calm, "calm edges x y"),
    ]:  # fmt: skip
        assert steps_of_preview(of_the_turn, PHOTO, "one") == computed.split()


def test_that_an_idle_engine_keeps_no_results_of_steps():
    call = call_of(chain_named("denoise-edges"), PHOTO)
    answers._kept.computed(call, "one", np.empty(PHOTO.shape, np.float32), lambda step: None)
    assert answers._kept._kept
    shared.trim_unused()
    assert not answers._kept._kept


def test_that_a_file_that_is_no_chain_is_refused_in_words():
    for change, says in [
        ({"format": "other"}, 'its "format" is not "haloscope-chain"'),
        ({"version": 2}, 'its "version" is 2'),
        ({"colour": 1}, "the key 'colour': a chain has no such key"),
        ({"steps": []}, "it has 0 steps"),
        ({"range": "wrap"}, "range 'wrap'"),
        ({"steps": [{"id": "a"}]}, "step 1: it has none of mask, operation, combine"),
        ({"steps": [{"mask": "box-3", "operation": "median"}]}, "step 1: it has mask and operation"),
        ({"steps": [{"mask": "sobel"}]}, "step 1: Unknown mask"),
        ({"steps": [{"mask": "box-3", "boder": "mirror"}]}, "step 1, 'boder': a mask has no such key"),
        ({"steps": [{"mask": "box-3", "border": "round"}]}, "step 1: "),
        ({"steps": [{"mask": "box-3", "cval": "x"}]}, "'cval': it is a text, and should be a number."),
        ({"steps": [{"mask": "box-3", "flip": 1}]}, "'flip': it is a number, and should be true or false."),
        ({"title": None}, '"title": it is null, and should be a text. Write "title": "Edges"'),
        ({"steps": [{"mask": "box-3", "input": "later"}]}, "step 1 (s1): it reads 'later'"),
        ({"steps": 2 * [{"id": "a", "mask": "box-3"}]}, "step 2 (a): an earlier step"),
        ({"steps": [{"operation": "median", "settings": {"size": 4}}]}, "step 1 (s1): size 4"),
        ({"steps": [{"operation": "histogram"}]}, "gives a plot"),
        ({"steps": [{"combine": "add"}]}, "the second is missing"),
        ({"steps": [{"combine": "divide", "second": "picture"}]}, "'divide': that is no way to combine"),
        ({"steps": [{"mask": "box-3", "block": "0x0x0"}]}, "step 1: "),
    ]:
        document = {"format": "haloscope-chain", "version": 1, "steps": [{"mask": "box-3"}]} | change
        with pytest.raises(EngineError) as caught:
            chain_from_json(json.dumps(document))
        assert says in str(caught.value)


def test_that_damaged_json_and_unknown_names_are_refused_in_words(tmp_path):
    for text, why in (
        ("{", "it is not JSON: it ends too early"),
        ('{"range": 1e999}', "it says '1e999', which is too large a number"),
        ("null", "its JSON is null, not an object"),
        ("\x00", "it is not JSON: line 1"),
        ('{"format": "haloscope-chain", "version": 1, "title": "\\ud800"}', "it holds something"),
        ("[" * 5000, "its JSON is nested too deep"),
    ):
        with pytest.raises(BadValue) as caught:
            chain_from_json(text)
        assert caught.value.why.startswith(why)
    with pytest.raises(UnknownName, match="Did you mean unsharp"):
        chain_named("unsharpp")
    with pytest.raises(BadValue, match="no such file"):
        chain_named(str(tmp_path / "none.json"))
    with pytest.raises(BadValue, match="step s1: variant naive: it is written for CUDA"):
        _ = call_of([{"mask": "box-3", "variant": "naive"}, {"mask": "box-3"}]).plan


def test_that_a_chain_of_own_weights_comes_back_from_its_json_which_also_names_it():
    mask = Mask([[1 / 3, -2.5], [0, 7]], (0, 1), 0.5, "mine")
    steps = (
        MaskStep(id="m", mask=mask, border=Border.CONSTANT, cval=3.5, flip=True, on=False),
        OperationStep(id="o", operation="median", input="picture"),
        CombineStep(id="c", how="blend", second="m", weight=-0.25),
    )
    chain = structs.replace(ready_chains()[0], steps=steps, title="Ärger", range="absolute")
    assert chain_from_json(chain_to_json(chain)) == chain
    assert chain_named(chain_to_json(chain_named("unsharp"))) == chain_named("unsharp")
    for text, why in (
        ('{"format": ', "it is not JSON"),
        ('[{"mask": "box-3"}]', "its JSON is a list, not an object"),
        (' "unsharp"', "its JSON is a text"),
        ('{"steps": [{"mask": "box-3"}]}', 'its "format" is not'),
    ):
        with pytest.raises(BadValue, match="This is not a chain") as caught:
            chain_named(text)
        assert why in caught.value.why
        # What it looks like instead is a chain.
        _, begin, rest = caught.value.remedy.partition("{")
        assert chain_named(begin + rest.partition("; ")[0]).steps


def test_that_two_samples_become_one_as_the_kernel_makes_it_of_them():
    for how in HOW:
        rng = np.random.default_rng(4)
        picture = (rng.standard_normal((40, 50)) * 10.0 ** rng.integers(-30, 30, (40, 50))).astype(np.float32)
        picture[:2, :2] = [[np.nan, np.inf], [0.0, -np.inf]]
        steps = [
            {"id": "other", "mask": "0.3 0.7 1.1", "input": "picture"},
            {"id": "both", "combine": how, "input": "picture", "second": "other", "weight": 0.3},
        ]
        calls = [call_of(steps[:count], picture) for count in (1, 2)]
        other, both = (compute(call.job(), backend(CPU)).reshape(picture.shape) for call in calls)
        step = calls[1].request.chain.steps[-1]
        made = combined(step.how, step.weights, picture, other)
        np.testing.assert_array_equal(made.value, both)


EXACT_FIRST = [
    [{"operation": "median"}, {"mask": "sobel-x", "border": "mirror"}],
    [{"operation": "median"}, {"operation": "maximum", "settings": {"size": 5}}, {"mask": "gaussian:3:1"}],
    [{"id": "a", "operation": "morphology", "settings": {"kind": "top-hat"}},
     {"id": "b", "mask": "box:3", "input": "a"}, {"combine": "subtract", "input": "a", "second": "b"}],
    [{"operation": "minimum"}, {"operation": "gradient-magnitude"}],
    [{"operation": "minimum"}, {"operation": "threshold"}, {"operation": "median"}],
]  # fmt: skip


@pytest.mark.slow
def test_that_steps_in_the_type_of_the_picture_give_the_values_of_float32():
    for steps, picture in itertools.product(EXACT_FIRST, (PHOTO, PHOTO.astype(np.uint16) * 257)):
        call = call_of(steps, picture)
        assert call.plan[0].writes == call.plan[1].given[0] == picture.dtype
        found = call.filter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("engine.work.operations.contract.Operation.is_exact", False)
            in_floats = call_of(steps, picture)
            assert {planned.writes for planned in in_floats.plan} == {"float32"}
            assert np.array_equal(found, in_floats.filter())


def test_that_the_last_step_writes_the_type_of_the_file_where_that_is_the_same():
    for steps, is_own in [
        ([{"operation": "median"}, {"operation": "maximum"}], True),
        ([{"operation": "median"}, {"mask": "sharpen"}], False),
        # What is between is float32, and is not rounded.
        ([{"mask": "box:3"}, {"operation": "maximum"}], False),
        ([{"operation": "median"}, {"operation": "negative"}], False),
    ]:
        call = call_of(steps)
        saved = call.as_saved(np.dtype(np.uint8), "clip")
        assert saved.problem.result_dtype == ("uint8" if is_own else "float32")
        outcome = outcome_of(saved)
        assert outcome.result.is_proven
        assert np.array_equal(to_depth(outcome.values, "uint8"), to_depth(call.filter(), "uint8"))
        assert call.as_saved(np.dtype(np.uint8), "rescale") is call
