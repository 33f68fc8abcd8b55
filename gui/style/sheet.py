"""The style sheet, filled with the fields of a Theme: what Fusion and a palette cannot say."""

STYLE_SHEET = """
QMenu {{ background: {base}; border: 1px solid {line}; padding: 4px 0; }}
QMenu::item {{ padding: 4px 24px 4px 8px; }}
QMenu::item:selected {{ background: {raised}; color: {text}; }}
QMenu::item:disabled {{ background: transparent; color: {muted}; }}
QMenu::icon {{ padding-left: 8px; }}
QMenu::separator {{ background: {line}; height: 1px; margin: 4px 8px; }}
QToolTip {{ background: {raised}; color: {text}; border: 1px solid {line}; padding: 4px 6px; }}
QSplitter::handle {{ background: {line}; }}
QSplitter::handle:hover {{ background: {accent}; }}
QFrame#panelTabs {{ border: 0; border-bottom: 1px solid {line}; }}
QToolBar {{ background: {window}; border: 0; spacing: 4px; padding: 8px 4px; }}
QLabel#drop {{ background: {base}; color: {text}; border: 3px dashed {accent}; border-radius: 8px; }}
QToolButton#primary, QToolButton#primaryPart {{ background: {accent}; color: {accent_text}; border: 0;
    border-radius: 4px; padding: 4px 12px; font-weight: 600; }}
QToolButton#primary[hasPart="true"] {{ border-top-right-radius: 0; border-bottom-right-radius: 0; }}
QToolButton#primaryPart {{ border-top-left-radius: 0; border-bottom-left-radius: 0;
    border-left: 1px solid {accent_text}; }}
QToolButton#primary:hover, QToolButton#primary:focus, QToolButton#primaryPart:hover,
QToolButton#primaryPart:focus {{ border: 2px solid {text}; padding: 2px 10px; }}
QToolButton#primary:disabled, QToolButton#primaryPart:disabled {{ background: {raised}; color: {muted}; }}
QFrame#answer {{ background: {base}; border: 0; border-bottom: 1px solid {line}; }}
QToolButton#dragHandle {{ background: {raised}; border: 0; border-radius: 4px; }}
QToolButton#dragHandle:hover {{ border: 1px solid {outline}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QTableView[dressed="true"]::item {{ padding: 0 5px; }}
QHeaderView::section {{ background: {window}; color: {muted}; border: 0; border-bottom: 1px solid {line};
                        padding: 4px 8px; }}
"""
