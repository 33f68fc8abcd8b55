"""Every operation, in teaching order, and its variants. No Numba in here."""

from collections.abc import Iterable, Iterator, Mapping

from engine.device.launches import DeviceKind
from engine.errors import BadValue, UnknownName, did_you_mean
from engine.files.reading import Json
from engine.run.variant import Registered, declared_in, named
from engine.work.operations.contract import Operation, OperationVariant


class Operations(Mapping[str, Operation]):
    """Operations by their keys, each imported when it is first asked for.

    `files` names, for each key, the file of `engine.variants.operations` that has it, under its key in
    capitals.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def __getitem__(self, key: str) -> Operation:
        found: Operation = declared_in(f"operations.{self.files[key]}", key.upper().replace("-", "_"))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


OPERATIONS = Operations(
    {
        "negative": "negative",
        "threshold": "threshold",
        "desaturate": "desaturate",
        "hue-shift": "hue_shift",
        "histogram": "histogram",
        "equalise": "equalise",
        "gradient-magnitude": "gradient_magnitude",
        "median": "median",
        "minimum": "extremes",
        "maximum": "extremes",
        "morphology": "extremes",
        "bilateral": "bilateral",
        "find-patch": "find_patch",
        "compress": "compress",
    }
)


class OperationVariants(Registered[OperationVariant]):
    """The variants of all operations, those for the CPU first."""

    def on(self, kind: str) -> tuple[OperationVariant, ...]:
        """Return those for a kind of device."""
        return tuple(one for known in OPERATIONS.values() for one in known.variants if one.device == kind)

    def __iter__(self) -> Iterator[OperationVariant]:
        return (one for kind in DeviceKind for one in self.on(kind))

    def __len__(self) -> int:
        return sum(len(known.variants) for known in OPERATIONS.values())


OPERATION_VARIANTS = OperationVariants()


def operation_variant(key: str, operation: str) -> OperationVariant:
    """Return the variant of an operation of that key; an `UnknownName` names all of them."""
    known = operation_named(operation).variants
    return named(key, known, ("auto",), f"no variant of {operation} is called that", alike=0.5)


def operation_named(key: object) -> Operation:
    """Return the operation of that key; an `UnknownName` names the nearest one and all of them."""
    found = OPERATIONS.get(key) if isinstance(key, str) else None
    if found is None:
        remedy = f"{did_you_mean(str(key), OPERATIONS)}Choose one of {', '.join(OPERATIONS)}."
        raise UnknownName(f"operation '{key}'", "there is no such operation", remedy)
    return found


def parameters_from(texts: Iterable[str]) -> Json:
    """Read texts such as "size=5" or "left=10,top=20"; of a parameter that is there twice the last counts.

    A `BadValue` says why a text is not a parameter.
    """
    found: Json = {}
    for text in texts:
        for part in text.split(","):
            name, equals, value = part.strip().partition("=")
            if not (name and equals and value.strip()):
                raise BadValue(f"--set '{text}'", "it is not name=value", "Write it as size=5.")
            found[name.strip()] = value.strip()
    return found
