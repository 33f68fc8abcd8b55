"""Which files a drag brings: only local ones can be opened."""

from PySide6.QtCore import QMimeData


def dropped_files(data: QMimeData) -> list[str]:
    """Return the paths of the local files in a drag; empty when it brings anything else, or something else too."""
    urls = data.urls()
    if not urls or not all(url.isLocalFile() for url in urls):
        return []
    return [url.toLocalFile() for url in urls]
