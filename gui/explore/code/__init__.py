"""The panel Code: the source of the kernel that is looked at, its PTX and SASS, and its diff to another."""
