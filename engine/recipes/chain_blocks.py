"""The steps of a chain as Python for arrays: a block for each step that the result needs."""

from collections.abc import Callable
from dataclasses import replace

from engine.errors import BadValue
from engine.recipes.recipe import Recipe, as_comment
from engine.work.request import one_step
from engine.work.steps import PICTURE, CombineStep, MaskStep

_COMBINED = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "magnitude": "np.sqrt({0} ** 2 + {1} ** 2)",
    "maximum": "np.maximum({0}, {1})",
    "blend": "{0} + {weight!r} * ({1} - {0})",
}


def chain_blocks(recipe: Recipe, target: str, filtering: Callable[[Recipe], list[str]]) -> list[str]:
    """Return the lines that make `values` of `picture`; `results` has what each step made.

    `filtering` returns the lines of one mask; refused is another operation, which a target cannot say.
    """
    chain = recipe.chain
    assert chain is not None
    nodes = chain.nodes()
    ids = [PICTURE, *(node.step.id for node in nodes)]
    lines = [f"results = {{{PICTURE!r}: picture}}", "values = picture"]
    for node in nodes:
        step, reads = node.step, [f"results[{ids[at + 1]!r}]" for at in node.inputs]
        lines += ["", f"# {as_comment(f'{step.id}: {step.title}')}"]
        if isinstance(step, MaskStep):
            one = replace(recipe, asked=one_step(replace(step, input="")))
            lines += [f"picture = {reads[0]}", *filtering(one)]
        elif isinstance(step, CombineStep):
            lines.append(f"values = {_COMBINED[step.how].format(*reads, weight=step.weight)}")
        else:
            why = "only masks and what combines two results can be written for it"
            what = f"step {step.id} ({step.title}) as {target}"
            raise BadValue(what, why, "Copy it as a command line or as Python.")
        lines.append(f"results[{step.id!r}] = values")
    return [*lines, ""]
