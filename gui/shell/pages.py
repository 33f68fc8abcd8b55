"""The list of pages: one folder and one entry each; no other module names a page."""

from gui.page.contract import PageEntry

PAGES: list[PageEntry] = [
    PageEntry(
        "explore", "Explore", "Edit the mask, choose a kernel, and see picture, proof and time.",
        "image-search-outline", "gui.explore.page",
    ),
    PageEntry(
        "course", "Course",
        "The course papers: load any kernel with one click, and compare their tables with this machine.",
        "school-outline", "gui.course.page", "F3",
    ),
    PageEntry(
        "matrices", "Matrices",
        "Multiply matrices, naively and with tiles: loads, the limit of the bandwidth, and measured times.",
        "matrix", "gui.matrices.page",
    ),
    PageEntry(
        "network", "Network",
        "Draw a digit and follow it through the network of the CNN report; time its stages.",
        "brain", "gui.network.page",
    ),
]  # fmt: skip
