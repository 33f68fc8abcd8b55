"""The window around the pages: start, actions, menus, message bar, status line, preferences."""
