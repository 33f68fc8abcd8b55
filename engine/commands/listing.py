"""`variants`, `masks`, `chains`, `devices`: what there is. Each imports only what it lists."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import log, mask_document, print_answer, print_entries, print_one, table
from engine.errors import BadValue, DeviceUnavailable, MaskError
from engine.files.atomic_write import check_place
from engine.mask.generator_table import EXAMPLES, GENERATORS

if TYPE_CHECKING:
    from engine.device_info import DeviceInfo
    from engine.explain.device_limits import DeviceLimits
    from engine.results.problem import Progress
    from engine.run.variant import AnyVariant


class VariantsSettings(Settings):
    """What `variants` takes."""

    about = "Each step of the ladder saves what the one before it wastes."


@dataclass(frozen=True, kw_only=True)
class MasksSettings(Settings):
    """What `masks` takes."""

    about = (
        f"Beside them --mask takes generators: {EXAMPLES}. With a MASK: what ImageJ, GIMP, OpenCV, SciPy, "
        "ImageMagick and MATLAB do with it."
    )
    examples = ("", "--json", "sobel-x", "sobel-x --as opencv")

    mask: str | None = option("MASK  say what other programs do with this one, as --mask takes it", None)
    program: str | None = option("--as PROGRAM  only one of them, such as opencv", None)

    def __post_init__(self) -> None:
        """Refuse a program without a mask."""
        if self.program is not None and self.mask is None:
            what, why = f"--as {self.program}", "no mask is given"
            raise BadValue(what, why, f"Write masks sobel-x --as {self.program}.")


def run_variants(settings: VariantsSettings) -> int:
    """List the variants in teaching order; return the exit status."""
    from engine.tasks.registry import TASKS
    from engine.work.filtering.variants import VARIANTS

    entries = [_entry(one) for task in TASKS.values() for one in task.variants]
    rows = [
        (v.key, v.device.value, str(v.default_block) if v.uses_block else "-", v.title, v.idea)
        for v in VARIANTS
    ]
    integer_output = ", ".join(v.key for v in VARIANTS if v.integer_output)
    lines = [
        table(("key", "device", "block", "title", "idea"), rows),
        "\nWhat to know before using them:",
        *(f"{v.key}: {v.remark}" for v in VARIANTS if v.remark),
        f"8- and 16-bit results (--result-type same): {integer_output}",
    ]
    for task in [task for task in TASKS.values() if task.heading]:
        lines += [f"\n{task.heading}:", *(one.line for one in task.variants)]
    print_entries(settings.json, "variants", entries, "\n".join(lines))
    return DONE


def run_masks(settings: MasksSettings) -> int:
    """List the presets, or say what other programs do with a mask; return the exit status."""
    if settings.mask is not None:
        _show_programs(settings.mask, settings.program, settings.json)
        return DONE
    if settings.json:
        from engine.mask.presets import presets

        names = ("key", "title", "group", "teaches")
        entries = [{name: getattr(p, name) for name in names} | mask_document(p.mask) for p in presets()]
        print_entries(True, "masks", entries, "")
        return DONE
    from engine.mask.presets import preset_texts

    rows = []
    for made in GENERATORS.values():
        spans = (f"{one.name} {one.least:g} to {one.most:g} {one.unit}".rstrip() for one in made.numbers)
        rows.append((made.form, made.example, made.about, "; ".join(spans)))
    lines = [
        table(("key", "size", "group", "title", "what it teaches"), preset_texts()),
        "\nMasks from a few numbers; those that are left out at the end have defaults:",
        table(("form", "example", "what it does", "numbers"), rows),
    ]
    print_answer("\n".join(lines))
    return DONE


def _entry(known: "AnyVariant") -> dict[str, object]:
    """Return an entry of `variants --json`; all have the same keys, and `facts` beside."""
    names = "key", "task", "title", "device", "idea", "remark"
    block = asdict(known.default_block) if known.uses_block else None
    common = {"quantises": False, "uses_block": known.uses_block, "default_block": block}
    return {name: str(getattr(known, name)) for name in names} | common | known.facts


def _show_programs(spec: str, program: str | None, as_json: bool) -> None:
    """Print what one program, or each, does with a mask and grey 8 bit; "scipy" is all of its functions."""
    # What resolves a mask takes longer to import than the list does.
    from engine.mask.presets import resolve_mask
    from engine.recipes.programs import PROGRAMS, Program, as_program

    mask = resolve_mask(spec)

    def entry(key: str) -> dict[str, object]:
        other = as_program(key, mask, normalise=False, dtype="uint8", channels=1)
        known = other.program
        about = {"key": key, "title": known.title, "code": other.code, "differs": known.differs}
        return about | {"settings": other.settings, "source": known.source} | mask_document(other.mask)

    def tried(known: Program) -> dict[str, object]:
        try:
            return entry(known.key)
        except MaskError as error:
            return {"key": known.key, "title": known.title, "refused": str(error)}

    asked = [known for known in PROGRAMS if not program or f"{known.key}-".startswith(f"{program}-")]
    # One that is asked for alone, or is not known, may be refused.
    entries = list(map(tried, asked)) if len(asked) > 1 else [entry(program or "")]
    blocks = []
    for one in entries:
        lines = [one["title"], *(one[name] for name in ("code", "refused", "differs") if one.get(name))]
        blocks.append("\n  ".join(map(str, lines)))
    print_entries(as_json, "programs", entries, "\n\n".join(blocks))


@dataclass(frozen=True, kw_only=True)
class ChainsSettings(Settings):
    """What `chains` takes."""

    about = "`filter --chain NAME` does what a chain says; docs/chains.md says how to write one."
    examples = ("", "unsharp", "unsharp --out mine.json")

    name: str | None = option("NAME  show the steps of this one, or of a file", None)
    out: str | None = option("--out FILE  write it into a file, to be edited", None)


def run_chains(settings: ChainsSettings) -> int:
    """List chains, show one or write one; return the exit status."""
    from engine.work.chain_files import FORMAT, VERSION, chain_named, entry_of, ready_chains, save_chain

    if settings.name is None:
        if settings.out is not None:
            remedy = "Name it: chains unsharp --out mine.json"
            raise BadValue("--out without a chain", "one chain is written", remedy)
        known = ready_chains()
        entries = [{"key": chain.key, **entry_of(chain)} for chain in known]
        rows = [(chain.key, str(len(chain.steps)), chain.title, chain.about) for chain in known]
        print_entries(
            settings.json, "chains", entries, table(("key", "steps", "title", "what it does"), rows)
        )
        return DONE
    chain = chain_named(settings.name)
    if settings.out is not None:
        check_place(settings.out)
        save_chain(chain, settings.out)
    text = "\n".join([f"{chain.title}: {chain.about}", *chain.text.split("; ")])
    if settings.out is not None:
        text = f"{settings.out}: {chain.title or settings.name}, {len(chain.steps)} steps"
    print_one(settings.json, {"format": FORMAT, "version": VERSION, **entry_of(chain)}, text)
    return DONE


@dataclass(frozen=True, kw_only=True)
class DevicesSettings(Settings):
    """What `devices` takes."""

    about = (
        "The CUDA simulator is a device too: it runs what a GPU would run, checks every "
        "access and finds races, without a GPU. Its times mean nothing."
    )
    examples = ("", "--json", "--limits")
    limits: bool = option(
        "--limits  what each device does per second at most, beside the theoretical value; measured where it "
        "has not been, which takes 2 s a device",
        False,
    )
    measure: bool = option("--measure  as --limits, and measure again what was measured before", False)


def run_devices(settings: DevicesSettings) -> int:
    """List every device, with the reason where one is unavailable; return the exit status."""
    from engine.device import device_list

    devices = device_list.listed_devices()
    wants_limits = settings.limits or settings.measure
    limits = {device.key: _limits(device, settings.measure) for device in devices} if wants_limits else {}
    added = {key: {"limits_per_second": found and asdict(found)} for key, found in limits.items()}
    entries = [device.as_json() | added.get(device.key, {}) for device in devices]
    lines = []
    for device in devices:
        state = "ready" if device.available else f"unavailable. {device.reason}"
        lines.append(f"{device.key:<10} {device.title}: {state}")
        lines += [f"{'':<10} {name}: {value}" for name, value in device.facts.items()]
        if (found := limits.get(device.key)) is not None:
            lines.append(_in_words(found))
    print_entries(settings.json, "devices", entries, "\n".join(lines))
    return DONE


def _limits(device: "DeviceInfo", again: bool) -> "DeviceLimits | None":
    """Return the limits of a device, kept or measured now; None for what is not there or only simulated."""

    def report(progress: "Progress") -> None:
        log(f"{device.key}: {progress.stage}")

    # Most calls ask for none.
    from engine.explain.device_limits import KeptLimits, MeasureLimits
    from engine.host.request import answer

    if not (device.available and device.times_mean_speed):
        return None
    found: DeviceLimits | None = None if again else answer(KeptLimits(device.key), report)
    try:
        return found or answer(MeasureLimits(device.key), report)
    except DeviceUnavailable as error:
        log(str(error))
        return None


def _in_words(limits: "DeviceLimits") -> str:
    from engine.explain.device_limits import left_out_words, limit_name

    rows = []
    for name, limit in limits.rates():
        stated = limit.theoretical
        share = ("-", "-") if stated is None else (_giga(stated), f"{100 * limit.measured / stated:.0f} %")
        rows.append((limit_name(name), _giga(limit.measured), *share))
    header = "per second, in thousand millions", "measured", "theoretical", "share"
    lines = table(header, rows, right=(1, 2, 3)).splitlines()
    if limits.vector_bits:
        lines.append(f"vectors of {limits.vector_bits} bits on {limits.cores} cores")
    if left_out := left_out_words(limits):
        lines.append(left_out)
    return "\n".join(f"{'':<10} {line}" for line in lines)


def _giga(value: float) -> str:
    # Numbers of three to six digits; calls and launches are some millions at most.
    return f"{value / 1e9:,.1f}" if value >= 1e8 else f"{value / 1e9:.2g}"
