"""The main window around the pages: start, actions, menus, messages, status line, preferences."""
