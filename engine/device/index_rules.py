"""The index rules of borders (`Border.rule`) as compiled CPU code knows them; for CUDA: `cuda_rules.py`."""

from engine.geometry.border import Border, IndexRule


def cpu_rules() -> tuple[IndexRule, ...]:
    """Return the rules of all borders, each once, in the order of their codes."""
    return tuple(dict.fromkeys(border.rule for border in Border))


def cpu_code(border: Border) -> int:
    """Return the number by which compiled CPU code knows a border."""
    return cpu_rules().index(border.rule)
