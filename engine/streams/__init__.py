"""Streams: pictures go through a device in chunks, copies in both directions while the kernels run.

`filtering.py` is the call that people use. `bands.py` cuts a picture, `chunking.py` makes chunks of pictures and results
of chunks, `pipeline.py` decides what may run beside what on a device as `lanes.py` sees it, `cuda_lanes.py` is such a
device, `staging.py` copies to and from pinned memory, `places.py` says where results may go, `in_order.py` does one chunk after the other where there is nothing to overlap, `timeline.py` says when each chunk
was where, and `drawing.py` draws that.
"""
