"""Code to read: rows with numbers and coloured words, alone or beside other code, with a search."""
