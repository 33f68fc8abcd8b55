"""Chains as JSON: files, and the ready ones of `assets/chains/chains.json`. No Numba in here.

`{"format": "haloscope-chain", "version": 1, "title": "", "about": "", "range": "clip", "steps": [...]}`; a
step is one of

    {"id": "x", "mask": "sobel-x", "input": "picture", "border": "mirror"}
    {"id": "calm", "operation": "median", "settings": {"size": 5}}
    {"id": "edges", "combine": "magnitude", "input": "x", "second": "y"}

A mask is what `--mask` takes, or an object as mask files have it.
"""

import json
import os
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Any, get_type_hints

import msgspec
from msgspec import structs

from engine.device_info import AUTO
from engine.errors import BadValue, EngineError, UnknownName, did_you_mean
from engine.files.atomic_write import atomic_write
from engine.files.reading import ASSETS, Json, faults_of_asset, json_object, read_json, read_text
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.json_form import document_of, json_in_lines, mask_from_json
from engine.mask.presets import resolve_mask
from engine.work.problem import Parameters
from engine.work.steps import AnyStep, Chain, CombineStep, MaskStep, OperationStep

FORMAT, VERSION = "haloscope-chain", 1
MOST_BYTES = 1 << 20
READY_FILE = ASSETS / "chains" / "chains.json"

_MASK, _SETTINGS = str | Json, dict[str, bool | int | float | str]
_KINDS: Json = {kind.kind: kind for kind in (MaskStep, OperationStep, CombineStep)}
# How the fields of steps are called in JSON where that is otherwise, and what they are there.
_NAMES = {"how": "combine"}
_FORMS: Json = {"mask": _MASK, "settings": _SETTINGS, "block": str, "border": str}
_EXAMPLES: Json = {
    "id": "x", "input": "picture", "on": False, "variant": AUTO, "block": "32x8", "mask": "sobel-x",
    "border": "mirror", "cval": 0.5, "flip": True, "normalise": True, "operation": "median",
    "settings": {"size": 5}, "combine": "add", "second": "picture", "weight": 0.5,
}  # fmt: skip
# Of each key what it takes, and an example.
_Key = tuple[Any, Any]
_TEXTS: dict[str, _Key] = {"title": (str, "Edges"), "about": (str, "Finds edges."), "range": (str, "clip")}
_WORDS = {
    str: "a text",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    NoneType: "null",
    _MASK: "a text or an object",
    _SETTINGS: "an object of numbers, texts, true and false",
}
_EXAMPLE = 'A step looks like {"id": "x", "mask": "sobel-x"}.'
_WHOLE_EXAMPLE = (
    f'A chain looks like {{"format": "{FORMAT}", "version": {VERSION}, "steps": [{{"mask": "sobel-x"}}]}}; '
    "`python main.py chains unsharp --out mine.json` writes one."
)


@cache
def _keys(kind: str) -> dict[str, _Key]:
    """Return the keys of a kind of step: its fields, those of every step first."""
    types = get_type_hints(_KINDS[kind])
    own = [name for name in _KINDS[kind].__struct_fields__ if name != "written"]
    named = {_NAMES.get(name, name): _FORMS.get(name, types[name]) for name in own}
    return {name: (form, _EXAMPLES[name]) for name, form in named.items()}


def chain_named(text: str) -> Chain:
    """Return the ready chain of a key, or that of a file or of JSON itself; an error names both readings."""
    if text.lstrip()[:1] in ("{", "[", '"') and not os.path.exists(text):
        return chain_from_json(text)
    for chain in ready_chains():
        if chain.key == text:
            return chain
    if os.path.exists(text) or text.endswith(".json") or os.sep in text:
        return load_chain(text)
    keys = [chain.key for chain in ready_chains()]
    why = "there is no ready chain of that name and no such file"
    remedy = f"{did_you_mean(text, keys)}Choose one of {', '.join(keys)}, or a file."
    raise UnknownName(f"chain '{text}'", why, remedy)


@cache
def ready_chains() -> tuple[Chain, ...]:
    """Return the ready chains in their order; raises EngineError where their file is missing or damaged."""
    with faults_of_asset(READY_FILE, "The list of chains"):
        entries = read_json(READY_FILE, MOST_BYTES)["chains"]
        return tuple(chain_from(entry, key=entry.pop("key")) for entry in entries)


def load_chain(path: str | os.PathLike[str]) -> Chain:
    """Return the chain of a file; a BadValue says what is wrong with it, and in which step."""
    what = f"The chain {str(path)!r} cannot be opened"
    return chain_from_json(read_text(path, MOST_BYTES, what, BadValue), what)


def chain_from_json(text: str, what: str = "This is not a chain") -> Chain:
    """Return the chain that JSON describes; a BadValue says what is wrong with it, and in which step."""
    document = json_object(text, what, BadValue, _WHOLE_EXAMPLE)
    if document.get("format") != FORMAT:
        raise BadValue(what, f'its "format" is not "{FORMAT}"', _WHOLE_EXAMPLE)
    if document.get("version") != VERSION or isinstance(document["version"], bool):
        why = f'its "version" is {document.get("version")!r}, and this program reads version {VERSION}'
        raise BadValue(what, why, "Use a newer Haloscope.")
    try:
        # JSON can write one half of a surrogate pair, which no file in UTF-8 holds.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise BadValue(what, "it holds something that is not a character", "Write it anew.") from error
    rest = {name: value for name, value in document.items() if name not in ("format", "version")}
    try:
        return chain_from(rest)
    except EngineError as error:
        why = f"{error.what}: {error.why}" if error.why else error.what
        raise BadValue(what, why, error.remedy) from error


def chain_from(entry: dict[str, object], key: str = "") -> Chain:
    """Return the chain of a JSON object without its format and version."""
    names = (*_TEXTS, "steps")
    for name in (name for name in entry if name not in names):
        raise BadValue(f"the key {name!r}", "a chain has no such key", f"The keys are {', '.join(names)}.")
    steps = entry.get("steps")
    if not isinstance(steps, list):
        raise BadValue('"steps"', "it is not a list", _EXAMPLE)
    texts = {name: _as(entry, name, _TEXTS, f'"{name}"') for name in _TEXTS if name in entry}
    read = tuple(_step(step, number) for number, step in enumerate(steps, start=1))
    chain = Chain(read, key=key, **texts)
    chain.check()
    return chain


def entry_of(chain: Chain) -> Json:
    """Return a chain as JSON has it, without the format and the version."""
    texts = {"title": chain.title, "about": chain.about, "range": chain.range}
    return texts | {"steps": [_entry(step) for step in chain.steps]}


def chain_to_json(chain: Chain) -> str:
    """Return a chain as JSON, a step per line; it reads back to an equal one."""
    return json_in_lines({"format": FORMAT, "version": VERSION} | entry_of(chain), "steps")


def save_chain(chain: Chain, path: str | os.PathLike[str]) -> None:
    """Write a chain to a file, whole or not at all."""
    atomic_write(path, chain_to_json(chain).encode())


def _step(entry: object, number: int) -> AnyStep:
    where = f"step {number}"
    if not isinstance(entry, dict):
        raise BadValue(where, "it is not an object", _EXAMPLE)
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        why = f"it has {' and '.join(kinds)}" if kinds else f"it has none of {', '.join(_KINDS)}"
        raise BadValue(where, f"{why}, and a step is one of them", _EXAMPLE)
    kind = kinds[0]
    if isinstance(entry.get("id"), str):
        where = f"step {number} ({entry['id']})"
    known = _keys(kind)
    for name in entry:
        if name not in known:
            remedy = f"{did_you_mean(name, known)}The keys are {', '.join(known)}."
            raise BadValue(f"{where}, {name!r}", f"a {kind} has no such key", remedy)
    read = {name: _as(entry, name, known, f"{where}, {name!r}") for name in entry}
    read.setdefault("id", f"s{number}")
    try:
        return _made(kind, read)
    except EngineError as error:
        why = f"{error.what}: {error.why}" if error.why else error.what
        raise BadValue(where, why, error.remedy) from error


def _made(kind: str, read: dict[str, object]) -> AnyStep:
    mask = read.get("mask")
    if isinstance(mask, str):
        read |= {"mask": resolve_mask(mask), "written": mask}
    elif mask is not None:
        read["mask"] = mask_from_json(json.dumps(mask, allow_nan=False))
    readers: dict[str, Callable[[Any], object]] = {
        "block": Block.parse,
        "border": Border.named,
        "settings": lambda own: Parameters(own.items()),
    }
    made = {name: readers[name](value) if name in readers else value for name, value in read.items()}
    if kind == CombineStep.kind:
        made = {"second": "", "how": made.pop("combine")} | made
    step: AnyStep = _KINDS[kind](**made)
    return step


def _as(entry: dict[str, object], name: str, known: dict[str, _Key], where: str) -> Any:
    """Return the value of a key, whole numbers as floats where these are wanted; a BadValue for others."""
    wanted, example = known[name]
    try:
        return msgspec.convert(entry[name], wanted)
    except msgspec.ValidationError as error:
        kind: Any = type(entry[name])
        why = f"it is {_WORDS.get(kind, 'a number')}, and should be {_WORDS[wanted]}"
        shown = json.dumps({name: example}, allow_nan=False)[1:-1]
        remedy = f"Write {shown}, for example; docs/chains.md lists the keys."
        raise BadValue(where, why, remedy) from error


def _entry(step: AnyStep) -> dict[str, object]:
    """Return a step as JSON has it, without what is as it would be anyway; the border is always written."""
    values = structs.asdict(step)
    usual = {each.name: each.default for each in structs.fields(step) if each.name not in ("id", "border")}
    if step.kind == MaskStep.kind:
        values["mask"] = values.pop("written") or document_of(values["mask"])
    elif values.get("how") != "blend":
        values.pop("weight", None)
    named: dict[str, object] = {}
    for name, value in values.items():
        if name not in usual or value != usual[name]:
            plain = str(value) if isinstance(value, Block | Border) else value
            named[_NAMES.get(name, name)] = dict(value) if isinstance(value, Parameters) else plain
    first = {name: named[name] for name in ("id", "input", step.kind) if name in named}
    return first | named
