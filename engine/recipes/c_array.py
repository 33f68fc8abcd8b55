"""The mask of a recipe as an array of C."""

from engine.recipes.recipe import Recipe, float32_text


def c_array(recipe: Recipe) -> str:
    """Return the mask as it is applied: the weights as the kernels have them, its anchor, what is added."""
    recipe.refuse_operation("a C array")
    mask, border = recipe.filter.applied, recipe.filter.border
    rows = ",\n".join(
        f"    {{{', '.join(f'{float32_text(weight)}f' for weight in row)}}}"
        for row in mask.weights32.tolist()
    )
    lines = [
        f"/* {recipe.summary}",
        "   As it is applied: result[y][x] = mask_offset + sum over m, n of",
        "   mask[m][n] * picture[y + m - mask_anchor[0]][x + n - mask_anchor[1]].",
        f"   {border.sentence} */",
        f"static const float mask[{mask.rows}][{mask.columns}] = {{\n{rows}\n}};",
        f"static const int mask_anchor[2] = {{{mask.anchor[0]}, {mask.anchor[1]}}}; /* row, column */",
        f"static const float mask_offset = {float32_text(mask.offset)}f;",
    ]
    if border.takes_value:
        lines.append(f"static const float mask_outside = {float32_text(recipe.filter.cval)}f;")
    return "\n".join([*lines, ""])
