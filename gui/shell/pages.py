"""The pages that the bar on the left switches: one file and one line in `PAGES` each."""

from gui.page.contract import PageEntry

PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "explore",
        "Explore",
        "Edit the mask, choose a kernel, and see picture, proof and time.",
        "explore",
        "gui.explore.page",
    ),
    PageEntry(
        "course",
        "Course",
        "The course papers: which kernel of theirs is which here, and their tables for this machine.",
        "course",
        "gui.course.page",
    ),
    PageEntry(
        "matrices",
        "Matrices",
        "Multiply matrices, naively and with tiles: what is loaded, what the bandwidth allows, what is reached.",
        "matrices",
        "gui.matrices.page",
    ),
)
