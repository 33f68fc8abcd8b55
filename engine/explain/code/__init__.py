"""The code of a kernel: its source, PTX and SASS, what it issues, and how two kernels differ."""
