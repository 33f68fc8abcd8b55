"""Sessions as files of JSON Lines: one section a line, so that a file that was cut opens up to there.

A section, a setting or a value that is not known here, as from a newer version, is left out and said in a
sentence. The picture is only named; masks are in the file, with anchor, offset and name. What takes long to
import is imported here, so this module is imported when the first session is read or written. No Qt in here.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from engine import __version__
from engine.errors import EngineError, FileReadError
from engine.files.atomic_write import atomic_write
from engine.files.reading import json_object, read_bytes, text_of_bytes
from engine.geometry.block import Block
from engine.geometry.block_list import EVERY, MOST_BLOCKS, every_block
from engine.geometry.range_modes import RANGE_MODES
from engine.mask.json_form import mask_from_values, mask_values
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.results.text_forms import strict
from engine.tasks.read_results import result_from_json
from engine.verify.regions import Region
from engine.work.filtering.problem import RESULT_TYPES
from engine.work.operations.table import operation_named
from engine.work.picture_problem import MAX_SIDE
from gui.explore.chain.chain_steps import MOST_STEPS
from gui.explore.session import KeptRun, Session
from gui.explore.state import COMBINE, FIRST_ID, PICTURE, PictureSource, Settings, State, Step
from gui.strict_json import text_of

FORMAT = "haloscope-session"
VERSION = 2
SUFFIX = ".haloscope"
# A thousand results with every sample have 3 MB.
LARGEST_BYTES = 64 << 20
# What damaged values raise where they are used.
_FAULTS = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
_REMEDY = "Choose another file, or save the session again."
_UNKNOWN = "is not known to this version of Haloscope and was left out"

Table = dict[str, Any]
_Side = Annotated[int, msgspec.Meta(ge=1, le=1024)]
_Block = tuple[_Side, _Side]
_Words = Annotated[list[str], msgspec.Meta(max_length=MOST_BLOCKS)]
_TYPES: dict[str, Any] = get_type_hints(Settings) | {
    "block": _Block | None,
    "range_mode": Literal[tuple(RANGE_MODES)],
    "result_type": Literal[RESULT_TYPES],
    "blocks": Annotated[list[_Block], msgspec.Meta(max_length=MOST_BLOCKS)],
    "kernels": _Words,
    "parameters": dict[str, Any],
}
_COMBINED = {
    "how": Literal["add", "subtract", "magnitude", "maximum", "blend"],
    "weight": Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)],
}
# What runs of one problem differ in.
_OF_EACH_RUN = ("variant", "block", "device", "layout")


class SessionError(EngineError):
    """A file cannot be opened as a session, not even in part."""


def save_session(path: Path, session: Session) -> None:
    """Write a session; raise FileWriteError where the file cannot be written."""
    atomic_write(path, encoded(session))


def encoded(session: Session) -> bytes:
    """Return a session as its file has it."""
    state = session.state
    lines: list[Table] = [
        {"section": "header", "format": FORMAT, "version": VERSION, "program": __version__},
        {"section": "picture", "digest": session.digest} | _source_table(state.source),
    ]
    if state.title:
        lines.append({"section": "chain", "title": state.title})
    for number, step in enumerate(state.steps):
        lines.append({"section": "step", "selected": number == state.selected} | _step_table(step))
    lines.append({"section": "view", **session.view})
    lines += [{"section": "page", "key": key, "part": part} for key, part in session.pages.items()]
    problems: list[tuple[Step, PictureSource | None]] = []
    for run in session.runs:
        table: Table = {"section": "result", "result": run.result.as_json()}
        table |= {"note": run.note} if run.note else {}
        table |= {"pinned": True} if run.is_pinned else {}
        if run.step is not None:
            default = Settings()
            common = run.step.with_settings(**{name: getattr(default, name) for name in _OF_EACH_RUN})
            if (common, run.source) not in problems:
                problems.append((common, run.source))
                begins = {"section": "problem", "number": len(problems) - 1}
                lines.append(begins | {"picture": _source_table(run.source)} | _step_table(common))
            settings = {name: _plain(getattr(run.step.settings, name)) for name in _OF_EACH_RUN}
            table |= {"problem": problems.index((common, run.source)), "settings": settings}
        lines.append(table)
    lines.append({"section": "end"})
    return "".join(json.dumps(strict(line), allow_nan=False) + "\n" for line in lines).encode()


def load_session(path: Path) -> Session:
    """Read a session as far as it can be read; a relative path is taken from the session's folder.

    Raises SessionError where it cannot be read at all.
    """
    what = f"{path.name} cannot be opened as a session"
    try:
        return _Reader(path).session(read_bytes(path, LARGEST_BYTES, what, SessionError))
    except SessionError:
        raise
    except EngineError as error:
        raise SessionError(what, error.why, error.remedy) from error
    except _FAULTS as error:
        raise SessionError(what, str(error), _REMEDY) from error


class _Reader:
    """Reads the sections of one file, and notes what is left out."""

    def __init__(self, path: Path) -> None:
        self._name, self._folder = path.name, path.parent
        self._notes: dict[str, int] = {}
        self._steps: list[Step] = []
        self._selected = 0
        self._title = ""
        self._source: PictureSource | None = None
        self._digest = ""
        self._view: Table = {}
        self._pages: Table = {}
        self._problems: dict[int, tuple[Step, PictureSource | None]] = {}
        self._runs: list[KeptRun] = []
        self._has_ended = False

    def session(self, data: bytes) -> Session:
        """Return the session that is in the bytes of a file."""
        lines = data.splitlines()
        header = _header(lines[0]) if lines else None
        if header is None:
            # Files of before 0.5 are one JSON object.
            self._take_old(_object(data))
        else:
            if header.get("version") != VERSION:
                self._note("It was saved by another version of Haloscope.")
            for number, line in enumerate(lines[1:], start=2):
                is_cut = number == len(lines) and not data.endswith(b"\n")
                self._take_line(number, line, is_cut=is_cut)
            if not self._has_ended:
                self._note("It ends early: what followed is missing.")
        if not self._steps:
            self._steps.append(Step.of(Mask([[1.0]])))
            self._note("It has no mask and no operation: the mask is a single 1.")
        state = State(self._connected(), self._selected, self._source, self._title)
        notes = [words if times == 1 else f"{words} ({times} times)" for words, times in self._notes.items()]
        return Session(state, tuple(self._runs), self._digest, self._view, self._pages, tuple(notes))

    def _connected(self) -> tuple[Step, ...]:
        """Return the steps, each with an id of its own, reading what is before it."""
        known, steps = {PICTURE, ""}, []
        for at, step in enumerate(self._steps[:MOST_STEPS], start=1):
            id_ = (
                step.id
                if step.id not in known
                else next(
                    name for number in range(at, 2 * MOST_STEPS + 1) if (name := f"s{number}") not in known
                )
            )
            reads = {name: getattr(step, name) for name in ("input", "second")}
            for name in (name for name, read in reads.items() if read not in known):
                self._note(
                    f"A step read {reads[name][:40]!r}, which is not before it: it reads the picture now."
                )
                reads[name] = PICTURE
            steps.append(replace(step, id=id_, **reads))
            known.add(id_)
        if len(self._steps) > MOST_STEPS:
            self._note(f"It has {len(self._steps)} steps; those after the first {MOST_STEPS} were left out.")
            self._selected = min(self._selected, MOST_STEPS - 1)
        return tuple(steps)

    def _note(self, words: str) -> None:
        self._notes[words] = self._notes.get(words, 0) + 1

    def _take_line(self, number: int, line: bytes, *, is_cut: bool) -> None:
        try:
            table = _object(line)
        except FileReadError:
            # That it is cut, the missing end says.
            if not is_cut:
                self._note(f"Line {number} is damaged and was left out.")
            return
        section = table.pop("section", None)
        take = _SECTIONS.get(section) if isinstance(section, str) else None
        if take is None:
            self._note(f"The part {str(section)[:40]!r} {_UNKNOWN}.")
            return
        try:
            take(self, table)
        except (EngineError, *_FAULTS) as error:
            why = error.why if isinstance(error, EngineError) else str(error).partition("\n")[0]
            self._note(f"The part '{section}' in line {number} was left out: {why.rstrip('.')}.")

    def _take_old(self, document: Table) -> None:
        if document.get("format") != FORMAT:
            raise ValueError(f'its "format" is not "{FORMAT}"')
        if document.get("version") != 1:
            raise ValueError(f"its version is {document.get('version')!r}, and such files have version 1")
        for key in ("picture", "mask", "settings"):
            if not isinstance(document.get(key), dict):
                raise ValueError(f'its "{key}" is missing or not a table')
        self._take_picture(document["picture"])
        step = Step.of(_mask(document["mask"]))
        step = step.with_settings(**self._settings(document["settings"]))
        operation = document.get("operation") or {}
        if not isinstance(operation, dict):
            self._note('Its "operation" is not a table and was left out.')
        elif operation:
            step = self._operation(step, operation.pop("key", None), operation)
        self._steps.append(step)
        pages = document.get("pages", {})
        if isinstance(pages, dict) and all(isinstance(part, dict) for part in pages.values()):
            self._pages = pages
        else:
            self._note('Its "pages" is not a table of tables and was left out.')

    def _take_picture(self, table: Table) -> None:
        self._source, self._digest = self._source_in(table), _text(table, "digest")

    def _source_in(self, table: Table) -> PictureSource | None:
        path, sample = _text(table, "path"), _text(table, "sample")
        place = str((self._folder / path).resolve()) if path else ""
        crop = _crop(table["crop"]) if "crop" in table else None
        return PictureSource(place, "" if path else sample, crop) if path or sample else None

    def _take_step(self, table: Table) -> None:
        if table.pop("selected", False) is True:
            self._selected = len(self._steps)
        self._steps.append(self._step(table))

    def _step(self, table: Table) -> Step:
        """Return the step of a table; what in it is not known has its default."""
        mask = _mask(table.pop("mask")) if "mask" in table else Mask([[1.0]])
        step = Step.of(mask)
        if "title" in table:
            step = replace(step, title=_text(table, "title", pop=True)[:MAX_NAME_CHARACTERS])
        step = replace(
            step,
            id=_text(table, "id", pop=True)[:MAX_NAME_CHARACTERS] or FIRST_ID,
            input=_text(table, "input", pop=True),
            second=_text(table, "second", pop=True) or PICTURE,
            on=table.pop("on", True) is not False,
        )
        kept, own = table.pop("kept", {}), table.pop("settings", {})
        key = table.pop("operation", "")
        for name in table:
            self._note(f'The value "{name[:40]}" of a step {_UNKNOWN}.')
        for operation, settings in _table(kept).items():
            step = self._operation(step, operation, _table(settings))
        return self._operation(step, key, _table(own))

    def _operation(self, step: Step, key: object, settings: Table) -> Step:
        """Return a step with an operation and settings of it; one that is not known leaves it as it was."""
        if not key:
            return step.with_operation("").with_settings(**self._settings(settings))
        if key == COMBINE:
            fields = self._settings(settings)
            own = _combined(fields.pop("parameters", {}))
            return step.with_operation(COMBINE).with_settings(**fields, parameters=own)
        try:
            operation = operation_named(key)
        except EngineError as error:
            self._note(f"The operation {str(key)[:40]!r} was left out: {error.why.rstrip('.')}.")
            return step
        fields = self._settings(settings)
        try:
            parameters = operation.read(fields.get("parameters", {}))
        except EngineError as error:
            self._note(f"The parameters of {operation.key} have their defaults: {error.what}: {error.why}.")
            parameters = operation.read({})
        defaults = operation.read({})
        own = {name: value for name, value in parameters.items() if value != defaults[name]}
        patch = fields.get("patch_path", "")
        place = str((self._folder / patch).resolve()) if patch else ""
        fields |= {"parameters": own, "patch_path": place}
        return step.with_operation(operation.key).with_settings(**fields)

    def _settings(self, table: Table) -> Table:
        """Return the settings of a table that can be used; the others keep their defaults."""
        found: Table = {}
        for name, value in table.items():
            if name not in _TYPES:
                self._note(f'The setting "{name[:40]}" {_UNKNOWN}.')
                continue
            try:
                found[name] = _setting(name, value)
            except (msgspec.ValidationError, ValueError, OverflowError) as error:
                shown = json.dumps(value, allow_nan=False)[:40]
                why = str(error).partition(" - at")[0]
                self._note(f'The setting "{name}" was left out: it is {shown} ({why}).')
        return found

    def _take_chain(self, table: Table) -> None:
        self._title = _text(table, "title")[:MAX_NAME_CHARACTERS]

    def _take_view(self, table: Table) -> None:
        self._view = table

    def _take_page(self, table: Table) -> None:
        self._pages[_text(table, "key")] = _table(table["part"])

    def _take_problem(self, table: Table) -> None:
        number = msgspec.convert(table.pop("number"), int)
        source = self._source_in(_table(table.pop("picture", {})))
        self._problems[number] = self._step(table), source

    def _take_result(self, table: Table) -> None:
        result = result_from_json(table["result"])
        known = self._problems.get(table.get("problem", -1))
        note, is_pinned = _text(table, "note"), table.get("pinned") is True
        if known is None:
            self._runs.append(KeptRun(result, note=note, is_pinned=is_pinned))
            return
        step = known[0].with_settings(**self._settings(_table(table.get("settings", {}))))
        self._runs.append(KeptRun(result, step, known[1], note, is_pinned))

    def _take_end(self, table: Table) -> None:
        self._has_ended = True


_SECTIONS: dict[str, Callable[[_Reader, Table], None]] = {
    "picture": _Reader._take_picture,
    "chain": _Reader._take_chain,
    "step": _Reader._take_step,
    "view": _Reader._take_view,
    "page": _Reader._take_page,
    "problem": _Reader._take_problem,
    "result": _Reader._take_result,
    "end": _Reader._take_end,
}


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


def _source_table(source: PictureSource | None) -> Table:
    if source is None:
        return {}
    crop = {} if source.crop is None else {"crop": list(source.crop[:4])}
    return {"path": source.path, "sample": source.sample} | crop


def _crop(value: object) -> Region:
    ends = msgspec.convert(value, tuple[int, int, int, int])
    region = Region(*ends)
    if min(ends) < 0 or max(ends) > MAX_SIDE or not region.pixels:
        raise ValueError('its "crop" is not top, bottom, left and right of a part')
    return region


def _combined(parameters: Table) -> Table:
    """Return how two results are combined; a ValueError says why not."""
    return {
        name: msgspec.convert(value, _COMBINED[name])
        for name, value in parameters.items()
        if name in _COMBINED
    }


def _step_table(step: Step) -> Table:
    # What a step has beside others: a step alone has none of it.
    usual = {"id": FIRST_ID, "input": "", "second": PICTURE, "on": True}
    place = {name: getattr(step, name) for name in usual if getattr(step, name) != usual[name]}
    return place | {
        "operation": step.operation,
        "title": step.title,
        "mask": mask_values(step.mask),
        "settings": {name: _plain(getattr(step.settings, name)) for name in _TYPES},
        "kept": {
            key: {name: _plain(getattr(settings, name)) for name in _TYPES}
            for key, settings in step.kept.items()
        },
    }


def _mask(table: object) -> Mask:
    mask = _table(table)
    name = _text(mask, "name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f'its "name" has more than {MAX_NAME_CHARACTERS} characters')
    return mask_from_values(mask, name)


def _table(value: object) -> Table:
    if not isinstance(value, dict):
        raise ValueError("it is not a table")
    return value


def _text(table: Table, key: str, *, pop: bool = False) -> str:
    try:
        return text_of(table.pop(key, "") if pop else table.get(key, ""))
    except ValueError as error:
        raise ValueError(f'its "{key}" {error}') from error


def _setting(name: str, value: object) -> Any:
    """Return a setting of JSON as the state has it; a ValidationError or a ValueError says why not."""
    if name == "blocks" and value == EVERY:
        return every_block()
    found = msgspec.convert(value, _TYPES[name])
    if name == "block":
        return found and Block(*found)
    if name == "blocks":
        return tuple(dict.fromkeys(Block(*sides) for sides in found))
    if name == "kernels":
        return tuple(dict.fromkeys(map(text_of, found)))
    return text_of(found) if type(found) is str else found


def _plain(value: object) -> object:
    """Return a setting as JSON has it."""
    if value == every_block():
        return EVERY
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return [value.x, value.y] if isinstance(value, Block) else value
