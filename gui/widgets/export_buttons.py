"""The buttons above a table of runs that save it as a file, and what each form has."""

from PySide6.QtWidgets import QToolButton

from gui.widgets.panel_parts import text_button

CSV_TIP = "Export as CSV: one row per run, with medians, spread and verification."
JSON_TIP = "Export as JSON: every raw sample, the verification, the machine and its versions."


def export_buttons() -> tuple[QToolButton, QToolButton]:
    """Return the buttons for CSV and JSON."""
    csv, json = (
        text_button("export", form, f"{form} results", tip)
        for form, tip in (("CSV", CSV_TIP), ("JSON", JSON_TIP))
    )
    return csv, json
