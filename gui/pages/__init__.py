"""The pages that the bar on the left switches: one file and one line in `PAGES` each."""

from gui.pages.page import PageEntry

PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "explore",
        "Explore",
        "Edit the mask, choose a kernel, and see picture, proof and time.",
        "explore",
        "gui.pages.explore",
    ),
    PageEntry(
        "course",
        "Course",
        "The course papers: which kernel of theirs is which here, and their tables for this machine.",
        "course",
        "gui.pages.course",
    ),
    PageEntry(
        "matrices",
        "Matrices",
        "Multiply matrices, naively and with tiles: what is loaded, what the bandwidth allows, what is reached.",
        "matrices",
        "gui.pages.matrices",
    ),
)
