"""Sessions as files of JSON Lines: one section a line, so that a file that was cut opens up to there.

A section that is damaged, or is not known here, as from a newer version, is left out with a sentence on it;
so is a setting of a step. The picture is only named; masks are in the file, with anchor, offset and name.
What takes long to import is imported here, so this module is imported when the first session is read or
written. No Qt in here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from engine import __version__
from engine.errors import EngineError, FileReadError
from engine.files.atomic_write import atomic_write
from engine.files.reading import json_object, read_bytes, text_of_bytes
from engine.geometry.block import EVERY, MOST_BLOCKS, Block, every_block
from engine.geometry.border import RANGE_MODES
from engine.mask.json_form import mask_from_values, mask_values
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.results.text_forms import strict
from engine.tasks.read_results import result_from_json
from engine.verify.verification import Region
from engine.work.operations.contract import operation_named
from engine.work.problem import MAX_SIDE, RESULT_TYPES
from engine.work.steps import MOST_STEPS, PICTURE
from gui.explore.jobs import comparable_of_result
from gui.explore.results.results_model import RunWithJob
from gui.explore.sessions import Session, View
from gui.explore.state import COMBINE, FIRST_ID, EditedStep, PictureSource, State, StepSettings, values_of
from gui.typed_json import Reading, Text

FORMAT = "haloscope-session"
VERSION = 2
LARGEST_BYTES = 64 << 20  # a thousand results with every sample have 3 MB
# What damaged values raise where they are used.
_FAULTS = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
_REMEDY = "Choose another file, or save the session again."

Table = dict[str, Any]
_ONE = Mask([[1.0]])
_Side = Annotated[int, Meta(ge=1, le=1024)]
_Block = tuple[_Side, _Side]
_Edge = Annotated[int, Meta(ge=0, le=MAX_SIDE)]
_SETTINGS: dict[str, Any] = get_type_hints(StepSettings) | {
    "block": _Block | None,
    "range_mode": Literal[tuple(RANGE_MODES)],
    "result_type": Literal[RESULT_TYPES],
    "blocks": Annotated[list[_Block], Meta(max_length=MOST_BLOCKS)] | Literal[EVERY],
    "parameters": dict[str, Any],
}
_COMBINED = {
    "how": Literal["add", "subtract", "magnitude", "maximum", "blend"],
    "weight": Annotated[float, Meta(ge=-100.0, le=100.0)],
}
_VIEW = get_type_hints(View, include_extras=True)
# What runs of one problem differ in.
_OF_EACH_RUN = ("variant", "block", "device", "layout")
_LINKS = ("id", "input", "second", "on")


class SessionError(EngineError):
    """A file cannot be opened as a session, not even in part."""


class _Section(Struct, tag_field="section", tag=lambda name: name[1:].lower(), omit_defaults=True):
    """One line of the file."""


class _Picture(_Section):
    path: Text = ""
    sample: Text = ""
    crop: tuple[_Edge, _Edge, _Edge, _Edge] | None = None
    digest: Text = ""

    @classmethod
    def of(cls, source: PictureSource | None, digest: str = "") -> Self:
        """Return a source as the file has it."""
        source = source or PictureSource()
        return cls(source.path, source.sample, source.crop and source.crop[:4], digest)

    def source(self, folder: Path) -> PictureSource | None:
        """Return it again; a relative path is taken from the session's folder."""
        place = str((folder / self.path).resolve()) if self.path else ""
        crop = self.crop and Region(*self.crop)
        if crop and not crop.pixels:
            raise ValueError('its "crop" is not top, bottom, left and right of a part')
        return PictureSource(place, "" if place else self.sample, crop) if place or self.sample else None


class _Chain(_Section):
    title: Text


class _Step(_Section, kw_only=True):
    mask: Table | UnsetType = UNSET
    operation: Text = ""
    title: Text | UnsetType = UNSET
    settings: Table = {}
    kept: dict[str, Table] = {}
    id: Text = FIRST_ID
    input: Text = ""
    second: Text = PICTURE
    on: bool = True
    selected: bool = False

    @classmethod
    def of(cls, step: EditedStep, **more: Any) -> Self:
        """Return a step as the file has it."""
        same = values_of(("operation", "title", *_LINKS), step)
        kept = {key: _plain(settings) for key, settings in step.kept.items()}
        return cls(mask=mask_values(step.mask), settings=_plain(step.settings), kept=kept, **same, **more)


class _Problem(_Step, kw_only=True):
    """The step and the picture that results are of, which name it by its number."""

    number: int
    picture: _Picture = msgspec.field(default_factory=_Picture)


class _Result(_Section, kw_only=True):
    result: Table
    problem: int = -1
    settings: Table = {}
    note: Text = ""
    pinned: bool = False


class _Page(_Section):
    key: Text
    part: Table


class _End(_Section):
    """All of the file is there."""


_SECTIONS: tuple[type[_Section], ...] = (_Picture, _Chain, _Step, _Page, _Problem, _Result, _End)
_KINDS = {kind.__struct_config__.tag: kind for kind in _SECTIONS}


def save_session(path: Path, session: Session) -> None:
    """Write a session; raise FileWriteError where the file cannot be written."""
    atomic_write(path, encoded(session))


def encoded(session: Session) -> bytes:
    """Return a session as its file has it."""
    state, results, problems = session.state, list[Struct](), list[tuple[EditedStep, PictureSource | None]]()
    for run in session.runs:
        of: Table = {}
        if run.step is not None:
            default = StepSettings()
            common = run.step.with_settings(**values_of(_OF_EACH_RUN, default)), run.source
            if common not in problems:
                problems.append(common)
                number = len(problems) - 1
                results.append(_Problem.of(common[0], number=number, picture=_Picture.of(run.source)))
            of = {"problem": problems.index(common), "settings": _plain(run.step.settings, _OF_EACH_RUN)}
        results.append(_Result(result=run.result.as_json(), note=run.note, pinned=run.is_pinned, **of))
    sections = [
        _Picture.of(state.source, session.digest),
        *([_Chain(state.title)] if state.title else []),
        *(_Step.of(step, selected=step is state.step) for step in state.steps),
        session.view,
        *(_Page(key, dict(part)) for key, part in session.pages.items()),
        *results,
        _End(),
    ]
    header = {"section": "header", "format": FORMAT, "version": VERSION, "program": __version__}
    lines = header, *map(msgspec.to_builtins, sections)
    return "".join(json.dumps(strict(line), allow_nan=False) + "\n" for line in lines).encode()


def load_session(path: Path) -> Session:
    """Read a session as far as it can be read, paths from its folder; raise SessionError if not at all."""
    what = f"{path.name} cannot be opened as a session"
    try:
        return _Reader(path.parent).session(read_bytes(path, LARGEST_BYTES, what, SessionError))
    except SessionError:
        raise
    except EngineError as error:
        raise SessionError(what, error.why, error.remedy) from error
    except _FAULTS as error:
        raise SessionError(what, str(error), _REMEDY) from error


class _Reader:
    """Reads the sections of one file, and notes what is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._reading, self._state = folder, Reading(), State(())
        self._digest, self._view = "", View()
        self._pages: Table = {}
        self._problems: dict[int, tuple[EditedStep, PictureSource | None]] = {}
        self._runs: list[RunWithJob] = []
        self._has_ended = False

    def session(self, data: bytes) -> Session:
        """Return the session that is in the bytes of a file."""
        lines = data.splitlines()
        header = _header(lines[0]) if lines else None
        if header is None:
            for table in _sections_of_version_1(_object(data)):
                self._take(table, f"The part {table['section']!r}")
        else:
            if header.get("version") != VERSION:
                self._reading.note("It was saved by another version of Haloscope.")
            for number, line in enumerate(lines[1:], start=2):
                self._take_line(number, line, is_cut=number == len(lines) and not data.endswith(b"\n"))
            if not self._has_ended:
                self._reading.note("It ends early: what followed is missing.")
        if not self._state.steps:
            self._state = replace(self._state, steps=(EditedStep.of(_ONE),))
            self._reading.note("It has no mask and no operation: the mask is a single 1.")
        state, notes = self._connected(), self._reading.notes
        return Session(state, tuple(self._runs), self._digest, self._view, self._pages, notes)

    def _connected(self) -> State:
        """Return the state whose steps have each an id of its own, and read what is before it."""
        state, known, steps = self._state, {PICTURE, ""}, []
        for at, step in enumerate(state.steps[:MOST_STEPS], start=1):
            free = (f"s{number}" for number in range(at, 2 * MOST_STEPS + 1) if f"s{number}" not in known)
            id_ = next(free) if step.id in known else step.id
            reads = values_of(("input", "second"), step)
            for name in (name for name, read in reads.items() if read not in known):
                what = f"A step read {reads[name][:40]!r}, which is not before it"
                self._reading.note(f"{what}: it reads the picture now.")
                reads[name] = PICTURE
            steps.append(replace(step, id=id_, **reads))
            known.add(id_)
        if len(state.steps) > MOST_STEPS:
            left = f"those after the first {MOST_STEPS} were left out"
            self._reading.note(f"It has {len(state.steps)} steps; {left}.")
        return replace(state, steps=tuple(steps), selected=min(state.selected, MOST_STEPS - 1))

    def _take_line(self, number: int, line: bytes, *, is_cut: bool) -> None:
        try:
            table = _object(line)
        except FileReadError:
            # That it is cut, the missing end says.
            if not is_cut:
                self._reading.note(f"Line {number} is damaged and was left out.")
            return
        self._take(table, f"part {str(table.get('section'))[:40]!r} in line {number}")

    def _take(self, table: Table, what: str) -> None:
        """Take a section; one that is damaged is left out."""
        section = str(table.get("section"))
        if section == "view":
            kept = {name: value for name, value in table.items() if name != "section"}
            self._view = View(**self._reading.fields(kept, _VIEW, " of the view"))
            return
        if (kind := _KINDS.get(section)) is None:
            self._reading.leave_out(what, "it is not known to this version of Haloscope")
            return
        for name in table.keys() - {"section", *kind.__struct_fields__}:
            self._reading.leave_out(f'"{name[:40]}" of a {section}', "it is not known to this version")
        try:
            self._keep(msgspec.convert(table, kind))
        except (EngineError, *_FAULTS) as error:
            self._reading.leave_out(what, error)

    def _keep(self, section: _Section) -> None:
        state = self._state
        match section:
            case _Picture():
                self._state = replace(state, source=section.source(self._folder))
                self._digest = section.digest
            case _Chain():
                self._state = replace(state, title=section.title[:MAX_NAME_CHARACTERS])
            case _Problem():
                self._problems[section.number] = self._step(section), section.picture.source(self._folder)
            case _Step():
                selected = len(state.steps) if section.selected else state.selected
                steps = (*state.steps, self._step(section))
                self._state = replace(state, steps=steps, selected=selected)
            case _Page():
                self._pages[section.key] = section.part
            case _Result():
                self._keep_result(section)
            case _End():
                self._has_ended = True

    def _step(self, section: _Step) -> EditedStep:
        """Return the step of a section; what in its settings is not known has its default."""
        step, links = (
            EditedStep.of(_ONE if section.mask is UNSET else _mask(section.mask)),
            values_of(_LINKS, section),
        )
        links |= {"id": section.id[:MAX_NAME_CHARACTERS] or FIRST_ID, "second": section.second or PICTURE}
        title = step.title if section.title is UNSET else section.title[:MAX_NAME_CHARACTERS]
        step = replace(step, title=title, **links)
        for operation, settings in section.kept.items():
            step = self._operation(step, operation, settings)
        return self._operation(step, section.operation, section.settings)

    def _operation(self, step: EditedStep, key: str, settings: Table) -> EditedStep:
        """Return a step with an operation and settings of it; one that is not known leaves it as it was."""
        fields = self._settings(settings)
        own = fields.pop("parameters", {})
        if key == COMBINE:
            fields["parameters"] = self._reading.fields(own, _COMBINED, " of a combination")
        elif key:
            try:
                operation = operation_named(key)
            except EngineError as error:
                self._reading.leave_out(f"operation {key[:40]!r}", error)
                return step
            key, parameters = operation.key, (defaults := operation.read({}))
            try:
                parameters = operation.read(own)
            except EngineError as error:
                self._reading.leave_out(f"parameters of {key}", f"{error.what}: {error.why}")
            patch = fields.get("patch_path", "")
            fields["patch_path"] = str((self._folder / patch).resolve()) if patch else ""
            fields["parameters"] = {name: one for name, one in parameters.items() if one != defaults[name]}
        return step.with_operation(key).with_settings(**fields)

    def _settings(self, table: Table) -> Table:
        """Return the settings of a table that can be used; the others keep their defaults."""
        # Earlier versions wrote which kernels Run all ran, nearly always none.
        known = {name: value for name, value in table.items() if (name, value) != ("kernels", [])}
        settings = self._reading.fields(known, _SETTINGS)
        if settings.get("block"):
            settings["block"] = Block(*settings["block"])
        if settings.get("blocks") == EVERY:
            settings["blocks"] = every_block()
        elif "blocks" in settings:
            settings["blocks"] = tuple(dict.fromkeys(Block(*one) for one in settings["blocks"]))
        return settings

    def _keep_result(self, kept: _Result) -> None:
        result = result_from_json(kept.result)
        step, source = self._problems.get(kept.problem, (None, None))
        step = step and step.with_settings(**self._settings(kept.settings))
        problem = comparable_of_result(result, step.settings.patch_path if step else "")
        self._runs.append(RunWithJob(result, problem, kept.note, kept.pinned, step=step, source=source))


def _object(text: bytes) -> Table:
    what = "The session cannot be read"
    return json_object(text_of_bytes(text, what), what)


def _header(line: bytes) -> Table | None:
    """Return the first line of a file of this form; None where it is another one."""
    try:
        table = _object(line)
    except FileReadError:
        return None
    return table if table.get("section") == "header" and table.get("format") == FORMAT else None


def _sections_of_version_1(document: Table) -> list[Table]:
    """Return the sections of a file of 0.1 or 0.2, which is one object; a ValueError says why it is none."""
    if document.get("format") != FORMAT:
        raise ValueError(f'its "format" is not "{FORMAT}"')
    if document.get("version") != 1:
        raise ValueError(f"its version is {document.get('version')!r}, and such files have version 1")
    for key in ("picture", "mask", "settings"):
        if not isinstance(document.get(key), dict):
            raise ValueError(f'its "{key}" is missing or not a table')
    step = {"section": "step", "mask": document["mask"], "kept": {"": document["settings"]}}
    operation, pages = document.get("operation"), document.get("pages")
    if isinstance(operation, dict):
        step |= {"operation": operation.pop("key", ""), "settings": operation}
    of_pages = pages.items() if isinstance(pages, dict) else ()
    parts = [{"section": "page", "key": key, "part": part} for key, part in of_pages]
    return [document["picture"] | {"section": "picture"}, step, *parts]


def _mask(table: Table) -> Mask:
    return mask_from_values(table, msgspec.convert(table.get("name", ""), Text))


def _plain(settings: StepSettings, names: Iterable[str] = tuple(_SETTINGS)) -> Table:
    """Return settings as JSON has them."""
    return {name: _value(getattr(settings, name)) for name in names}


def _value(value: object) -> object:
    if value == every_block():
        return EVERY
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return [value.x, value.y] if isinstance(value, Block) else value
