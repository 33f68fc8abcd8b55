"""Settings are read from arguments as their fields say; what is not given has the field's default."""

from dataclasses import dataclass

import pytest

from engine import commands
from engine.commands.arguments import (
    Parser,
    Settings,
    group,
    number,
    operands,
    option,
    read,
    refuse_given,
    required,
    several,
    whole,
)
from engine.commands.benchmark import BenchSettings
from engine.errors import BadValue

COLOURS = ["red"]


@dataclass(frozen=True, kw_only=True)
class Common:
    seed: int = option("--seed N  of {what} (default 0)", 0, whole("--seed", 0, 9))


@dataclass(frozen=True, kw_only=True)
class Toy(Settings):
    about = "In short."

    files: tuple[str, ...] = operands("FILE  what is read")
    out: str = required("--out FILE  where it goes", str)
    sizes: tuple[int, ...] = option(
        "--size, --sizes 3,5  sides", (3,), several("--sizes", whole("--sizes", 1, 9))
    )
    gain: float | None = option("--gain G  factor", None, number("--gain"))
    set: tuple[str, ...] = option("--set NAME=VALUE  a parameter", ())
    check: bool = option("--no-check  leave it", True)
    colour: str = option(lambda: f"--colour C  of {', '.join(COLOURS)}", "red")
    common: Common = group(Common, what="the noise")


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "toy", commands.Command("be a toy", __name__))


def test_that_what_is_not_given_has_its_default():
    settings = read("toy", Toy, ["a", "--out", "b"])
    assert settings == Toy(files=("a",), out="b")
    assert (settings.sizes, settings.gain, settings.set, settings.check) == ((3,), None, (), True)
    assert (settings.json, settings.common) == (False, Common())


def test_that_each_kind_of_field_is_read():
    words = "a --size 5,4,5 b --out c --gain -1.5 --set x=1 --set y=2 --no-check --seed 4 --json -- -d"
    settings = read("toy", Toy, words.split())
    assert settings.files == ("a", "b", "-d")
    assert (settings.sizes, settings.gain, settings.set) == ((5, 4), -1.5, ("x=1", "y=2"))
    assert (settings.check, settings.common.seed, settings.json) == (False, 4, True)


def test_that_what_is_missing_or_cannot_be_read_is_refused():
    for words, says in [
        ("a", "required: --out"),
        ("--out b", "required: FILE"),
        ("a --out b --sizes 3,,4", "a part of the list is empty"),
        ("a --out b --seed 10", "--seed 10: it is not a whole number from 0 to 9"),
    ]:
        with pytest.raises(BadValue) as refused:
            read("toy", Toy, words.split())
        assert says in str(refused.value)


def test_that_an_option_is_refused_only_where_it_changes_something():
    default = read("toy", Toy, ["a", "--out", "b", "--sizes", "3"])
    refuse_given(default, ("sizes", "gain"), "here", "it is for there", "Leave it out.")
    given = read("toy", Toy, ["a", "--out", "b", "--sizes", "4"])
    with pytest.raises(BadValue, match="--size here: it is for there"):
        refuse_given(given, ("sizes",), "here", "it is for there", "Leave it out.")


@pytest.mark.parametrize("word", ["--host", "--host=ana@server", "--host-python"])
def test_that_an_option_that_has_gone_is_refused_with_what_does_it_now(word):
    with pytest.raises(BadValue, match="ssh user@server haloscope toy") as refused:
        read("toy", Toy, ["a", word, "ana@server", "--out", "b"])
    assert refused.value.what == word.partition("=")[0]
    assert read("toy", Toy, ["--out", "b", "--", word]).files == (word,)


def test_that_bench_says_what_measures_on_other_machines():
    with pytest.raises(BadValue, match="ssh user@server haloscope bench"):
        read("bench", BenchSettings, ["--scheduler", "tcp://h:1"])


def test_that_the_help_follows_from_the_settings(monkeypatch):
    assert "--seed N of the noise (default 0)" in " ".join(Parser("toy", Toy).format_help().split())
    monkeypatch.setattr(f"{__name__}.COLOURS", ["red", "blue"])
    assert "--colour C of red, blue" in " ".join(Parser("toy", Toy).format_help().split())
