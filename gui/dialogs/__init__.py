"""Windows over the window, one a file; opened with open(), never exec(), so that nothing stops meanwhile."""
