"""Documents are true: links, paths, commands, options, and tables made from measurements and docstrings."""

import argparse
import importlib
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import engine.commands.command_line
from bench.document import kept_figures, kept_tables, with_tables
from bench.markers import LINE_LENGTH, PERFORMANCE, TABLES, wrapped
from gui.shell import command_line

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("assets/*.md")]
)
FOLDERS = ("engine", "gui", "tests", "bench", "docs", "assets", ".ci")
# What stands for something else: [IMAGE], IN..., COMMAND.
PLACEHOLDER = re.compile(r"\[|\.\.\.|\bCOMMAND\b|\bDEVICE\b|^python main\.py (?:batch|filter) IN")


TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}


def links_of(text):
    """Return the links of a text within this folder: file and heading, either of them may be empty."""
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    return [(link.partition("#")[0], link.partition("#")[2]) for link in links if "://" not in link]


def anchors_of(path):
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_that_every_link_leads_to_a_file_and_a_heading():
    missing = []
    for path, text in TEXTS.items():
        for target, anchor in links_of(re.sub(r"(?ms)^```.*?^```", "", text)):
            file = (path.parent / target).resolve() if target else path
            if not file.exists() or (anchor and anchor not in anchors_of(file)):
                missing.append(f"{path}: {target}#{anchor}")
    assert not missing


def test_that_every_document_is_linked_from_another_one():
    linked = {
        (path.parent / target).resolve() for path, text in TEXTS.items() for target, _ in links_of(text)
    }
    assert not [path for path in DOCUMENTS if path not in linked and path.name != "README.md"]


def test_that_a_release_is_told_in_at_most_40_lines():
    releases = re.split(r"(?m)^## ", TEXTS[ROOT / "CHANGELOG.md"])[1:]
    counted = {text.split("\n")[0]: len(re.findall(r"(?m)^(?:- |  )", text)) for text in releases}
    assert not {name: lines for name, lines in counted.items() if lines > 40}, (
        "one line a change; where Git brought old lines back, take main's CHANGELOG.md and add yours"
    )


def test_that_every_path_that_is_named_exists():
    named = re.compile(rf"`((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*)`")
    named_by = {(path, name) for path, text in TEXTS.items() for name in named.findall(text)}
    assert not [f"{path}: {name}" for path, name in named_by if not list(ROOT.glob(name.rstrip("/")))]


def test_that_lines_of_prose_end_at_the_line_length():
    lines = ((path, line) for path, text in TEXTS.items() for line in text.splitlines())
    long = [(path, line) for path, line in lines if len(line) > LINE_LENGTH]
    assert not [f"{path}: {line}" for path, line in long if not line.startswith(("|", "!["))]


class Parsed(BaseException):
    """Arguments were read: the command does not go on."""

    def __init__(self, parser):
        self.parser = parser


def commands_of(path):
    """Yield what a document says to type, from blocks of code and from the running text."""
    text = TEXTS[path]
    blocks = re.findall(r"(?ms)^```\w*\n(.*?)^```", text)
    running = re.sub(r"(?ms)^```.*?^```", "", text)
    spans = [line.strip() for block in blocks for line in block.splitlines()]
    spans += [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", running)]
    for span in spans:
        for part in span.split(" && "):
            if re.match(r"python (?:main\.py|-m bench\.)", part) and not PLACEHOLDER.search(part):
                yield part.partition(" > ")[0]


def parsed_by(monkeypatch, call, *, read):
    """Return the parser of a command, after it has read its arguments where `read` says so."""
    for name in ("parse_args", "parse_intermixed_args"):
        original = getattr(argparse.ArgumentParser, name)

        def parse(self, *args, original=original):
            if read:
                original(self, *args)
            raise Parsed(self)

        monkeypatch.setattr(argparse.ArgumentParser, name, parse)
    with pytest.raises(Parsed) as parsed:
        call()
    monkeypatch.undo()
    return parsed.value.parser


def entrance(arguments):
    if arguments and arguments[0] in engine.commands.COMMANDS:
        return lambda: engine.commands.command_line.main(arguments)
    return lambda: command_line.parse(arguments)


def test_that_every_command_is_understood(monkeypatch):
    named = {command: path for path in DOCUMENTS for command in commands_of(path)}
    not_understood = []
    for command, path in named.items():
        try:
            understand(shlex.split(command, comments=True), monkeypatch)
        except (Exception, pytest.fail.Exception, SystemExit) as error:  # noqa: BLE001 - every one is reported
            not_understood.append(f"{path}: {command}: {error}")
    assert not not_understood


def understand(words, monkeypatch):
    """Let a command read its arguments."""
    if words[1] == "main.py":
        arguments = [word for word in words[2:] if word != "--help"]
        parsed_by(monkeypatch, entrance(arguments), read="--help" not in words)
        return
    module, arguments = words[2], words[3:]
    found = find_spec(module)
    assert found is not None, "no such module"
    if arguments:
        name = f"{module}.__main__" if found.submodule_search_locations else module
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        parsed_by(monkeypatch, importlib.import_module(name).main, read=True)


def is_written(table):
    text = table.document.read_text(encoding="utf-8")
    if table.document == TABLES:
        return f"<!-- {table.name} -->" in text
    written = text.partition(f"<!-- {table.name} -->\n\n")[2].partition(f"\n\n<!-- /{table.name} -->")[0]
    return written == "\n".join(wrapped(table.lines))


def test_that_every_table_is_what_the_kept_results_give(monkeypatch):
    monkeypatch.chdir(ROOT)
    differ = [f"{table.document}: {table.name}" for table in kept_tables() if not is_written(table)]
    assert not differ, "python -m bench.document writes them anew, between markers with these names"


def test_that_each_question_about_performance_is_answered_once():
    text = (ROOT / PERFORMANCE).read_text(encoding="utf-8")
    questions = re.findall(r"(?ms)^## ([^\n]*\?)\n(.*?)(?=^## )", text)
    counted = {
        question: (len(re.findall(r"(?m)^\|---", answer)), len(re.findall(r"(?m)^!\[", answer)))
        for question, answer in questions
    }
    assert counted
    assert not {question: found for question, found in counted.items() if found != (1, 1)}


def test_that_every_figure_of_the_kept_results_is_in_a_document(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = {(path.parent / target).resolve() for path, text in TEXTS.items() for target, _ in links_of(text)}
    appendix = with_tables(TEXTS[ROOT / TABLES])
    shown |= {(ROOT / "docs" / target).resolve() for target, _ in links_of(appendix)}
    assert not [figure.path for figure in kept_figures() if figure.path.resolve() not in shown]


@pytest.mark.slow
def test_that_a_figure_is_the_same_each_time_with_words_as_text():
    for figure in kept_figures():
        svg = figure.svg()
        assert b"<text" in svg, figure.path
        # The same results give the same file.
        assert b"<dc:date>" not in svg, figure.path
