import posixpath
import re

import pytest
from PySide6.QtCore import QUrl

from gui.shell import dialogs as documents
from gui.shell.dialogs import DocumentWindow, panel_of
from gui.shell.pages import PAGES

KEYS = [page.key for page in PAGES]


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.fixture
def reader(qtbot):
    """The window of documents."""
    window = DocumentWindow(None)
    qtbot.addWidget(window)
    window.show_section(documents.HOME)
    return window


def test_that_every_page_has_a_section_and_that_those_of_panels_exist(haloscope):
    heading = re.compile(r"(?m)^##+ (.+)$")
    anchors = {
        name: {"", *map(documents.anchor_of, heading.findall(documents.text_of(name)))}
        for name in documents.documents()
    }
    pages = [haloscope.window.page_of(key) for key in KEYS]
    assert all("" in page.sections for page in pages)
    links = (link.partition("#") for page in pages for link in page.sections.values())
    assert [name for name, _, anchor in links if anchor not in anchors[name]] == []


def test_that_help_opens_at_the_panel_that_has_the_focus(haloscope, monkeypatch):
    page = haloscope.window.page
    monkeypatch.setattr("gui.shell.dialogs.focused", lambda: page.kernel_panel.kernels)
    haloscope.actions["panel_help"].trigger()
    (window,) = haloscope.window.findChildren(DocumentWindow)
    assert window.shown == "window.md#kernel"
    window.close()


def test_that_the_picture_is_a_place_of_its_own(haloscope):
    page = haloscope.window.page
    assert panel_of(page.surface, page) == "picture"


def test_that_every_link_between_documents_works(reader, monkeypatch):
    # To make each document anew for each link took 11 s.
    monkeypatch.setattr(documents, "text_of", lambda name: "Words.")
    broken = []
    for name in documents.documents():
        for link in re.findall(r"\]\(([^)\s]+)\)", (documents.FOLDER / name).read_text()):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0]))
            if "://" not in link and target in documents.documents():
                reader.text.setSource(QUrl.fromLocalFile(documents.FOLDER / name).resolved(QUrl(link)))
                if reader.shown.partition("#")[0] != target:
                    broken.append((name, link))
    assert broken == []


def test_that_a_heading_is_scrolled_to(reader):
    reader.resize(800, 500)
    reader.show()
    reader.show_section("cli.md#environment-variables")
    assert reader.text.verticalScrollBar().value() > 1000


def test_that_a_link_to_what_is_not_here_is_said_in_words(reader):
    reader.show_section("decisions/0015-the-wheel-is-written.md")
    assert "is not in the window" in reader.text.toPlainText()


def test_that_a_document_is_chosen_in_the_list_and_back_leads_to_what_was_read_before(reader):
    reader.list.setCurrentRow(list(documents.documents()).index("glossary.md"))
    assert reader.shown == "glossary.md"
    reader.text.backward()
    assert reader.shown == documents.HOME
    assert reader.list.currentRow() == 0
