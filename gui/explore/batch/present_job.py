"""What the page does now, as words of the command line and in a sentence: the job of a batch."""

from pathlib import Path

from engine.device_info import AUTO, SIMULATOR
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.files import save_mask
from gui.explore.workspace import Workspace


def job_words(workspace: Workspace, folder: Path) -> list[str]:
    """Return the options of `filter` and `batch` that do what the page does now.

    The mask is written into `folder`, as a file that keeps every digit and the anchor. The simulator takes
    small pictures only: where it is chosen, device and kernel are left to `auto`.
    """
    settings = workspace.settings
    words = _mask_words(workspace, folder) if workspace.is_filtering else _operation_words(workspace)
    if settings.device != SIMULATOR:
        words += _option("--variant", settings.variant, AUTO) + _option("--device", settings.device, AUTO)
        words += _option("--layout", settings.layout, Layout.PITCHED)
        if settings.block is not None:
            words.append(f"--block={_block_text(settings.block)}")
    return words


def job_sentence(workspace: Workspace) -> str:
    """Say what the page does now: "Sharpen, 3 × 3, border zero"."""
    settings = workspace.settings
    if not workspace.is_filtering:
        given = [f"{name} {value}" for name, value in settings.parameters.items()]
        return ", ".join((workspace.operation.replace("-", " ").capitalize(), *given))
    mask = workspace.mask
    parts = [workspace.mask_title or "Own mask", f"{mask.rows} × {mask.columns}", f"border {settings.border}"]
    parts += ["convolution"] * settings.flip + ["divided by its sum"] * settings.normalise
    parts += [f"range {workspace.range_mode}"] * (workspace.range_mode != "clip")
    return ", ".join(parts)


def _mask_words(workspace: Workspace, folder: Path) -> list[str]:
    settings, file = workspace.settings, folder / "mask.json"
    save_mask(workspace.mask, file)
    words = ["--mask", str(file), f"--border={settings.border}"]
    if settings.border.takes_value:
        words.append(f"--cval={settings.cval!r}")
    words += ["--flip"] * settings.flip
    words += ["--normalize"] * (settings.normalise and workspace.can_normalise)
    words += _option("--range", workspace.range_mode, "clip")
    # Results of either type have the same bytes in a file; `auto` takes the faster one.
    return words + _option("--result-type", settings.result_type, "float32")


def _operation_words(workspace: Workspace) -> list[str]:
    settings = workspace.settings
    words = ["--operation", workspace.operation]
    if settings.patch_path:
        return [*words, "--patch", settings.patch_path]
    return words + [f"--set={name}={value}" for name, value in settings.parameters.items()]


def _option(name: str, value: object, default: object) -> list[str]:
    return [] if value == default else [f"{name}={value}"]


def _block_text(block: Block) -> str:
    return f"{block.x}x{block.y}"
