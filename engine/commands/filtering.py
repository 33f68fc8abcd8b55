"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from engine.commands.arguments import Settings, group, option, required
from engine.commands.output import report_interrupt
from engine.commands.picture_opening import Opening
from engine.commands.step_options import SavingOptions, StepOptions
from engine.device_info import ALL_GPUS
from engine.errors import BadValue
from engine.files.atomic_write import check_other_file, check_place
from engine.image.format import Form
from engine.image.formats import in_words, offered_suffixes, titles
from engine.image.save import saved_format


@dataclass(frozen=True, kw_only=True)
class FilterSettings(Settings):
    """What `filter` takes."""

    about = (
        "The result is verified against a float64 oracle before it is saved. Depth, colour profile and alpha "
        "of the picture are kept. The mask is correlated with the picture; --flip convolves. --operation "
        "computes something else: OUT is then the picture, the plot of a histogram, or the picture with the "
        "best match marked. `batch` does many files."
    )
    examples = (
        "photo.jpg edges.png --mask sobel-x --range absolute",
        "photo.jpg soft.jpg --mask gaussian:9:1.5 --border mirror",
        'photo.png out.tif --mask "1 0 -1; 2 0 -2; 1 0 -1" --depth float32',
        "photo.png out.png --mask my-mask.json --variant tiled --block 32x8 --flip",
        "photo.png calm.png --operation median --set size=5",
        "photo.png found.png --operation find-patch --patch eye.png --json",
        "photo.png edges.png --chain sobel-magnitude",
        "small.png out.png --mask box-3 --variant naive --device simulator --json",
    )

    input: str = required(lambda: f"IN  picture: {titles()} (first frame)", str)
    output: str = required(
        lambda: f"OUT  file to write: {in_words(offered_suffixes())}; it appears whole or not at all", str
    )
    overwrite: bool = option(
        "--overwrite  let OUT be IN itself, which is then lost (another OUT that exists is always replaced)",
        False,
    )
    explain: bool = option(
        "--explain  also say why it takes its time; `devices --limits` measures what that needs", False
    )
    steps: StepOptions = group(StepOptions)
    saving: SavingOptions = group(SavingOptions)

    def __post_init__(self) -> None:
        """Refuse options that do not belong together."""
        self.steps.check(self.saving)


def run(settings: FilterSettings) -> int:
    """Filter a file; return the exit status."""
    with report_interrupt([settings.output]):
        return _filter(settings)


def _filter(settings: FilterSettings) -> int:
    output, request = settings.output, settings.steps.request
    opening = Opening(request, settings.saving)
    if opening.is_in_parts(settings.input, output):
        # With --overwrite too: it is read while the result is written.
        check_other_file(output, settings.input)
        if settings.explain:
            why = "its kernel is not timed alone"
            raise BadValue("--explain with a picture in bands", why, "Leave it out, or use `explain`.")
        from engine.commands.filtered_picture import Wanted, save_in_bands

        wanted = Wanted(settings.input, output, settings.explain, settings.json)
        return save_in_bands(wanted, settings.steps, settings.saving)
    if settings.explain and request.device == ALL_GPUS:
        why = "the limits of one device are the reason for a time"
        raise BadValue(f"--explain with --device {ALL_GPUS}", why, "Name one GPU, such as cuda:0.")
    check_place(output)
    if not settings.overwrite:
        remedy = "Give the result another name, or --overwrite to lose the picture."
        check_other_file(output, settings.input, remedy)
    for what, source in settings.steps.files:
        check_other_file(output, source, what=what)
    saved_as = saved_format(output)
    forms: Future[Form] = Future()

    def on_form(form: Form) -> None:
        if not forms.done():
            forms.set_result(form)

    with ThreadPoolExecutor(1, thread_name_prefix="filter-open") as opener:
        opened = opener.submit(opening.open, settings.input, output, saved_as, on_form=on_form)
        # One that cannot be opened may have no form.
        opened.add_done_callback(lambda _: forms.cancel())
        # While the picture is decoded: both take 65 ms, a fifth of the whole command.
        from engine.commands.filtered_picture import Wanted, ready, save

        how = ready(settings.steps, settings.saving, forms)
    wanted = Wanted(settings.input, output, settings.explain, settings.json)
    return save(wanted, how, opened.result(), saved_as)
