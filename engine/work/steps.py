"""What is done with a picture, and where: masks, operations and combinations of results. No Numba in here.

A filter is a chain of one step, and so is another operation. The steps form a graph without cycles: a step
reads the result of the one before, of another earlier one by its id, or the picture. What lies between is
float32, neither clipped nor rounded to whole numbers. All other descriptions of work hold a `PictureRequest`,
of which nothing is resolved yet: "auto" may stand for a variant or a device, and a block may be illegal.
"""

import hashlib
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from msgspec.structs import replace

from engine.device_info import AUTO
from engine.errors import BadValue, EngineError, UnknownName, did_you_mean
from engine.geometry.block import Block, Layout
from engine.geometry.border import RANGE_MODES, Border, RangeMode
from engine.mask.mask import Mask
from engine.message import Message
from engine.work.problem import NO_SETTINGS, Parameters

if TYPE_CHECKING:
    from engine.work.operations.contract import Operation


PICTURE = "picture"
"""What a step reads that begins with the picture itself."""
MOST_STEPS = 64
HOW = {
    "add": "the sum of both",
    "subtract": "the first less the second",
    "magnitude": "the root of the sum of both squares",
    "maximum": "the larger of both",
    "blend": "so much of the second and the rest of the first; a weight below 0 or above 1 exaggerates",
}
MOST_WEIGHT = 100.0
# By name: the window does without variants, and a mask without the operations, which take 27 ms to import.
_FILTERS, _OPERATIONS = "engine.work.filtering.variants", "engine.work.operations.contract"


class Step(Message, frozen=True, kw_only=True):
    """What all steps have."""

    kind: ClassVar[str]  # the key under which files have what it does
    result_type: ClassVar[str] = "float32"  # what it writes by itself, where nothing else is requested
    variant: str = AUTO  # key of what computes it, or "auto"
    block: Block | None = None  # None: the variant's default

    id: str = "s1"
    input: str = ""  # id of an earlier step, or "picture"; empty: the step before
    on: bool = True  # switched off, its readers get what it reads

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids of what it reads."""
        return (self.input,)

    @property
    def weights(self) -> tuple[float, float] | None:
        """The weights of two results where it is their weighted sum, else None."""
        return None

    def reading(self, reads: tuple[str, ...]) -> Self:
        """Return the step with the ids of what it reads."""
        return replace(self, input=reads[0])

    def check(self, where: str) -> None:
        """Refuse what no step among others can be; `where` says which it is."""


class MaskStep(Step, frozen=True, kw_only=True):
    """Correlate with a mask, or convolve where `flip` is set."""

    kind: ClassVar[str] = "mask"
    border: Border = Border.ZERO
    cval: float = 0.0  # value of the cells outside for a border that takes one
    flip: bool = False  # convolution: the mask is rotated by 180 degrees
    normalise: bool = False  # divided by its sum
    mask: Mask
    written: str = ""  # how the mask was written: a preset, a generator, weights; empty: as the mask itself

    @property
    def applied(self) -> Mask:
        """The mask to correlate with."""
        mask = self.mask.normalised() if self.normalise else self.mask
        return mask.flipped() if self.flip else mask

    @property
    def variants(self) -> tuple[Any, ...]:
        """Every variant that may do it, in teaching order."""
        return tuple(import_module(_FILTERS).VARIANTS)

    def named(self, key: str) -> Any:
        """Return the variant of that key; UnknownName where there is none."""
        return import_module(_FILTERS).variant(key)

    @property
    def title(self) -> str:
        """What it does, in a few words: the name of the mask."""
        return self.mask.name or self.written or f"{self.mask.rows} × {self.mask.columns}"

    @property
    def computes(self) -> tuple[object, ...]:
        """What its result depends on, neither its name nor its kernel: mask as applied, and border."""
        mask, cval = self.applied, self.cval if self.border.takes_value else 0.0
        return mask.weights_digest, mask.anchor, mask.offset, str(self.border), cval


class OperationStep(Step, frozen=True, kw_only=True):
    """Another operation on a picture, with its parameters."""

    kind: ClassVar[str] = "operation"
    result_type: ClassVar[str] = "same"

    operation: str
    settings: Parameters = NO_SETTINGS

    @property
    def known(self) -> "Operation":
        """The operation."""
        known: Operation = import_module(_OPERATIONS).operation_named(self.operation)
        return known

    @property
    def variants(self) -> tuple[Any, ...]:
        """Every variant that may do it, in teaching order."""
        return self.known.variants

    def named(self, key: str) -> Any:
        """Return the variant of that key; UnknownName where there is none."""
        return import_module(_OPERATIONS).operation_variant(key, self.operation)

    @property
    def title(self) -> str:
        """The operation with its parameters."""
        return self.settings.after(self.operation)

    @property
    def computes(self) -> tuple[object, ...]:
        """The operation with all its parameters."""
        parameters = dict(self.settings)
        with suppress(EngineError):  # those that are refused have no result
            parameters = self.known.read(parameters)
        return self.operation, *sorted(parameters.items())

    def check(self, where: str) -> None:
        """Refuse an operation that gives no picture, and a parameter out of range."""
        known = self.known
        if known.result.name != "PICTURE":
            why = f"{known.key} gives {known.result}, and the next step needs a picture"
            raise BadValue(where, why, "Take an operation that gives a picture.")
        try:
            known.read(dict(self.settings))
        except BadValue as error:
            raise BadValue(f"{where}: {error.what}", error.why, error.remedy) from error


class CombineStep(Step, frozen=True, kw_only=True):
    """Two earlier results become one."""

    kind: ClassVar[str] = "combine"

    how: str  # of HOW
    second: str
    weight: float = 0.5  # of `blend`

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids of what it reads."""
        return self.input, self.second

    @property
    def title(self) -> str:
        """How they are combined."""
        return f"blend {self.weight:g}" if self.how == "blend" else self.how

    @property
    def computes(self) -> tuple[object, ...]:
        """How they are combined."""
        return self.how, self.weight if self.how == "blend" else 0.0

    @property
    def weights(self) -> tuple[float, float] | None:
        """The weights of both where it is their weighted sum."""
        known = {"add": (1.0, 1.0), "subtract": (1.0, -1.0), "blend": (1.0 - self.weight, self.weight)}
        return known.get(self.how)

    def reading(self, reads: tuple[str, ...]) -> Self:
        """Return the step with the ids of what it reads."""
        return replace(self, input=reads[0], second=reads[1])

    def check(self, where: str) -> None:
        """Refuse an unknown way to combine, one result alone, and a weight out of range."""
        if self.how not in HOW:
            remedy = f"Choose one of {', '.join(HOW)}."
            raise UnknownName(f"{where}: {self.how!r}", "that is no way to combine", remedy)
        if not self.second:
            why = "it combines two results, and the second is missing"
            raise BadValue(where, why, 'Write "second": "picture", or an id.')
        if not abs(self.weight) <= MOST_WEIGHT:
            what = f"{where}: weight {self.weight:g}"
            raise BadValue(what, f"it must lie between -{MOST_WEIGHT:g} and {MOST_WEIGHT:g}", "Write 0.5.")


AnyStep = MaskStep | OperationStep | CombineStep


class Node(NamedTuple):
    """A step that is computed, and where its inputs are among the nodes; -1 is the picture."""

    step: AnyStep
    inputs: tuple[int, ...]


class Chain(Message, frozen=True):
    """Steps in order, of which the last is the result; BadValue or UnknownName where they form no chain."""

    steps: tuple[AnyStep, ...]
    title: str = ""
    about: str = ""  # a sentence
    range: RangeMode = "clip"  # what becomes of values outside it
    key: str = ""  # of a ready one; the same steps under another are an equal chain

    def __post_init__(self) -> None:
        what = f"the chain {self.title!r}" if self.title else "the chain"
        if not 1 <= len(self.steps) <= MOST_STEPS:
            why = f"it has {len(self.steps)} steps, and 1 to {MOST_STEPS} can be taken"
            raise BadValue(what, why, "Add a step." if not self.steps else "Make it shorter.")
        if self.range not in RANGE_MODES:
            raise UnknownName(f"range {self.range!r}", "", f"Choose one of {', '.join(RANGE_MODES)}.")
        known = [PICTURE]
        for number, step in enumerate(self.steps, start=1):
            where = f"step {number} ({step.id or 'without an id'})"
            if step.id == PICTURE or not step.id.strip():
                why = f"an id is needed, which is not {PICTURE!r}"
                raise BadValue(where, why, f'Write "id": "s{number}".')
            if step.id in known:
                raise BadValue(where, "an earlier step has the same id", "Give each step an id of its own.")
            for input_ in filter(None, step.inputs):
                if input_ not in known:
                    why = f"it reads {input_!r}, and there is no such step before it"
                    remedy = f"{did_you_mean(input_, known)}Choose one of {', '.join(known)}."
                    raise BadValue(where, why, remedy)
            known.append(step.id)
        if len(self.steps) > 1 or self.steps[0].kind == CombineStep.kind:
            self.check()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[object, ...]:
        return self.steps, self.title, self.about, self.range

    def check(self) -> None:
        """Refuse steps that cannot be among others; one alone may be any operation."""
        for number, step in enumerate(self.steps, start=1):
            step.check(f"step {number} ({step.id})")

    def nodes(self, shown: str = "") -> tuple[Node, ...]:
        """Return what a result, by default the last, needs; empty where all is off. Raises UnknownName."""
        places: dict[str, int] = {PICTURE: -1}
        nodes: list[Node] = []
        before = PICTURE
        for step in self.steps:
            inputs = tuple(places[one or before] for one in step.inputs)
            if step.on:
                nodes.append(Node(step, inputs))
            places[step.id] = len(nodes) - 1 if step.on else inputs[0]
            before = step.id
        last = shown or self.steps[-1].id
        if last not in places:
            raise UnknownName(f"step {last!r}", "the chain has none", f"Choose one of {', '.join(places)}.")
        wanted = sorted(needed_places(nodes, places[last]))
        number = {at: place for place, at in enumerate(wanted)} | {-1: -1}
        return tuple(Node(nodes[at].step, tuple(number[one] for one in nodes[at].inputs)) for at in wanted)

    def needed(self, shown: str = "") -> "Chain":
        """Return the chain of what a result needs, its inputs named. Raises as `nodes`; BadValue if empty."""
        nodes = self.nodes(shown)
        ids = [*(node.step.id for node in nodes), PICTURE]
        steps = tuple(step.reading(tuple(ids[one] for one in inputs)) for step, inputs in nodes)
        return replace(self, steps=steps)

    @property
    def text(self) -> str:
        """The steps in one line, such as "x = Sobel x of picture; y = ..."."""
        before, lines = PICTURE, []
        for step in self.steps:
            read = " and ".join(one or before for one in step.inputs)
            border = f", border {step.border}" if isinstance(step, MaskStep) else ""
            lines.append(f"{step.id} = {step.title} of {read}{border}{'' if step.on else ', off'}")
            before = step.id
        return "; ".join(lines)

    def replaced(self, id_: str, step: AnyStep) -> "Chain":
        """Return the chain with another step in the place of one."""
        return replace(self, steps=tuple(step if one.id == id_ else one for one in self.steps))


def digest_of(nodes: Iterable[tuple[AnyStep, tuple[int, ...]]]) -> str:
    """Return what tells steps, each with the places of what it reads, from those with another result."""
    computed = [(type(step).__name__, step.computes, inputs) for step, inputs in nodes]
    return hashlib.sha256(repr(computed).encode()).hexdigest()[:16]


def needed_places(nodes: Sequence[Any], last: int, known: Container[int] = ()) -> set[int]:
    """Return the places of steps, or nodes, needed for one: what stands before a known one is not."""
    needed, ahead = set[int](), [last]
    while ahead:
        at = ahead.pop()
        if at >= 0 and at not in needed:
            needed.add(at)
            ahead += () if at in known else nodes[at].inputs
    return needed


class PictureRequest(Message, frozen=True, kw_only=True, dict=True):
    """The steps that are done with a picture, and where; border, variant and block are those of each step."""

    chain: Chain
    shown: str = ""  # id of the step whose result is wanted; empty: the last one
    device: str = AUTO  # "cpu", "cuda:0", ..., "simulator", or "auto": CUDA if there is one that works
    layout: Layout = Layout.PITCHED  # of the rows on a CUDA device
    # What is written: "float32", or "same": samples of the picture's type, by one step alone. An operation
    # that writes float32 is computed as a step among others is.
    result_type: str = "float32"

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The steps that the wanted result needs, in order; found once for all pictures of a stream."""
        return self.chain.nodes(self.shown)

    @cached_property
    def step(self) -> MaskStep | OperationStep | None:
        """The one step that is done with the picture itself; None where there are several, or two results."""
        nodes = self.nodes
        if len(nodes) != 1 or nodes[0].step.result_type not in ("float32", self.result_type):
            return None
        return nodes[0].step if nodes[0].inputs == (-1,) else None  # type: ignore[return-value]

    @property
    def variant(self) -> str:
        """Key of the one step's variant, or "auto"."""
        return AUTO if self.step is None else self.step.variant

    @property
    def named(self) -> Any:
        """The variant that the one step names; None on "auto", and of several steps."""
        step = self.step
        return None if step is None or step.variant == AUTO else step.named(step.variant)

    @property
    def block(self) -> Block | None:
        """The one step's block; None: the variant's default."""
        return None if self.step is None else self.step.block

    @property
    def filter(self) -> MaskStep | None:
        """The one step where that is a mask."""
        return self.step if isinstance(self.step, MaskStep) else None

    @property
    def mask(self) -> Mask:
        """The mask of the one step, as it is applied: of a request that has one (`filter`)."""
        assert self.filter is not None
        return self.filter.applied

    @property
    def operation(self) -> OperationStep | None:
        """The one step where that is another operation than a mask."""
        return self.step if isinstance(self.step, OperationStep) else None

    def changed(self, **changes: object) -> Self:
        """Return the request with other values: of its own fields, and of the one step's."""
        own = {name: changes.pop(name) for name in self.__struct_fields__ if name in changes}
        if changes:
            assert self.step is not None
            own["chain"] = self.chain.replaced(self.step.id, replace(self.step, **changes))
        return replace(self, **own)


def of_chain(chain: Chain, **where: Any) -> PictureRequest:
    """Return the request of a chain, one step alone with its own type of result; `where` are other fields."""
    nodes = chain.nodes()
    own = nodes[0].step.result_type if len(nodes) == 1 else "float32"
    return PictureRequest(chain=chain, **({"result_type": own} | where))


def one_step(step: AnyStep, **where: object) -> PictureRequest:
    """Return the request of one step alone; `where` are the other fields."""
    return of_chain(Chain((step,)), **where)
