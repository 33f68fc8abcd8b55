"""What is asked of a picture: the steps, and where they are done. All other descriptions hold one.

Nothing is resolved yet: "auto" may stand for a variant or a device, and a block may be illegal.
"""

from functools import cached_property
from typing import Any, Self

from msgspec.structs import replace

from engine.device_info import AUTO
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.message import Message
from engine.work.steps import AnyStep, Chain, MaskStep, Node, OperationStep


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
        step = self.step
        return AUTO if step is None else step.variant

    @property
    def block(self) -> Block | None:
        """The one step's block; None: the variant's default."""
        step = self.step
        return None if step is None else step.block

    @property
    def filter(self) -> MaskStep | None:
        """The one step where that is a mask."""
        step = self.step
        return step if isinstance(step, MaskStep) else None

    @property
    def mask(self) -> Mask:
        """The mask of the one step, as it is applied: of a request that has one (`filter`)."""
        step = self.filter
        assert step is not None
        return step.applied

    @property
    def operation(self) -> OperationStep | None:
        """The one step where that is another operation than a mask."""
        step = self.step
        return step if isinstance(step, OperationStep) else None

    def changed(self, **changes: object) -> Self:
        """Return the request with other values: of its own fields, and of the one step's."""
        own = {name: changes.pop(name) for name in self.__struct_fields__ if name in changes}
        if changes:
            step = self.step
            assert step is not None
            own["chain"] = self.chain.replaced(step.id, replace(step, **changes))
        return replace(self, **own)


def of_chain(chain: Chain, **where: Any) -> PictureRequest:
    """Return the request of a chain, of which one step alone writes what it writes by itself.

    `where` are the other fields.
    """
    nodes = chain.nodes()
    own = nodes[0].step.result_type if len(nodes) == 1 else "float32"
    return PictureRequest(chain=chain, **({"result_type": own} | where))


def one_step(step: AnyStep, **where: object) -> PictureRequest:
    """Return the request of one step alone; `where` are the other fields."""
    return of_chain(Chain((step,)), **where)
