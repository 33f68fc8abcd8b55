"""The panel Look: histogram, line profile and pixel values of picture and result."""
