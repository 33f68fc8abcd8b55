"""Streams: pictures go through a device in chunks, copies in both directions while the kernels run."""
