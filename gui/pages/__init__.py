"""The pages that the bar on the left switches: one file and one line in `PAGES` each."""

from gui.pages.page import PageEntry

PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "explore",
        "Explore",
        "Edit the mask, choose a kernel, and see picture, proof and time (Alt+1).",
        "explore",
        "gui.pages.explore",
    ),
)
